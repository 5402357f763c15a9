/** A webhook whose destination writes where its source listens: the agent's own messages come back as requests. */
import { Effect } from "effect"
import { type DestinationKind, kindOf } from "../../domain/delivery/DestinationKind.ts"
import { pathOf } from "../../domain/prompt/Path.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Warning } from "../../domain/webhook/Warnings.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import * as Input from "../prompt/Input.ts"
import { InputChecks } from "../prompt/InputChecks.ts"

interface Reported {
  readonly kinds: ReadonlyArray<DestinationKind>
  /** The presets of the service. */
  readonly presets: ReadonlyArray<string>
  /** The member of the payload that only requests about such messages, or few others, have. */
  readonly member: ReadonlyArray<string>
  /** A request about a message that a destination wrote. */
  readonly input: Variables
}

const bot = { id: 1, login: "webhook-trigger[bot]", username: "webhook-trigger", type: "Bot" }

const reports: ReadonlyArray<Reported> = [
  {
    kinds: ["github"],
    presets: ["github"],
    member: ["comment", "issue"],
    input: {
      headers: { "x-github-event": "issue_comment" },
      query: {},
      payload: {
        action: "created",
        comment: { id: 1, body: "", user: bot, author_association: "NONE" },
        issue: { number: 1, state: "open", user: bot, pull_request: {}, labels: [] },
        repository: { full_name: "acme/shop" },
        sender: bot
      }
    }
  },
  {
    kinds: ["gitlab"],
    presets: ["gitlab"],
    member: ["object_attributes"],
    input: {
      headers: { "x-gitlab-event": "Note Hook" },
      query: {},
      payload: {
        ...{ object_kind: "note", event_type: "note", user: bot, project: { path_with_namespace: "acme/shop" } },
        object_attributes: { id: 1, note: "", action: "create", noteable_type: "MergeRequest", system: false },
        merge_request: { iid: 1 }
      }
    }
  },
  {
    kinds: ["slack", "slack-message"],
    presets: ["slack"],
    member: ["event"],
    input: {
      headers: {},
      query: {},
      payload: {
        type: "event_callback",
        event: { type: "message", text: "", channel: "C0123456789", ts: "1.1", bot_id: "B0123456789" }
      }
    }
  }
]

export const make = Effect.gen(function* () {
  const inputChecks = yield* InputChecks
  const store = yield* DestinationStore

  /** Whether requests about its own messages would pass the filter, and have what the template names. */
  const listens = (webhook: Webhook, { input, member, presets }: Reported): Effect.Effect<boolean> => {
    const preset = webhook.verification?.preset
    if (!Input.takesPayload(webhook) || (preset !== undefined && !presets.includes(preset))) {
      return Effect.succeed(false)
    }
    const paths = webhook.variables.map(pathOf)
    const isNamed = paths.some(
      ([root, name]) => root === "payload" && (name === undefined ? preset !== undefined : member.includes(name))
    )
    const { schema: _, ...filtered } = webhook
    return isNamed ? Effect.isSuccess(inputChecks.check(filtered, input)) : Effect.succeed(false)
  }

  return Effect.fnUntraced(function* (webhook: Webhook) {
    const found = yield* Effect.filter(reports, (one) => listens(webhook, one))
    if (found.length === 0) return []
    const destinations = yield* store.destinations(webhook.id)
    return destinations.flatMap(({ enabled, kind }): ReadonlyArray<Warning> => {
      if (!enabled || !found.some(({ kinds }) => kinds.includes(kind))) return []
      const where = `The destination “${kindOf(kind).label}” writes where this webhook listens. `
      return webhook.own_messages === "accept"
        ? [
            {
              pointer: "/own_messages",
              detail: `${where}Each answer starts another run, endlessly, as \`own_messages\` is \`accept\`.`
            }
          ]
        : [
            {
              pointer: "/accept_if",
              detail: `${where}Its own messages are recognized and ignored. A filter (\`accept_if\`) for the messages of people would also exclude other programs.`
            }
          ]
    })
  })
})
