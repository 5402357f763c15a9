/** The schema of a configuration file: webhooks, teams, destinations and alert rules, without secrets. */
import { JsonSchema, Schema } from "effect"
import { plainFields } from "../../domain/Configuration.ts"
import { optional } from "../../domain/Time.ts"

const variable = (what: string) =>
  optional(Schema.NonEmptyString.annotate({ description: `The environment variable with ${what}, read by \`apply\`.` }))
const file = (what: string) =>
  optional(Schema.NonEmptyString.annotate({ description: `A file with ${what}; relative to the folder of this file.` }))

const TeamEntry = Schema.Struct(plainFields.team)

const DestinationEntry = Schema.Struct({
  ...plainFields.destination,
  url_env: variable("the secret URL"),
  url_file: file("the secret URL"),
  token_env: variable("the token"),
  token_file: file("the token"),
  headers_env: optional(
    Schema.Record(Schema.String, Schema.NonEmptyString).annotate({
      description: "Headers to send, each with the environment variable that has its value."
    })
  )
}).annotate({ identifier: "Destination" })

const WebhookEntry = Schema.Struct({
  ...plainFields.webhook,
  prompt_template: optional(plainFields.webhook.prompt_template),
  prompt_template_file: file("the prompt"),
  secret_env: variable("the secret of the verification"),
  secret_file: file("the secret of the verification"),
  destinations: optional(
    Schema.Array(DestinationEntry).annotate({ description: "Where the ends of its runs are sent." })
  )
}).annotate({ identifier: "Webhook" })

const AlertRuleEntry = Schema.Struct(plainFields.rule).annotate({ identifier: "AlertRule" })

export const ConfigFile = Schema.Struct({
  teams: optional(Schema.Array(TeamEntry)),
  webhooks: optional(Schema.Array(WebhookEntry)),
  alert_destinations: optional(Schema.Array(DestinationEntry).annotate({ description: "Where alerts are sent." })),
  alert_rules: optional(Schema.Array(AlertRuleEntry).annotate({ description: "When alerts begin." }))
}).annotate({ title: "Configuration of a Webhook Trigger server" })

export type ConfigFile = typeof ConfigFile.Type
export type WebhookEntry = typeof WebhookEntry.Type
export type DestinationEntry = typeof DestinationEntry.Type
export type AlertRuleEntry = typeof AlertRuleEntry.Type

const secretFields: Readonly<Record<string, string>> = {
  secret: "must not be in a file; use secret_env or secret_file",
  token: "must not be in a file; use token_env or token_file",
  headers: "must not be in a file; use headers_env"
}

const entries = {
  teams: TeamEntry.fields,
  webhooks: WebhookEntry.fields,
  destinations: DestinationEntry.fields,
  alert_destinations: DestinationEntry.fields,
  alert_rules: AlertRuleEntry.fields
}

const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const letter of a) {
    let corner = row[0]!
    row = row.reduce<Array<number>>((next, above, at) => {
      const best =
        at === 0 ? above + 1 : Math.min(above + 1, next[at - 1]! + 1, corner + (letter === b[at - 1] ? 0 : 1))
      corner = above
      next.push(best)
      return next
    }, [])
  }
  return row.at(-1)!
}

/** As in `; did you mean list?`, or nothing: a letter in three may differ. */
const didYouMean = (word: string, names: ReadonlyArray<string>): string => {
  const [nearest] = names.toSorted((a, b) => distance(word, a) - distance(word, b))
  return nearest !== undefined && distance(word, nearest) <= word.length / 3 ? `; did you mean ${nearest}?` : ""
}

/** Why a field is unknown: it holds a secret, or its name is wrong. */
export const unknownField = (path: ReadonlyArray<PropertyKey>): string => {
  const name = String(path.at(-1))
  const list = path.at(-3)
  const known = typeof list === "string" && list in entries ? entries[list as keyof typeof entries] : ConfigFile.fields
  return secretFields[name] ?? `is not a known field${didYouMean(name, Object.keys(known))}`
}

/** For editors that complete and check YAML. */
export const jsonSchema = () => {
  const { definitions, schema } = JsonSchema.toDocumentDraft07(
    Schema.toJsonSchemaDocument(ConfigFile, { onExcessProperty: "error" })
  )
  return { $schema: JsonSchema.META_SCHEMA_URI_DRAFT_07, ...schema, definitions }
}
