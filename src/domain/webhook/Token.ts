/** The SHA-256 of a token: 32 bytes, the only form in which a token is stored. */
export type TokenHash = Uint8Array
