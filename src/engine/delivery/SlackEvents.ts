/** What Slack's Events API reports of messages and reactions (https://docs.slack.dev/reference/events). */
import { Predicate } from "effect"
import type { ChatMessage } from "../../repo/delivery/DeliveryStore.ts"
import type { Decision } from "../manage/Approvals.ts"

/** A message in the thread of another one. */
export interface SlackReply {
  readonly about: Pick<ChatMessage, "thread">
  readonly id: ChatMessage["id"]
  readonly text: string
  readonly user: string
}

/** 👍 or 👎 to a message. */
export interface SlackReaction {
  readonly about: Pick<ChatMessage, "id">
  readonly decision: Decision
  readonly user: string
}

const prefix = "slack:"

/** How `triggered_by` names a member of a Slack workspace. */
export const byMember = (id: string): string => `${prefix}${id}`

/** The member's ID; `undefined`: nobody in Slack started the run. */
export const memberOf = (triggered_by: string | undefined): string | undefined =>
  triggered_by?.startsWith(prefix) ? triggered_by.slice(prefix.length) : undefined

const decisions: Readonly<Record<string, Decision>> = { "+1": "approve", "-1": "deny" }

/** Other subtypes are about a message, such as its editing. */
const newMessages: ReadonlyArray<unknown> = [undefined, "file_share", "thread_broadcast"]

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" }

/** `undefined`: it is none of a person. A mention in a thread is reported twice, as such and as a message. */
export const slackEventIn = (payload: unknown): SlackReaction | SlackReply | undefined => {
  const { event, type } = membersOf(payload)
  if (type !== "event_callback") return undefined
  const { bot_id, channel, item, reaction, subtype, text, thread_ts, ts, type: what, user } = membersOf(event)
  if (typeof user !== "string" || user === "" || bot_id !== undefined) return undefined
  if (what === "reaction_added") {
    const { channel, ts } = membersOf(item)
    // A skin tone may follow.
    const decision = decisions[String(reaction).split("::")[0]!]
    return decision && { about: { id: `${channel}/${ts}` }, decision, user }
  }
  const isReply = typeof thread_ts === "string" && thread_ts !== ts && newMessages.includes(subtype)
  if ((what !== "message" && what !== "app_mention") || !isReply || typeof text !== "string" || text.trim() === "") {
    return undefined
  }
  const plain = text.replaceAll(/&(?:amp|lt|gt);/g, (entity) => entities[entity]!)
  return { about: { thread: `${channel}/${thread_ts}` }, id: `${channel}/${ts}`, text: plain, user }
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  Predicate.isReadonlyRecord(value) ? value : {}
