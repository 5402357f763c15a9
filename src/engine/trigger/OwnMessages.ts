/**
 * A destination's own comment or message comes back when its service reports it. It must start no run: the agent would
 * answer itself without end. Events may start runs of webhooks, as many as in a chain.
 */
import { Effect, Predicate } from "effect"
import { maxChainDepth } from "../../domain/delivery/DestinationKind.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { membersOf } from "../../domain/Json.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import * as Signature from "../egress/Signature.ts"
import { Ignored } from "../prompt/InputChecks.ts"

type Members = Readonly<Record<string, unknown>>

const textsIn = (values: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  values.flatMap((value) => (typeof value === "string" || typeof value === "number" ? [String(value)] : []))

/** Its author, by the IDs that the service uses for it. */
interface Author {
  readonly ids: ReadonlyArray<string>
  /** The service's app that wrote it is the one that reports it. */
  readonly isSameApp?: boolean
}

/** A Slack message, new or edited, of the Events API (https://docs.slack.dev/reference/events/message). */
const slackMessageIn = ({ event }: Members): Members => {
  const { message, ...rest } = membersOf(event)
  return Predicate.isReadonlyObject(message) ? message : rest
}

const authorIn = (payload: Members): Author | undefined => {
  const { api_app_id, author, object_attributes, object_kind, webhook_id } = payload
  const { app_id, bot_id, bot_profile } = slackMessageIn(payload)
  const profile = membersOf(bot_profile)
  const apps = textsIn([app_id, profile.app_id])
  const slack = [...textsIn([bot_id, profile.id]), ...apps]
  if (slack.length > 0) {
    return { ids: slack.map((id) => `slack ${id}`), isSameApp: apps.some((app) => app === api_app_id) }
  }
  // A relay forwards messages as Discord's API has them.
  if (webhook_id !== undefined && author !== undefined)
    return { ids: textsIn([webhook_id]).map((id) => `discord ${id}`) }
  // The reaction to the start of a run.
  const { name, user_id } = membersOf(object_attributes)
  if (object_kind === "emoji" && name === "eyes") return { ids: textsIn([user_id]).map((id) => `gitlab ${id}`) }
  return undefined
}

/** Where services and relays have a new comment. Others in a request are what it is about. */
const commentsIn = (payload: Members): ReadonlyArray<unknown> =>
  payload.action === "deleted"
    ? []
    : [membersOf(payload.comment).body, membersOf(payload.object_attributes).note, ...Object.values(payload)]

export const make = Effect.gen(function* () {
  const sign = yield* Signature.make
  const store = yield* DestinationStore

  const isSigned = (content: Members): boolean => {
    if (commentsIn(content).some((text) => Signature.isOwnComment(text, sign))) return true
    const { blocks } = slackMessageIn(content)
    return Array.isArray(blocks) && blocks.some((block) => Signature.isOwnBlockId(membersOf(block).block_id, sign))
  }

  /** `undefined`: nothing shows that a destination wrote it. */
  const check = (
    webhook: Pick<WebhookRow, "id" | "input" | "own_messages" | "team">,
    { chain_depth = 0, variables: input }: { readonly chain_depth?: number; readonly variables: Variables }
  ): Effect.Effect<void, Ignored | Unavailable> | undefined => {
    if (webhook.own_messages === "accept") return undefined
    if (chain_depth > maxChainDepth) return Effect.fail(endless)
    const content = membersOf(webhook.input === "payload" ? input.payload : input)
    if (isSigned(content)) return Effect.fail(ignored)
    const author = webhook.input === "payload" ? authorIn(content) : undefined
    return (
      author && Effect.flatMap(store.isAuthor(webhook, author), (isOwn) => (isOwn ? Effect.fail(ignored) : Effect.void))
    )
  }

  return { check }
})

const ignored = new Ignored({ reason: "A destination of this server wrote the message." })

const endless = new Ignored({
  reason: `The request is the event of a run, which ${maxChainDepth} others came before: no more may follow.`
})

/** The IDs of what a destination writes, as far as its secret URL shows them. */
export const authorsOfUrl = (kind: string, url: string): ReadonlyArray<string> => {
  const { pathname } = new URL(url)
  const [, discord] = kind === "discord" ? (/\/webhooks\/(\d{1,30})(\/|$)/.exec(pathname) ?? []) : []
  const [, slack] = kind === "slack" ? (/\/services\/\w+\/(\w{1,30})\//.exec(pathname) ?? []) : []
  return [...(discord ? [`discord ${discord}`] : []), ...(slack ? [`slack ${slack}`] : [])]
}
