/** For services without a preset. */
import type { Preset } from "./Description.ts"

export const hmac: Preset = {
  label: "HMAC",
  secret: "the shared secret",
  // https://www.rfc-editor.org/rfc/rfc2104
  required: ["header"],
  options: [
    "algorithm",
    "encoding",
    "prefix",
    "separator",
    "key_encoding",
    "signed",
    "timestamp_header",
    "timestamp_prefix",
    "timestamp_unit",
    "tolerance_seconds",
    "id_header",
    "unique_for_seconds"
  ],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: [],
      encoding: "hex",
      signed: "{body}",
      signedWithTimestamp: "{timestamp}.{body}"
    }
  ]
}

/** For services that sign with a private key, as SendGrid does. */
export const publicKey: Preset = {
  label: "Public key",
  secret: "the public key in base64, as between the first and the last line of a PEM file, on one line",
  // https://www.rfc-editor.org/rfc/rfc7468#section-13
  required: ["header"],
  options: [
    ...(["algorithm", "encoding", "prefix", "separator", "signed"] as const),
    ...(["timestamp_header", "timestamp_prefix", "timestamp_unit", "tolerance_seconds"] as const),
    ...(["id_header", "unique_for_seconds"] as const)
  ],
  descriptions: [
    {
      scheme: "public key",
      algorithm: "sha256",
      headers: [],
      encoding: "base64",
      signed: "{body}",
      signedWithTimestamp: "{timestamp}{body}"
    }
  ]
}

export const jwt: Preset = {
  label: "JWT",
  secret: "the token's `sub`: whom it was issued to",
  // https://www.rfc-editor.org/rfc/rfc7523#section-3
  required: ["issuer", "audience", "jwks_url"],
  options: ["id_header"],
  descriptions: [{ scheme: "jwt", issuers: [], audience: "", jwks: "", claim: "sub" }]
}

export const bearer: Preset = {
  label: "Bearer token",
  secret: "the token",
  // https://www.rfc-editor.org/rfc/rfc6750#section-2.1
  options: ["id_header"],
  descriptions: [{ scheme: "header", headers: ["authorization"], prefix: "Bearer " }]
}

export const basic: Preset = {
  label: "User and password",
  secret: "the password",
  // https://www.rfc-editor.org/rfc/rfc7617
  required: ["username"],
  options: ["id_header"],
  descriptions: [{ scheme: "basic" }]
}

export const header: Preset = {
  label: "Secret in a header",
  secret: "the header's value",
  // https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2
  required: ["header"],
  options: ["prefix", "id_header"],
  descriptions: [{ scheme: "header", headers: [] }]
}
