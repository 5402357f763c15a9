import { Effect } from "effect"
import { discord as dialect } from "../markdown/Dialects.ts"
import { toBlocks } from "../markdown/Markdown.ts"
import { toParts } from "../markdown/Parts.ts"
import { asJson, type Message, type Sender } from "./Sender.ts"

/** Characters of a message (https://docs.discord.com/developers/resources/webhook#execute-webhook). */
const ofMessage = 2_000
const note = "\n\n*The whole text is attached.*"

/** The message; and whether it lacks a part of the text. */
export const discordBody = ({ body }: Pick<Message, "body">) => {
  const blocks = toBlocks(body.slice(0, 4 * ofMessage), dialect)
  const whole = toParts(blocks, { count: 1, dialect, size: ofMessage })
  const isCut = whole.isCut || body.length > 4 * ofMessage
  const [first = ""] = isCut ? toParts(blocks, { count: 1, dialect, size: ofMessage - note.length }).parts : whole.parts
  return { isCut, message: { content: isCut ? first + note : first, allowed_mentions: { parse: [] } } }
}

/** A longer text is attached as a file: in several messages, a repeated attempt would repeat some. */
export const discord: Sender = (message, { url }, send) => {
  const { isCut, message: content } = discordBody(message)
  if (!isCut) return send({ url, headers: asJson, body: JSON.stringify(content) })
  const form = new FormData()
  form.set("payload_json", JSON.stringify(content))
  form.set("files[0]", new Blob([message.body], { type: "text/markdown" }), "answer.md")
  const encoded = new Response(form)
  const contentType = encoded.headers.get("content-type")!
  return Effect.flatMap(
    Effect.promise(() => encoded.arrayBuffer()),
    (bytes) => send({ url, headers: { "content-type": contentType }, body: new Uint8Array(bytes) })
  )
}
