import { DateTime, Schema } from "effect"
import { VariantSchema } from "effect/schema"
import { WebhookId } from "../Id.ts"
import type { Run } from "../run/Run.ts"
import { AnyObject, Int, pattern } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"
import { Secret, Verification } from "../verification/Verification.ts"
import type { TokenHash } from "./Token.ts"
import { Warning } from "./Warnings.ts"
import {
  accepts,
  collected,
  isAccepted,
  longestReference,
  singletonWords,
  type Value,
  type WebhookSetting
} from "./WebhookSettingKinds.ts"
import { type SettingValues, type WebhookSettingName, webhookSettings } from "./WebhookSettings.ts"

/**
 * One definition, four records: `json` for the API, `row` for a `Repo`, `draft` for a new webhook, `edit` for changes.
 */
const { Field, FieldExcept, FieldOnly, Struct, extract } = VariantSchema.make({
  variants: ["json", "row", "draft", "edit"],
  defaultVariant: "json"
})

/** Set at creation, and editable. */
const editable = <S extends Schema.Top>(schema: S) =>
  Field({ json: schema, row: schema, draft: schema, edit: optional(schema) })

const plainSchemaOf = (setting: WebhookSetting): Schema.Codec<any> => {
  switch (setting.kind) {
    case "whole number":
      return Int.check(Schema.isBetween({ minimum: setting.min, maximum: setting.max }))
    case "amount":
      return Schema.Finite.check(Schema.isBetween({ minimum: 0.01, maximum: setting.max }))
    case "text":
      return Schema.String.check(pattern(new RegExp(setting.pattern)))
    case "expression":
    case "template":
      return Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(setting.maxLength))
    case "webhook":
      return Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(longestReference))
    case "choice":
      return Schema.Literals(setting.words)
    case "switch":
      return Schema.Boolean
    case "window": {
      const seconds = Int.check(Schema.isBetween({ minimum: 1, maximum: setting.longest }))
      return Schema.Struct({
        key: Schema.String.check(Schema.isMaxLength(256)).annotate({
          description: "Where the input says what a trigger is about."
        }),
        within: seconds.annotate({ description: "When the window closes, in seconds after its first trigger." }),
        quiet: optional(
          seconds.annotate({
            description:
              "The window closes earlier, if there is no trigger for this many seconds. At most `within`. Default: it does not."
          })
        ),
        collect: optional(
          Schema.Literals(collected).annotate({
            description:
              "With `all`, the template has the input of each trigger in `combined.requests`, the first one first: of the latest 100, up to 1 MiB. Default: `last`."
          })
        )
      }).check(accepted(setting))
    }
    case "singleton":
      return Schema.Struct({
        key: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(setting.maxLength)).annotate({
          description: "A template: runs with the same result have the same key."
        }),
        on_new: Schema.Literals(singletonWords).annotate({
          description: "What a new request does while there is such a run."
        })
      }).check(accepted(setting))
    case "json":
      return AnyObject.check(accepted(setting))
    case "networks":
      return Schema.Array(Schema.String).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(setting.most),
        accepted(setting)
      )
    case "list":
      return Schema.Array(Schema.String.check(pattern(new RegExp(setting.pattern)))).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(setting.most)
      )
    case "retries":
      return Schema.Struct({
        max_retries: Int.check(Schema.isBetween({ minimum: 1, maximum: setting.mostRetries })).annotate({
          description: "How often it is tried again at most."
        }),
        backoff_seconds: Int.check(Schema.isBetween({ minimum: 1, maximum: setting.mostSeconds })).annotate({
          description: "How long after the first failure."
        })
      })
  }
}

/** The rules that JSON Schema cannot express. */
const accepted = (setting: WebhookSetting) =>
  Schema.makeFilter((value: Value) => isAccepted(setting, value), { toJsonSchema: () => ({}) })

const schemaOf = (setting: WebhookSetting) =>
  plainSchemaOf(setting).annotate({ description: setting.description, message: accepts(setting) })

/** Absent until it is set, and after an edit to `null`. */
const removable = <S extends Schema.Top>(schema: S, onNull: string) => {
  const field = optional(schema)
  const edit = optional(Schema.NullOr(schema).annotate({ description: onNull }))
  return Field({ json: field, row: field, draft: field, edit })
}

const settings = Object.fromEntries(
  Object.entries(webhookSettings).map(([name, setting]) => [
    name,
    removable(schemaOf(setting), "`null` gives it back to its default.")
  ])
) as { readonly [Name in WebhookSettingName]: ReturnType<typeof removable<Schema.Codec<SettingValues[Name]>>> }

const enabled = Schema.Boolean.annotate({ description: "Switched off, it answers triggers with 404." })

const generated = FieldExcept(["draft", "edit"])

const record = Struct({
  id: generated(WebhookId),
  name: editable(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)).annotate({
      description: "What people call it; need not be unique."
    })
  ),
  team: editable(TeamName),
  prompt_template: editable(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(65_536)).annotate({
      description: "The prompt, with `{{name}}` where a variable goes."
    })
  ),
  variables: generated(
    Schema.Array(Schema.String).annotate({
      description: "The names found in the template, each once, in order of appearance."
    })
  ),
  ...settings,
  verification: removable(Verification, "`null` asks callers for nothing but the token; the secrets are deleted."),
  secret: FieldOnly(["draft", "edit"])(
    optional(
      Secret.annotate({
        description:
          "What callers sign with, or send, as `verification` says. It is stored encrypted and never shown again."
      })
    )
  ),
  keep_old_secret: FieldOnly(["edit"])(
    optional(
      Schema.Boolean.annotate({
        description:
          "With a new `secret`: whether the one before is accepted beside it (default: no). `false` alone ends that."
      })
    )
  ),
  secret_hint: generated(
    optional(Schema.String.annotate({ description: "The end of the secret, to distinguish secrets: `…x7Qa`." }))
  ),
  secret_set_at: generated(optional(time("When the secret was set; absent: there is none."))),
  verified_at: generated(
    optional(
      time(
        "When a request first showed what `verification` asks for, since that or the secret was last set; absent: not yet."
      )
    )
  ),
  old_secret_hint: generated(
    optional(Schema.String.annotate({ description: "The end of the secret before, while that is accepted too." }))
  ),
  /** Encrypted, as `old_sealed_secret`. */
  sealed_secret: FieldOnly(["row"])(optional(Schema.String)),
  old_sealed_secret: FieldOnly(["row"])(optional(Schema.String)),
  enabled: Field({ json: enabled, row: enabled, draft: optional(enabled), edit: optional(enabled) }),
  paused_at: generated(optional(time("When it was paused because runs failed in a row; absent: it is not paused."))),
  paused_by: generated(
    optional(Schema.Literal("automatic").annotate({ description: "Who paused it: this server (`automatic`)." }))
  ),
  paused_reason: generated(
    optional(Schema.String.annotate({ description: "Why it was paused, such as `5 runs failed in a row`." }))
  ),
  /** Failures before then do not pause it. */
  failures_since: FieldOnly(["row"])(optional(time("When counting began."))),
  /** Everything that it had and did before belongs to the team before, too. */
  moved_at: FieldOnly(["row"])(optional(time("When it came to its team from another one."))),
  next_scheduled_at: generated(optional(time("When its `schedule` triggers it next."))),
  version: generated(Int.annotate({ description: "Another one with each change, but for triggers; also the `ETag`." })),
  /** For a webhook that shares another one's URL, the hash of a token that nobody has. */
  token_hash: FieldOnly(["row"])(Schema.Uint8Array as Schema.Codec<TokenHash>),
  token_hint: generated(
    optional(
      Schema.String.annotate({
        description: "The end of the token, to distinguish tokens: `…x7Qa`; absent: it has none (`shares`)."
      })
    )
  ),
  /** Like `token_hash`, until `old_token_valid_until`. */
  old_token_hash: FieldOnly(["row"])(optional(Schema.Uint8Array as Schema.Codec<TokenHash>)),
  old_token_hint: generated(
    optional(Schema.String.annotate({ description: "The end of the token before, if that was left valid for a time." }))
  ),
  old_token_valid_until: generated(optional(time("Until when the token before is accepted."))),
  old_token_used_at: generated(
    optional(time("When the token before was last used since it was replaced; absent: not yet."))
  ),
  old_token_used_from: generated(optional(Schema.String.annotate({ description: "From which address that was." }))),
  created_at: generated(time("When it was created.")),
  updated_at: generated(time("When it was last edited, or given a new token.")),
  warnings: FieldOnly(["json"])(
    optional(Schema.Array(Warning).annotate({ description: "Risks of the webhook's settings." }))
  ),
  last_triggered_at: FieldOnly(["json"])(optional(time("When it last accepted a trigger; absent: never.")))
})

/** A stored definition. Anyone who knows its token may send its filled-in prompt to its team. */
export const Webhook = extract(record, "json").annotate({
  identifier: "Webhook",
  description: "Anyone who knows its token may send its prompt to its team."
})
export type Webhook = typeof Webhook.Type

/** A webhook as stored. */
export const WebhookRow = extract(record, "row")
export type WebhookRow = typeof WebhookRow.Type

/**
 * A webhook that was found by its token, with the enabled webhooks that share its URL (absent: none). These have its
 * `verification`, which says where requests hold secrets.
 */
export type OpenedWebhook = WebhookRow & { readonly shared_by?: ReadonlyArray<WebhookRow> }

/** Whether a run is what a token of the webhook shows: of this webhook, and accepted since it came to its team. */
export const isShownToCallers = (
  { id, moved_at, team }: Pick<WebhookRow, "id" | "moved_at" | "team">,
  run: Pick<Run, "accepted_at" | "team" | "webhook_id">
): boolean =>
  run.webhook_id === id &&
  run.team === team &&
  (moved_at === undefined || DateTime.isGreaterThanOrEqualTo(run.accepted_at, moved_at))

/** The fields of a new webhook. */
export const WebhookDraft = extract(record, "draft").annotate({
  identifier: "WebhookDraft",
  description: "A new webhook."
})
export type WebhookDraft = typeof WebhookDraft.Type

/** The fields to change; `null` restores a setting's default. */
export const WebhookEdit = extract(record, "edit").annotate({
  identifier: "WebhookEdit",
  description: "The fields to change."
})
export type WebhookEdit = typeof WebhookEdit.Type
