import { Effect } from "effect"
import { asJson } from "../../egress/Poster.ts"
import type { Sender } from "./Sender.ts"

/** A longer text is attached as a file: in several messages, a repeated attempt would repeat some. */
export const discord: Sender = (message, { url }, { send, show }) =>
  Effect.gen(function* () {
    const { isCut, text } = yield* show("discord", message)
    const content = JSON.stringify({ content: text, allowed_mentions: { parse: [] } })
    if (!isCut) return yield* send({ url, headers: asJson, body: content })
    const form = new FormData()
    form.set("payload_json", content)
    form.set("files[0]", new Blob([message.body], { type: "text/markdown" }), "answer.md")
    const encoded = new Response(form)
    const contentType = encoded.headers.get("content-type")!
    const bytes = yield* Effect.promise(() => encoded.arrayBuffer())
    return yield* send({ url, headers: { "content-type": contentType }, body: new Uint8Array(bytes) })
  })
