/**
 * How a service shows that a request comes from it, as data: `engine/verify/Verify.ts` interprets it. Header names
 * are written in lower case, as Node has them.
 */

/** Where in a request a text is found. */
export type Source =
  | { readonly header: string }
  /** In the signature's header, the item that begins with this: Stripe's `t=`. */
  | { readonly signature: string }
  /** In the body's JSON, by names; with `form`, in the JSON that this field of a form holds. */
  | { readonly json: ReadonlyArray<string>; readonly form?: string }
  /** A field of a form (`application/x-www-form-urlencoded`). */
  | { readonly form: string }

/** That a text is there and, with `is`, which one. */
export interface Condition {
  readonly at: Source
  readonly is?: string
}

/** When the request was sent: refused when that is longer ago than the tolerance, or as far in the future. */
export interface Timestamp {
  /** The first of these that is there. */
  readonly at: ReadonlyArray<Source>
  readonly unit: "seconds" | "milliseconds"
  readonly tolerance_seconds: number
}

export type Algorithm = "sha256" | "sha1" | "sha512"
export type Encoding = "hex" | "base64"

/** A request that only asks whether somebody is here. It starts no run. */
export interface Handshake {
  readonly when: Condition
  /** What is sent back as it came; absent: nothing in particular. */
  readonly echo?: Source
}

interface Common {
  /** Of several descriptions of a preset the first holds whose conditions are met. */
  readonly for?: {
    /** What the secret begins with. */
    readonly secret?: string
    /** An option that the webhook has. */
    readonly option?: "username"
  }
  /** Distinguishes deliveries: the first of these that is there. The same one is sent again under the same id. */
  readonly id?: ReadonlyArray<Source>
  readonly handshakes?: ReadonlyArray<Handshake>
  /** Requests whose acceptance is answered with 200 and the webhook's `reply_text`, not with 202. */
  readonly replies?: ReadonlyArray<Condition>
}

/** A signature over what `signed` says, sent in a header. */
interface Signed extends Common {
  /** The first of these that is there. */
  readonly headers: ReadonlyArray<string>
  /** What stands before each signature. Items that begin with something else are passed over. */
  readonly prefix?: string
  /** Between several signatures, any of which is enough; absent: there is one. */
  readonly separator?: "," | " "
  readonly encoding: Encoding
  readonly timestamp?: Timestamp
  /** With `{body}`, `{timestamp}`, `{id}`, `{url}` and `{method}` as sent. */
  readonly signed: string
  /** The same for a webhook that names a header for the timestamp. */
  readonly signedWithTimestamp?: string
  /** How long the same body is one delivery, if neither a time nor an id is signed; 7 days if absent. */
  readonly unique_for_seconds?: number
}

/** An HMAC (RFC 2104). */
export interface Hmac extends Signed {
  readonly scheme: "hmac"
  readonly algorithm: Algorithm
  /** The key is the secret's text as it is, or what its base64 stands for, after the given beginning. */
  readonly key: "text" | { readonly base64After: string }
}

/** Ed25519 (RFC 8032). What the webhook has as its secret is the public key, in base64 after the given beginning. */
export interface Ed25519 extends Signed {
  readonly scheme: "ed25519"
  readonly key: { readonly base64After: string }
}

/** The secret itself, in a header; what stands before it, such as `Bearer `, in any case of letters. */
export interface Header extends Common {
  readonly scheme: "header"
  readonly headers: ReadonlyArray<string>
  readonly prefix?: string
}

/** HTTP's Basic authentication (RFC 7617), with the webhook's `username`. */
export interface Basic extends Common {
  readonly scheme: "basic"
}

/** Whether the delivery id is signed: it is in the body, or in a header that is signed too. */
export const isIdSigned = ({ id = [], signed }: Signed): boolean =>
  signed.includes("{id}") || (id.length > 0 && id.every((source) => !("header" in source)))

export type Description = Hmac | Ed25519 | Header | Basic

/** What a webhook may, or must, say itself. */
export type Option = keyof typeof optionTexts

/** What each option is, for the API's documentation, the command line and the web UI. */
export const optionTexts = {
  header: "The header in which the signature or the secret comes.",
  algorithm: "The hash of the HMAC: `sha256` (the default), `sha1` or `sha512`.",
  encoding: "How the signature is written: `hex` (the default) or `base64`.",
  prefix: "What stands before the signature or the secret in its header, such as `sha256=`.",
  signed:
    "What is signed, with `{body}`, `{timestamp}`, `{id}`, `{method}` and `{url}` (the whole trigger URL, as the sender called it), such as `{timestamp}.{body}`; by default the body.",
  timestamp_header: "The header in which the time of sending comes, in seconds since 1970.",
  tolerance_seconds: "How old a request may be, in seconds, if it says when it was sent; by default 300.",
  id_header: "The header that distinguishes deliveries: one that comes again starts no second run.",
  unique_for_seconds:
    "How long a repeated body starts no second run, in seconds, if neither a time nor an id is signed; by default 604800 (7 days). Set a short time for events whose body may repeat, such as GitHub's `workflow_dispatch`. With `0`, only a repeat with the same id starts no second run.",
  username: "The name of the user; the secret is the password.",
  reply_text: "What the service shows its user once a command is accepted."
} as const

/** A service that sends webhooks. */
export interface Preset {
  /** Its name, for people. */
  readonly label: string
  /** What its secret is called there, and where it is found. */
  readonly secret: string
  /** The documentation that this follows. */
  readonly documentation: string
  readonly required?: ReadonlyArray<Option>
  readonly options?: ReadonlyArray<Option>
  readonly descriptions: ReadonlyArray<Description>
}
