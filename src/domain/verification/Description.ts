/**
 * How a service authenticates its requests, as data: `engine/verify/Verify.ts` interprets it. Header names are in lower
 * case, as in Node.
 */

/** The place of a text in a request. */
export type Source =
  | { readonly header: string }
  /** In the signature's header: the item with this prefix, such as Stripe's `t=`. */
  | { readonly signature: string }
  /** In the body's JSON, by names; `*` is the only item of a list. With `form`, in the JSON of this form field. */
  | { readonly json: ReadonlyArray<string>; readonly form?: string }
  /** A form field (`application/x-www-form-urlencoded`). */
  | { readonly form: string }
  /** A parameter of the URL. */
  | { readonly query: string }

/** A condition: a text is present or, with `is`, equal to this. */
export interface Condition {
  readonly at: Source
  readonly is?: string
}

/** The time of sending. The request is refused if it is older than the tolerance, or as far in the future. */
export interface Timestamp {
  /** The first one present. */
  readonly at: ReadonlyArray<Source>
  /** The unit of a number, since 1970; or `iso` for a date and time (RFC 3339). */
  readonly unit: TimeUnit
  readonly tolerance_seconds: number
}

export type TimeUnit = "seconds" | "milliseconds" | "iso"
export type Algorithm = "sha256" | "sha1" | "sha512"
export type Encoding = "hex" | "base64"

/** A verified request that only tests the URL. It starts no run. */
interface Handshake {
  readonly when: Condition
  /** The value to send back; absent: none. */
  readonly echo?: Source
  /** The URL that the service wants to be called, to confirm that its messages are wanted. */
  readonly confirm?: Source
  /** Sent back as JSON: `{echo}` becomes that value, and `{hmac}` its HMAC in hex, made with the secret. */
  readonly json?: { readonly [name: string]: string | number }
}

/**
 * A request that tests the URL before the service knows a secret, so it is not signed. Anyone who knows the URL may send it: it
 * starts no run, and the response contains only what it brought.
 */
export interface UrlCheck {
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST"
  /** All must hold. */
  readonly when?: ReadonlyArray<Condition>
  /** This text must be the webhook's option. */
  readonly expects?: { readonly at: Source; readonly option: "verify_token" }
  /** The value to send back: as text, or in `json` and `headers` as `{echo}`. */
  readonly echo?: Source
  readonly json?: { readonly [name: string]: string }
  readonly headers?: { readonly [name: string]: string }
}

/** Requests that get 200 on acceptance, not 202. */
export interface Reply extends Condition {
  /**
   * The response: an empty body, or JSON, in which the text `{reply_text}` is the webhook's own. Absent: its `reply_text` as
   * text.
   */
  readonly body?: "" | { readonly [name: string]: string | number }
}

interface Common {
  /** Conditions. The first of a preset's descriptions whose conditions hold is used. */
  readonly for?: {
    /** A prefix of the secret. */
    readonly secret?: string
    /** An option of the webhook. */
    readonly option?: "username"
  }
  /** The ID that distinguishes deliveries: the first one present. A repeated delivery has the same ID. */
  readonly id?: ReadonlyArray<Source>
  readonly handshakes?: ReadonlyArray<Handshake>
  /** The first that holds counts. */
  readonly replies?: ReadonlyArray<Reply>
}

/** A signature over `signed`, sent in a header. */
interface Signed extends Common {
  /** The first one present. */
  readonly headers: ReadonlyArray<string>
  /** The text before each signature. Other items are ignored. */
  readonly prefix?: string
  /** Separates several signatures, and any one is enough; absent: there is one. */
  readonly separator?: string
  readonly encoding: Encoding
  readonly timestamp?: Timestamp
  /**
   * With `{body}`, `{timestamp}`, `{id}`, `{url}` and `{method}` as sent; `{form}` is the names and values of a form's
   * fields, in the order of the names.
   */
  readonly signed: string
  /** The same for a webhook that names a header for the timestamp. */
  readonly signedWithTimestamp?: string
  /** How long the same body is one delivery, if neither a time nor an ID is signed. Default: 7 days. */
  readonly unique_for_seconds?: number
}

/** An HMAC (RFC 2104). */
export interface Hmac extends Signed {
  readonly scheme: "hmac"
  readonly algorithm: Algorithm
  /** The key is the secret's text, or the decoded base64 after this prefix. */
  readonly key: "text" | { readonly base64After: string }
}

/** Ed25519 (RFC 8032). The webhook's secret is the public key, in hex, or in base64 after this prefix. */
export interface Ed25519 extends Signed {
  readonly scheme: "ed25519"
  readonly key: "hex" | { readonly base64After: string }
}

/**
 * A signature that is checked with a public key, which is the webhook's secret: SPKI in base64, as in a PEM file. Its type says
 * how: Ed25519, RSA (PKCS #1), or ECDSA (a signature in DER).
 */
export interface PublicKey extends Signed {
  readonly scheme: "public key"
  /** The hash of RSA and ECDSA. */
  readonly algorithm: Algorithm
}

/** A JWT (RFC 7519) of a provider that publishes its keys. It signs nothing of the request. */
export interface Jwt extends Common {
  readonly scheme: "jwt"
  readonly issuers: ReadonlyArray<string>
  /** The URL of the provider's keys (RFC 7517). */
  readonly jwks: string
  /** The webhook's secret is the value of this claim. */
  readonly claim: "email" | "sub"
  readonly audience: string
}

/** The secret itself, in a header; the prefix, such as `Bearer `, is case-insensitive. */
interface Header extends Common {
  readonly scheme: "header"
  readonly headers: ReadonlyArray<string>
  readonly prefix?: string
}

/** HTTP Basic authentication (RFC 7617), with the webhook's `username`. */
interface Basic extends Common {
  readonly scheme: "basic"
}

/** The secret itself, in the body's JSON: in each item of the list that `*` stands for. */
interface InBody extends Common {
  readonly scheme: "body"
  readonly at: ReadonlyArray<string>
}

/** Amazon SNS signs with the key of a certificate that it publishes. The webhook's secret is the topic's ARN. */
interface Sns extends Common {
  readonly scheme: "sns"
  /** The members of the body's JSON that are not kept and not in prompts. */
  readonly secretMembers: ReadonlyArray<string>
}

/** Whether the delivery ID is signed: in the body, or in a signed header. */
export const isIdSigned = ({ id = [], signed }: Signed): boolean =>
  signed.includes("{id}") || (id.length > 0 && id.every((source) => !("header" in source)))

export type Description = Hmac | Ed25519 | PublicKey | Jwt | Header | Basic | InBody | Sns

/** The options that a webhook may or must set. */
export type Option = keyof typeof optionTexts

/** Descriptions of the options, for the API's documentation, the command line and the web UI. */
export const optionTexts = {
  header: "The header in which the signature or the secret comes.",
  algorithm: "The hash of the HMAC, or of a signature by RSA or ECDSA: `sha256` (the default), `sha1` or `sha512`.",
  encoding: "How the signature is written: `hex` (the default) or `base64`.",
  prefix: "What stands before the signature or the secret in its header, such as `sha256=`.",
  key_encoding: "How the secret is written: `text` (the default), or `base64`, which is decoded to the key.",
  separator: "What separates the items of the signature's header, such as `,` or `;`, if it has several.",
  signed:
    "What is signed, with `{body}`, `{timestamp}`, `{id}`, `{method}` and `{url}` (the whole trigger URL, as the sender called it), such as `{timestamp}.{body}`; by default the body. `{form}` in place of the body is the names and values of a form's fields, sorted by name.",
  timestamp_header: "The header in which the time of sending comes.",
  timestamp_prefix:
    "What stands before the time of sending, such as `t=`, if it is an item of the signature's header. Set `separator`, too.",
  timestamp_unit:
    "How the time of sending is written: `seconds` since 1970 (the default), `milliseconds`, or `iso` for a date and time.",
  tolerance_seconds: "How old a request may be, in seconds, if it says when it was sent; by default 300.",
  id_header: "The header that distinguishes deliveries: one that comes again starts no second run.",
  unique_for_seconds:
    "How long a repeated body starts no second run, in seconds, if neither a time nor an id is signed; by default 604800 (7 days). Set a short time for events whose body may repeat, such as GitHub's `workflow_dispatch`. With `0`, only a repeat with the same id starts no second run.",
  issuer: "Who issues the tokens: their `iss`.",
  audience: "Whom the tokens are for: their `aud`.",
  jwks_url: "The URL of the issuer's public keys, as a JSON Web Key Set.",
  username: "The name of the user; the secret is the password.",
  verify_token:
    "The text that the service sends when it checks the URL, as set at the service. It is not the secret: it starts no run.",
  reply_text: "What the service shows its user once a command is accepted."
} as const

/** A service that sends webhooks. Each names the page of its documentation that it follows. */
export interface Preset {
  /** Its name, for people. */
  readonly label: string
  /** The service's name for its secret, and where it shows it. */
  readonly secret: string
  readonly required?: ReadonlyArray<Option>
  readonly options?: ReadonlyArray<Option>
  readonly descriptions: ReadonlyArray<Description>
  readonly urlChecks?: ReadonlyArray<UrlCheck>
}
