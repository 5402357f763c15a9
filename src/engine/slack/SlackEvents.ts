/** Messages and reactions, as Slack's Events API reports them (https://docs.slack.dev/reference/events). */
import { membersOf } from "../../domain/Json.ts"
import type { Decision } from "../../domain/webhook/Approvers.ts"
import type { ChatMessage } from "../../repo/delivery/DeliveryStore.ts"
import { reactedBy, type SlackMember } from "./SlackMembers.ts"
import { chatMessageOf } from "./SlackMessages.ts"
import { listOf, slackText } from "./SlackText.ts"

/** A message in the thread of another one. */
export interface SlackReply {
  readonly chat: ChatMessage
  readonly text: string
  readonly user: string
}

/** 👍 or 👎 to a message. */
export interface SlackReaction {
  readonly id: ChatMessage["id"]
  readonly decision: Decision
  readonly user: string
  readonly member: SlackMember
}

const decisions: ReadonlyMap<unknown, Decision> = new Map([
  ["+1", "approve"],
  ["-1", "deny"]
])

/** Other subtypes are about a message, such as its removal. */
const newMessages: ReadonlyArray<unknown> = [undefined, "file_share", "thread_broadcast", "me_message"]

/**
 * `undefined`: it is none, or a bot's. A mention in a thread is reported twice, as such and as a message; and again when it is
 * edited.
 */
export const slackEventIn = (payload: unknown): SlackReaction | SlackReply | undefined => {
  const all = membersOf(payload)
  const { authorizations, event, type } = all
  const { bot_id, edited, item, reaction, subtype, thread_ts, type: what, user, ...message } = membersOf(event)
  if (type !== "event_callback" || typeof user !== "string" || user === "") return undefined
  if (bot_id !== undefined || edited !== undefined || isOwnBot(user, authorizations)) return undefined
  if (what === "reaction_added") {
    const { channel, ts } = membersOf(item)
    const id = chatMessageOf({ channel, ts })?.id
    // A skin tone may follow.
    const decision = decisions.get(String(reaction).split("::")[0])
    return id === undefined || decision === undefined ? undefined : { id, decision, user, member: reactedBy(user, all) }
  }
  const chat = what === "message" || what === "app_mention" ? chatMessageOf({ ...message, thread_ts }) : undefined
  if (chat === undefined || chat.id === chat.thread || !newMessages.includes(subtype)) return undefined
  const text = slackText(membersOf(event))
  return text === "" ? undefined : { chat, text, user }
}

/** The app's own: a reaction does not say that a bot made it. */
const isOwnBot = (user: string, authorizations: unknown): boolean =>
  listOf(authorizations).some(({ is_bot, user_id }) => is_bot === true && user_id === user)
