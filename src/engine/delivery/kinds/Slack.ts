/** Slack's three ways to post a message. */
import { Effect } from "effect"
import type { ChatMessage } from "../../../repo/delivery/DeliveryStore.ts"
import { actionPrefix, type Button } from "../Buttons.ts"
import { mrkdwn } from "../markdown/Dialects.ts"
import { type Answer, NoAnswer, type Post } from "../Poster.ts"
import { blockIdOf, type Sign } from "../Signature.ts"
import { asJson, isSuccess, jsonOf, type Message, type Sender, type Sent } from "./Sender.ts"

/** Characters of a title. */
const ofTitle = 500
const ofButton = 75
const ofReason = 200
/** Bytes of an answer. */
const ofAnswer = 512 * 1024

type SlackMessage = Pick<Message, "buttons" | "id" | "outcome" | "title">

/** What all three have in common. */
const slackBody = (
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

export const slack: Sender = (message, { sign, url }, { send, show }) =>
  Effect.flatMap(show("slack", message), (sections) =>
    send({ url, headers: asJson, body: JSON.stringify(slackWebhookBody(message, sections, sign)) })
  )

export const slackWebhookBody = (message: SlackMessage, sections: ReadonlyArray<string>, sign: Sign) => ({
  ...slackBody(message, sections, sign),
  unfurl_links: false,
  unfurl_media: false
})

/** A channel's ID, and perhaps the time stamp of the message whose thread it is. */
const place = /^([A-Z\d]{2,30})(?:\/(\d{1,12}\.\d{1,9}))?$/

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

const asBot = (token: string | undefined) => ({
  "content-type": "application/json; charset=utf-8",
  authorization: `Bearer ${token}`
})

const methodAt = (url: string, method: string) => `${url.replace(/\/+$/, "")}/${method}`

/** A text that only this member sees, in a thread. */
export const ephemeralPost = (url: string, token: string, thread: string, user: string, text: string): Post => {
  const [, channel, thread_ts] = place.exec(thread) ?? []
  return {
    url: methodAt(url, "chat.postEphemeral"),
    headers: asBot(token),
    body: JSON.stringify({ channel, thread_ts, user, text }),
    read: ofAnswer
  }
}

/** Why Slack did not show it. */
export const ephemeralFault = (answer: Answer): string | undefined => {
  const json = jsonOf(answer) as Refused | undefined
  if (json === undefined) return isSuccess(answer) ? undefined : `HTTP ${answer.http_status}`
  return json.ok === true ? undefined : reasonIn(json)
}

interface Refused {
  readonly ok?: unknown
  readonly error?: unknown
}

const reasonIn = (json: Refused | undefined): string => String(json?.error ?? "no reason").slice(0, ofReason)

/** Slack answers 200 also if it refuses: `ok` says so. */
export const slackMessage: Sender = (message, { secrets: [token], sign, url }, { send, show }) => {
  const [, channel, thread_ts] = place.exec(message.target.trim()) ?? []
  if (channel === undefined) {
    const reason = "the channel must be an ID such as C0123456789, or C0123456789/1700000000.000100"
    return new NoAnswer({ reason, isOfTarget: true })
  }
  const { written } = message
  const to = written === undefined ? { channel, thread_ts } : placeOf(written)
  const sent = Effect.flatMap(show("slack", message), (sections) =>
    send({
      url: methodAt(url, written === undefined ? "chat.postMessage" : "chat.update"),
      headers: asBot(token),
      body: JSON.stringify(slackPostBody(message, sections, sign, to)),
      // It repeats the message.
      read: ofAnswer
    })
  )
  return Effect.map(sent, (answer) => {
    const json = jsonOf(answer) as (Posted & Refused & { readonly message?: Author }) | undefined
    // What cannot be read was accepted by its status: another attempt would repeat the message.
    const isAccepted = json === undefined ? isSuccess(answer) : json.ok === true
    const chat = written === undefined && json && chatMessageOf({ channel, ...json, thread_ts })
    return isAccepted
      ? { ...answer, authors: authorsIn(json?.message), ...(chat && { chat }) }
      : refusedFor(reasonIn(json), answer, written !== undefined)
  })
}

const placeOf = ({ id }: ChatMessage) => {
  const [channel = "", ts = ""] = id.split("/")
  return { channel, ts }
}

/** A message, as Slack's answers and events have it. */
interface Posted {
  /** Of a message to a member, another one than its target. */
  readonly channel?: unknown
  readonly ts?: unknown
  readonly thread_ts?: unknown
}

/** `undefined`: it is none. */
export const chatMessageOf = ({ channel, thread_ts, ts }: Posted): ChatMessage | undefined => {
  const [id, thread] = [`${channel}/${ts}`, `${channel}/${thread_ts ?? ts}`]
  return [id, thread].every((text) => place.test(text) && text.includes("/")) ? { id, thread } : undefined
}

interface Author {
  readonly app_id?: unknown
  readonly bot_id?: unknown
}

const authorsIn = ({ app_id, bot_id }: Author = {}): ReadonlyArray<string> =>
  [app_id, bot_id].flatMap((id) => (typeof id === "string" ? [`slack ${id}`] : []))

/** Why Slack refuses a message (https://docs.slack.dev/reference/methods/chat.postMessage#errors): for its channel, ... */
const ofChannel = /^(channel_not_found|not_in_channel|is_archived|restricted_action(_.*)?)$/
/** ... or for the app, its token or Slack itself, whatever the channel is. */
const ofApp =
  /^(no reason|not_authed|invalid_auth|account_inactive|token_.*|access_denied|missing_scope|no_permission|not_allowed_token_type|org_login_required|ekm_access_denied|enterprise_is_restricted|team_.*|accesslimited|rate_?limited|service_unavailable|internal_error|fatal_error|request_timeout)$/

const refusedFor = (reason: string, answer: Answer, isUpdate: boolean): Sent => ({
  ...answer,
  // The message was deleted, or is too old to be changed.
  ...(isUpdate && !ofApp.test(reason) && { isFinal: true }),
  fault: `Slack refused it: ${reason}`,
  ...(ofChannel.test(reason) && { isPlaceHidden: true }),
  ...(!ofApp.test(reason) && { isOfPlace: true })
})

export const isSlackUrl = (url: string): boolean => URL.canParse(url) && new URL(url).hostname === "hooks.slack.com"

/** The person who gave the command sees it, as Slack does by default. */
export const slackResponse: Sender = (message, { sign }, { send, show }) => {
  const url = message.target.trim()
  if (!isSlackUrl(url)) {
    return new NoAnswer({ reason: "the response URL must be at hooks.slack.com", isOfTarget: true })
  }
  return Effect.flatMap(show("slack", message), (sections) => {
    const body = { ...slackBody(message, sections, sign), response_type: "ephemeral", replace_original: false }
    return send({ url, headers: asJson, body: JSON.stringify(body) })
  })
}
