import { Effect } from "effect"
import { discord as dialect } from "../markdown/Dialects.ts"
import { moreNote, toText } from "../markdown/Parts.ts"
import { asJson, type Message, type Sender } from "./Sender.ts"

/** Characters of a message (https://docs.discord.com/developers/resources/webhook#execute-webhook). */
const ofMessage = 2_000

/** The message; and whether it lacks a part of the text. */
export const discordBody = ({ body, page }: Pick<Message, "body" | "page">) => {
  const note = moreNote(dialect, page, "The whole text is attached.")
  const { isCut, text } = toText(body, { dialect, size: ofMessage, limit: 4 * ofMessage, note })
  return { isCut, message: { content: text, allowed_mentions: { parse: [] } } }
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
