import { Schema } from "effect"
import { VariantSchema } from "effect/schema"
import { DestinationId, WebhookId } from "../Id.ts"
import { pattern } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"
import { allEvents } from "./DestinationEvent.ts"
import { destinationKindNames } from "./DestinationKind.ts"

/** The same four records as of a webhook: what the API shows, what is stored, a draft and an edit. */
const { Field, FieldExcept, FieldOnly, Struct, extract } = VariantSchema.make({
  variants: ["json", "row", "draft", "edit"],
  defaultVariant: "json"
})

/** Absent in a draft, it has this default. */
const withDefault = <S extends Schema.Top>(schema: S) =>
  Field({ json: schema, row: schema, draft: optional(schema), edit: optional(schema) })

/** Absent until it is set, and again after an edit to `null`. */
const removable = (maxLength: number, description: string) => {
  const text = Schema.String.check(Schema.isMaxLength(maxLength)).annotate({ description })
  const edit = Schema.NullOr(text).annotate({ description: `${description} \`null\` removes it.` })
  return Field({ json: optional(text), row: optional(text), draft: optional(text), edit: optional(edit) })
}

const generated = FieldExcept(["draft", "edit"])

export const maxDestinations = 20
/** Chains of a webhook. With five runs after the first, one trigger starts at most 3 + 9 + 27 + 81 + 243 runs. */
export const maxChains = 3
/** Characters of an answer in a `full` event. */
export const maxResponse = 256 * 1024
const maxUrl = 2_000
const maxHeaders = 20
const headerName = /^[!#$%&'*+.^_`|~\da-z-]{1,100}$/i
const headerValue = /^[\t\x20-\x7e\x80-\xff]{0,2000}$/

export const DestinationEventName = Schema.Literals(allEvents).annotate({
  identifier: "DestinationEvent",
  description:
    "How a run ended, that it was sent to its leader (`run.started`), or that it waits for approval (`run.awaiting_approval`). For alert destinations: that an alert began (`alert.firing`) or was resolved."
})

const eventsDescription =
  "What is sent: `run.…` to destinations of webhooks, `alert.…` to alert destinations. Default: all of these but `run.awaiting_approval` and `run.started`, which GitHub and GitLab show as the reaction 👀; `chain` has neither."

const Events = Schema.NonEmptyArray(DestinationEventName)
  .check(
    Schema.makeFilter((events) => new Set(events).size === events.length || "must not repeat an event", {
      toJsonSchema: () => ({ uniqueItems: true })
    })
  )
  .annotate({ description: eventsDescription })

const DestinationKindName = Schema.Literals(destinationKindNames).annotate({
  identifier: "DestinationKind",
  description:
    "`webhook` (the default): signed events. `callback`: the same, to the `callback_url` that a trigger named, if it begins with `url`. The others are services for people, which get a message in their own form: Slack's incoming webhooks (`slack`), a channel or thread by bot token (`slack-message`), the response URL of a slash command (`slack-response`), Discord, Microsoft Teams, a comment on GitHub or GitLab, and e-mail. `chain`: a run of another webhook of this server. It cannot be changed."
})

const BodyFormat = Schema.Literals(["thin", "full", "template"]).annotate({
  description:
    "`thin`: an event of the Standard Webhooks specification with ids and status; of other kinds, a line with the status. `full`: the same with the answer; an event also has error, variables and what the agent reported. `template`: the Liquid template `template`, which makes the body; of other kinds, Markdown. Default: `thin` for `webhook`, else `full`."
})

/** Headers that this server sets itself, or that would change how the request is sent. */
const reserved = /^(host|content-length|transfer-encoding|connection|upgrade|te|trailer|expect|webhook-.*)$/i

const Headers = Schema.Record(Schema.String, Schema.String)
  .check(
    Schema.makeFilter(
      (headers) => {
        const entries = Object.entries(headers)
        if (entries.length > maxHeaders) return `must have at most ${maxHeaders} headers`
        const wrong = entries.find(
          ([name, value]) => !headerName.test(name) || reserved.test(name) || !headerValue.test(value)
        )
        return wrong === undefined || `cannot set the header ${wrong[0].slice(0, 100)}`
      },
      { toJsonSchema: () => ({ maxProperties: maxHeaders }) }
    )
  )
  .annotate({
    description:
      "Headers to send, such as `Authorization`; only of the kind `webhook`. They are stored encrypted and never shown again."
  })

const record = Struct({
  id: generated(DestinationId),
  webhook_id: generated(optional(WebhookId.annotate({ description: "Absent: it is an alert destination." }))),
  kind: Field({ json: DestinationKindName, row: DestinationKindName, draft: optional(DestinationKindName) }),
  url: withDefault(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maxUrl)).annotate({
      description:
        "Where events are sent: an https URL with a public address. The webhook URLs of Slack, Discord and Teams contain a key; they are stored encrypted, and only their host is shown. GitHub, GitLab and Slack's API have a default."
    })
  ),
  token: FieldOnly(["draft", "edit"])(
    optional(
      Schema.String.check(pattern(/^[\x21-\x7e]{1,1000}$/)).annotate({
        description:
          "The token of `slack-message`, `github` and `gitlab`. It is stored encrypted and never shown again."
      })
    )
  ),
  target: removable(
    1_000,
    "The place at the service, as a Liquid template over the same values: a channel, perhaps with a thread (`C0123456789/1700000000.000100`), a response URL, an issue (`owner/repository#1`), or a merge request (`project!1`). Of `email`: up to ten addresses, separated by commas, and no template. Of `chain`: the ID of a webhook."
  ),
  description: removable(255, "What people call it."),
  events: withDefault(Events),
  body: withDefault(BodyFormat),
  template: removable(
    65_536,
    "The Liquid template of the body or message, over `event`, `run`, `webhook` and `values`."
  ),
  headers: FieldOnly(["draft", "edit"])(optional(Headers)),
  header_names: generated(
    Schema.Array(Schema.String).annotate({ description: "The names of the headers that are sent." })
  ),
  /** As whom it writes: the service's IDs, each with the service's name before it. */
  authors: FieldOnly(["row"])(optional(Schema.Array(Schema.String))),
  /** For `chain`: the teams of both webhooks when `target` was saved. If one has moved, nothing is started. */
  chain_teams: FieldOnly(["row"])(optional(Schema.Struct({ from: TeamName, to: TeamName }))),
  /** Encrypted, as `sealed_secret` and `old_sealed_secret`. */
  sealed_headers: FieldOnly(["row"])(optional(Schema.String)),
  sealed_secret: FieldOnly(["row"])(Schema.String),
  old_sealed_secret: FieldOnly(["row"])(optional(Schema.String)),
  secret_hint: generated(
    Schema.String.annotate({
      description: "The end of the signing secret, token or secret URL, to distinguish them: `…x7Qa`."
    })
  ),
  old_secret_valid_until: generated(
    optional(time("Until when deliveries are also signed with the secret before; absent: they are not."))
  ),
  enabled: withDefault(
    Schema.Boolean.annotate({ description: "Switched off, it gets no events. Default: switched on." })
  ),
  paused: FieldExcept(["draft"])(
    optional(
      Schema.Boolean.annotate({
        description: "Paused, its events are kept until it is resumed, and then sent. Default: not paused."
      })
    )
  ),
  disabled_reason: generated(
    optional(
      Schema.Literals(["gone", "failing"]).annotate({
        description:
          "Why the server switched it off, as the destination answered 410 (`gone`), or paused it, as it failed for five days (`failing`)."
      })
    )
  ),
  failing_since: generated(optional(time("Since when every attempt has failed; absent: the last one succeeded."))),
  paused_until: generated(optional(time("Of a failing destination: until when it gets no attempts."))),
  created_at: generated(time("When it was created.")),
  updated_at: generated(time("When it was last edited."))
})

/** Where the ends of a webhook's runs, or alerts, are sent. */
export const Destination = extract(record, "json").annotate({
  identifier: "Destination",
  description: "Where the ends of a webhook's runs, or alerts, are sent."
})
export type Destination = typeof Destination.Type

export const DestinationRow = extract(record, "row")
export type DestinationRow = typeof DestinationRow.Type

export const DestinationDraft = extract(record, "draft").annotate({
  identifier: "DestinationDraft",
  description: "A new destination."
})
export type DestinationDraft = typeof DestinationDraft.Type

export const DestinationEdit = extract(record, "edit").annotate({
  identifier: "DestinationEdit",
  description: "The fields to change. `null` removes one."
})
export type DestinationEdit = typeof DestinationEdit.Type

const shown = Object.keys(Destination.fields) as ReadonlyArray<keyof Destination>

/** Without secrets. */
export const toDestination = (row: DestinationRow): Destination =>
  Object.fromEntries(
    shown.flatMap((field) => (row[field] === undefined ? [] : [[field, row[field]]]))
  ) as unknown as Destination
