/** Options for the verification of callers. Secrets come from files, because others can see the command line. */
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { presetNames } from "../../domain/verification/Presets.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { usage } from "../Failure.ts"
import { fileOf, readText } from "../Files.ts"
import { time, timeAndAge } from "../Output.ts"

const preset = Flag.String("verification").pipe(
  Flag.withMetavar("preset"),
  Flag.withDescription(
    `The service whose signature or secret is checked: ${presetNames.join(", ")}; \`none\`: token only`
  ),
  Flag.optional
)
const options = Flag.String("verification-option").pipe(
  Flag.withMetavar("name=value"),
  Flag.withDescription("An option of the preset, such as header=X-Signature; may be repeated"),
  Flag.repeated
)
const secret = Flag.String("secret-file").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("A file with the secret for the verification; `-` reads it from standard input"),
  Flag.mapEffect(fileOf("secret-file", readText)),
  // As editors end a file.
  Flag.map((text) => text.replace(/\r?\n$/, "")),
  Flag.optional
)

export const draftOptions = { preset, options, secret }
export const editOptions = {
  ...draftOptions,
  keep: Flag.Boolean("keep-old-secret").pipe(
    Flag.withDescription("With --secret-file: also accept the old secret, until --end-old-secret")
  ),
  end: Flag.Boolean("end-old-secret").pipe(Flag.withDescription("Stop accepting the old secret"))
}

export interface VerificationOptions {
  readonly preset: Option.Option<string>
  readonly options: ReadonlyArray<string>
  readonly secret: Option.Option<string>
  readonly keep?: boolean
  readonly end?: boolean
}

const none: VerificationOptions = { preset: Option.none(), options: [], secret: Option.none() }

const valueOf = (name: string, text: string): unknown =>
  name.endsWith("_seconds") && /^\d+$/.test(text) ? Number(text) : text

/** The webhook's fields. They are validated later. */
export const fieldsOf = ({ preset, options, secret, keep = false, end = false }: VerificationOptions = none) =>
  Effect.gen(function* () {
    if (options.length > 0 && Option.isNone(preset))
      return yield* usage("--verification-option requires --verification")
    if (keep && end) return yield* usage("use either --keep-old-secret or --end-old-secret, not both")
    if (keep && Option.isNone(secret)) return yield* usage("--keep-old-secret requires --secret-file")
    const pairs: Array<readonly [string, unknown]> = []
    for (const option of options) {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(option) ?? []
      if (name === undefined || value === undefined) {
        return yield* usage(`--verification-option takes name=value, not ${JSON.stringify(option)}`)
      }
      pairs.push([name, valueOf(name, value)])
    }
    const verification = Option.map(preset, (preset) =>
      preset === "none" ? null : { preset, ...Object.fromEntries(pairs) }
    )
    return {
      ...(Option.isSome(verification) && { verification: verification.value }),
      ...(Option.isSome(secret) && { secret: secret.value }),
      ...(keep && { keep_old_secret: true }),
      ...(end && { keep_old_secret: false })
    }
  })

/** For `webhook show`. */
export const verificationFields = ({
  verification,
  secret_hint,
  secret_set_at,
  verified_at,
  old_secret_hint
}: Webhook) => {
  if (verification === undefined) return { verification: "token only" }
  const { preset, ...options } = verification
  return {
    verification: [preset, ...Object.entries(options).map(([name, value]) => `${name}=${value}`)].join(", "),
    ...(secret_set_at && { secret: `${secret_hint}, set ${time(secret_set_at)}` }),
    "first verified": verified_at ? timeAndAge(verified_at) : "no request yet",
    ...(old_secret_hint && { "old secret": `${old_secret_hint}, still accepted` })
  }
}
