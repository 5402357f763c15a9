/** Risky settings of a webhook, which is saved all the same. */
import { Schema } from "effect"
import { pathOf } from "../prompt/Path.ts"
import { riskOfRef } from "../run/WorkspaceRef.ts"
import type { Source } from "../verification/Description.ts"
import { describe, type Options } from "../verification/Presets.ts"
import { isShortSecret } from "./SecretHint.ts"
import type { Window } from "./WebhookSettingKinds.ts"

export const Warning = Schema.Struct({
  pointer: Schema.String.annotate({
    description: "The field that the warning is about, as a JSON Pointer (RFC 6901)."
  }),
  detail: Schema.String.annotate({ description: "The risk, and what to do about it." })
}).annotate({ identifier: "Warning", description: "A risk of the webhook's settings." })
export type Warning = typeof Warning.Type

interface Warned {
  readonly input?: string
  readonly variables: ReadonlyArray<string>
  readonly coalesce?: Window
  readonly verification?: Options
  readonly secret_hint?: string
  readonly approval?: string
  readonly workspace_ref?: string
  readonly schedule?: string
  readonly template_language?: string
}

const shortSecret = {
  pointer: "/secret",
  detail:
    "The secret has fewer than 16 characters: anyone who has seen a signed request can find it by guessing. Use 32 random characters."
}

const unsigned = (pointer: string, what: string, names: ReadonlyArray<string>) => ({
  pointer,
  detail: `The ${what} uses unsigned values (${names.map((name) => `\`${name}\``).join(", ")}): anyone who has seen a signed request can resend it with other values there. Use values from the payload.`
})

const headersIn = (sources: ReadonlyArray<Source> = []): ReadonlyArray<string> =>
  sources.flatMap((source) => ("header" in source ? [source.header] : []))

const ofRef = ({ approval, workspace_ref }: Warned): ReadonlyArray<Warning> => {
  const detail = workspace_ref === undefined ? undefined : riskOfRef(workspace_ref, approval === "required")
  return detail === undefined ? [] : [{ pointer: "/workspace_ref", detail }]
}

type Names = { readonly thread_key: ReadonlyArray<string>; readonly singleton: ReadonlyArray<string> }

/** @param names the names that these templates of the webhook read */
export const warningsOf = (webhook: Warned, names: Names): ReadonlyArray<Warning> => [
  ...ofVerification(webhook, names),
  ...ofRef(webhook),
  ...ofSchedule(webhook)
]

/** Liquid may do without a value. */
const ofSchedule = ({ input, schedule, template_language, variables }: Warned): ReadonlyArray<Warning> => {
  const given = input === "payload" ? "payload.scheduled_at" : "scheduled_at"
  const missing = variables.filter((name) => name !== given)
  if (schedule === undefined || template_language === "liquid" || missing.length === 0) return []
  const names = missing.map((name) => `\`${name}\``).join(", ")
  return [
    {
      pointer: "/schedule",
      detail: `The request of a schedule has only \`${given}\`, so it is refused for a template with ${names}.`
    }
  ]
}

const ofVerification = (
  { coalesce, input, secret_hint, variables, verification }: Warned,
  names: Names
): ReadonlyArray<Warning> => {
  // Without the secret, this gives GitLab's unsigned variant.
  const description = verification && describe(verification, "")
  if (description === undefined || !("signed" in description)) return []
  const { id, scheme, signed, timestamp } = description
  const signedHeaders = [
    ...(signed.includes("{timestamp}") ? headersIn(timestamp?.at) : []),
    ...(signed.includes("{id}") ? headersIn(id) : [])
  ]
  const isUnsigned = (name: string): boolean => {
    const [root, header = ""] = pathOf(name)
    return root === "query" ? !signed.includes("{url}") : root === "headers" && !signedHeaders.includes(header)
  }
  const unsignedIn = (pointer: string, what: string, all: ReadonlyArray<string>): ReadonlyArray<Warning> => {
    const names = input === "payload" ? all.filter(isUnsigned) : []
    return names.length > 0 ? [unsigned(pointer, what, names)] : []
  }
  return [
    ...(scheme === "hmac" && secret_hint !== undefined && isShortSecret(secret_hint) ? [shortSecret] : []),
    ...unsignedIn("/prompt_template", "template", variables),
    ...unsignedIn("/thread_key", "thread key", names.thread_key),
    ...unsignedIn("/singleton", "key of `singleton`", names.singleton),
    ...unsignedIn("/coalesce", "key of `coalesce`", coalesce === undefined ? [] : [coalesce.key])
  ]
}
