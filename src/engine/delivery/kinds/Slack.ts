/** Slack's three ways to post a message. */
import { Effect } from "effect"
import { membersOf } from "../../../domain/Json.ts"
import type { ChatMessage } from "../../../repo/delivery/DeliveryStore.ts"
import { type Answer, asJson, isSuccess, jsonOf, NoAnswer } from "../../egress/Poster.ts"
import {
  chatMessageOf,
  isSlackUrl,
  methodPost,
  placeIn,
  reasonIn,
  slackBody,
  slackPostBody,
  slackWebhookBody
} from "../../slack/SlackMessages.ts"
import type { Sender, Sent } from "./Sender.ts"

export const slack: Sender = (message, { sign, url }, { send, show }) =>
  Effect.flatMap(show("slack", message), (sections) =>
    send({ url, headers: asJson, body: JSON.stringify(slackWebhookBody(message, sections, sign)) })
  )

/** Slack answers 200 also if it refuses: `ok` says so. */
export const slackMessage: Sender = (message, { secrets: [token], sign, url }, { send, show }) => {
  const { channel, thread_ts } = placeIn(message.target.trim())
  if (channel === undefined) {
    const reason = "the channel must be an ID such as C0123456789, or C0123456789/1700000000.000100"
    return new NoAnswer({ reason, isOfTarget: true })
  }
  const { written } = message
  const to = written === undefined ? { channel, thread_ts } : placeOf(written)
  const method = written === undefined ? "chat.postMessage" : "chat.update"
  const sent = Effect.flatMap(show("slack", message), (sections) =>
    send(methodPost(url, token, method, slackPostBody(message, sections, sign, to)))
  )
  return Effect.map(sent, (answer) => {
    const json = jsonOf(answer)
    const { message, ok, ...posted } = membersOf(json)
    // An answer that cannot be read counts as accepted by its status: another attempt would repeat the message.
    const isAccepted = json === undefined ? isSuccess(answer) : ok === true
    // For a message to a member, the answer names another channel.
    const chat = written === undefined && chatMessageOf({ channel, ...posted, thread_ts })
    return isAccepted
      ? { ...answer, authors: authorsIn(message), ...(chat && { chat }) }
      : refusedFor(reasonIn(json), answer, written !== undefined)
  })
}

const placeOf = ({ id }: ChatMessage) => {
  const [channel = "", ts = ""] = id.split("/")
  return { channel, ts }
}

const authorsIn = (message: unknown): ReadonlyArray<string> => {
  const { app_id, bot_id } = membersOf(message)
  return [app_id, bot_id].flatMap((id) => (typeof id === "string" ? [`slack ${id}`] : []))
}

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
