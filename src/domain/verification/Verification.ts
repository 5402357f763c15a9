/** How a webhook verifies its callers: a preset (`domain/verification/Presets.ts`) and its options. */
import { Schema } from "effect"
import { Int, pattern } from "../SchemaParts.ts"
import { optional } from "../Time.ts"
import { type Option, optionTexts } from "./Description.ts"
import { optionsOf, type PresetName, presetNames, presets } from "./Presets.ts"

const described = <A>(option: Option, accepts: string, schema: Schema.Codec<A>) =>
  optional(schema.annotate({ description: optionTexts[option], message: accepts }))

const text = (option: Option, accepts: string, expression: RegExp) =>
  described(option, accepts, Schema.String.check(pattern(expression)))

/** RFC 9110, 5.1. */
const headerName = (option: Option) => text(option, "must be the name of a header", /^[\w!#$%&'*+.^`|~-]{1,100}$/)

const fields = {
  preset: Schema.Literals(presetNames).annotate({
    description: "Who calls: a service, or the way in which callers show who they are.",
    message: `must be one of ${presetNames.join(", ")}`
  }),
  header: headerName("header"),
  algorithm: described("algorithm", "must be sha256, sha1 or sha512", Schema.Literals(["sha256", "sha1", "sha512"])),
  encoding: described("encoding", "must be hex or base64", Schema.Literals(["hex", "base64"])),
  prefix: text("prefix", "must be 1 to 100 printable characters of ASCII", /^[\x20-\x7e]{1,100}$/),
  key_encoding: described("key_encoding", "must be text or base64", Schema.Literals(["text", "base64"])),
  separator: text("separator", "must be one character: a comma, a semicolon, a bar or a space", /^[,;| ]$/),
  signed: text(
    "signed",
    "must be a text of up to 200 characters with `{body}` or `{form}` once",
    /^(?=.{1,200}$)(?!.*\{(?:body|form)\}.*\{(?:body|form)\}).*\{(?:body|form)\}.*$/
  ),
  timestamp_header: headerName("timestamp_header"),
  timestamp_prefix: text("timestamp_prefix", "must be 1 to 20 printable characters of ASCII", /^[\x20-\x7e]{1,20}$/),
  timestamp_unit: described(
    "timestamp_unit",
    "must be seconds, milliseconds or iso",
    Schema.Literals(["seconds", "milliseconds", "iso"])
  ),
  tolerance_seconds: described(
    "tolerance_seconds",
    "must be a whole number of seconds from 1 to 86400",
    Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))
  ),
  id_header: headerName("id_header"),
  unique_for_seconds: described(
    "unique_for_seconds",
    "must be a whole number of seconds from 0 to 2592000",
    Int.check(Schema.isBetween({ minimum: 0, maximum: 2_592_000 }))
  ),
  issuer: text("issuer", "must be 1 to 300 characters without spaces", /^[\x21-\x7e]{1,300}$/),
  audience: text("audience", "must be 1 to 300 characters without spaces", /^[\x21-\x7e]{1,300}$/),
  jwks_url: text("jwks_url", "must be an https URL of up to 500 characters", /^https:\/\/[\x21-\x7e]{1,492}$/),
  username: text("username", "must be 1 to 255 characters without a colon", /^[^:\p{Cc}]{1,255}$/u),
  verify_token: text("verify_token", "must be 1 to 200 printable characters of ASCII", /^[\x20-\x7e]{1,200}$/),
  reply_text: text("reply_text", "must be 1 to 3000 characters", /^[^\0]{1,3000}$/s)
} satisfies { readonly [Name in Option]: unknown } & { readonly preset: unknown }

type Options = { readonly preset: PresetName } & { readonly [Name in Option]?: unknown }

/** Rules over several fields. */
const faultsOf = (options: Options) => {
  const { preset, signed, timestamp_header, timestamp_prefix } = options
  const taken: ReadonlyArray<string> = optionsOf(preset)
  const { required = [] }: { readonly required?: ReadonlyArray<Option> } = presets[preset]
  const placeholders = String(signed ?? "")
  const isTimed = timestamp_header !== undefined || timestamp_prefix !== undefined
  return [
    ...required
      .filter((name) => options[name] === undefined)
      .map((name) => ({ path: [name], issue: `is required with the preset ${preset}` })),
    ...Object.keys(options)
      .filter((name) => name !== "preset" && !taken.includes(name))
      .map((name) => ({ path: [name], issue: `is no option of the preset ${preset}` })),
    ...(signed !== undefined && isTimed !== placeholders.includes("{timestamp}")
      ? [
          {
            path: ["signed"],
            issue: "must have `{timestamp}` if `timestamp_header` or `timestamp_prefix` is set, and only then"
          }
        ]
      : []),
    ...(timestamp_header !== undefined && timestamp_prefix !== undefined
      ? [{ path: ["timestamp_prefix"], issue: "must not be set together with `timestamp_header`" }]
      : []),
    ...(timestamp_prefix !== undefined && options.separator === undefined
      ? [{ path: ["separator"], issue: "is required by `timestamp_prefix`" }]
      : []),
    ...(options.timestamp_unit !== undefined && !isTimed
      ? [{ path: ["timestamp_unit"], issue: "needs `timestamp_header` or `timestamp_prefix`" }]
      : []),
    ...(placeholders.includes("{id}") && options.id_header === undefined
      ? [{ path: ["id_header"], issue: "is required by `{id}` in `signed`" }]
      : []),
    ...(options.unique_for_seconds !== undefined && (isTimed || placeholders.includes("{id}"))
      ? [{ path: ["unique_for_seconds"], issue: "is for signatures over neither a time nor an id" }]
      : [])
  ]
}

export const Verification = Schema.Struct(fields)
  .check(Schema.makeFilter(faultsOf, { toJsonSchema: () => ({}) }))
  .annotate({
    identifier: "Verification",
    description:
      "How callers must show who they are, beside the token. Which options there are depends on the preset: docs/use/verification.md."
  })
export type Verification = typeof Verification.Type

/** The rule for a secret. No error quotes it. */
export const Secret = Schema.String.check(pattern(/^[^\0\r\n]{1,1000}$/)).annotate({
  message: "must be 1 to 1000 characters on one line"
})
