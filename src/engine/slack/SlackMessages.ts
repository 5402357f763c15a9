/** Messages as Slack's API takes and reports them. */
import { membersOf } from "../../domain/Json.ts"
import type { ChatMessage } from "../../repo/delivery/DeliveryStore.ts"
import { type Answer, isSuccess, jsonOf, type Post } from "../egress/Poster.ts"
import { blockIdOf, type Sign } from "../egress/Signature.ts"
import { mrkdwn } from "../markdown/Dialects.ts"
import { actionPrefix, type Button } from "./Buttons.ts"

/** Characters of a title. */
const ofTitle = 500
const ofButton = 75
const ofReason = 200
/** Bytes of an answer, which repeats the message. */
const ofAnswer = 512 * 1024

interface SlackMessage {
  readonly id: string
  readonly title: string
  readonly buttons?: ReadonlyArray<Button>
  readonly outcome?: string | undefined
}

/** The part of the body that all ways to post a message have in common. */
export const slackBody = (
  { buttons = [], id, outcome, title }: SlackMessage,
  sections: ReadonlyArray<string>,
  sign: Sign
) => ({
  // For notifications; the blocks are what people see in the channel.
  text: mrkdwn.text(title.slice(0, ofTitle).toWellFormed()),
  blocks: [
    ...sections.map((text, i) => ({
      type: "section" as const,
      // Slack does not look for names and links in it.
      text: { type: "mrkdwn" as const, text, verbatim: true },
      // The first one shows that the message is a destination's, should Slack report it.
      ...(i === 0 && { block_id: blockIdOf(id, sign) })
    })),
    ...(buttons.length === 0 ? [] : [actions(buttons)]),
    ...(outcome === undefined ? [] : [contextOf(outcome)])
  ]
})

/** A line below a message. */
export const contextOf = (text: string) => ({
  type: "context" as const,
  elements: [{ type: "mrkdwn" as const, text, verbatim: true }]
})

const actions = (buttons: ReadonlyArray<Button>) => ({
  type: "actions" as const,
  elements: buttons.map(({ style, text, value }, i) => ({
    type: "button" as const,
    action_id: `${actionPrefix}${i}`,
    text: { type: "plain_text" as const, text: text.slice(0, ofButton).toWellFormed(), emoji: false },
    value,
    ...(style && { style })
  }))
})

export const slackWebhookBody = (message: SlackMessage, sections: ReadonlyArray<string>, sign: Sign) => ({
  ...slackBody(message, sections, sign),
  unfurl_links: false,
  unfurl_media: false
})

/** A channel's ID, and perhaps the time stamp of the message whose thread it is. */
const place = /^([A-Z\d]{2,30})(?:\/(\d{1,12}\.\d{1,9}))?$/

export const placeIn = (text: string) => {
  const [, channel, thread_ts] = place.exec(text) ?? []
  return { channel, thread_ts }
}

export const slackPostBody = (
  message: SlackMessage,
  sections: ReadonlyArray<string>,
  sign: Sign,
  to: { readonly channel: string; readonly thread_ts?: string | undefined; readonly ts?: string }
) => ({
  ...slackWebhookBody(message, sections, sign),
  ...to,
  link_names: false,
  parse: "none" as const
})

/** Calls a method of Slack's Web API. */
export const methodPost = (url: string, token: string | undefined, method: string, body: object): Post => ({
  url: `${url.replace(/\/+$/, "")}/${method}`,
  headers: { "content-type": "application/json; charset=utf-8", authorization: `Bearer ${token}` },
  body: JSON.stringify(body),
  read: ofAnswer
})

/** A text that only this member sees, in a thread. */
export const ephemeralPost = (url: string, token: string, thread: string, user: string, text: string): Post =>
  methodPost(url, token, "chat.postEphemeral", { ...placeIn(thread), user, text })

/** Why Slack did not show it. */
export const ephemeralFault = (answer: Answer): string | undefined => {
  const json = jsonOf(answer)
  if (json === undefined) return isSuccess(answer) ? undefined : `HTTP ${answer.http_status}`
  return membersOf(json).ok === true ? undefined : reasonIn(json)
}

export const reasonIn = (json: unknown): string => String(membersOf(json).error ?? "no reason").slice(0, ofReason)

type Members = ReturnType<typeof membersOf>

/** A message, as Slack's answers and events have it. `undefined`: it is none. */
export const chatMessageOf = ({ channel, thread_ts, ts }: Members): ChatMessage | undefined => {
  const [id, thread] = [`${channel}/${ts}`, `${channel}/${thread_ts ?? ts}`]
  return [id, thread].every((text) => place.test(text) && text.includes("/")) ? { id, thread } : undefined
}

export const isSlackUrl = (url: string): boolean => URL.canParse(url) && new URL(url).hostname === "hooks.slack.com"
