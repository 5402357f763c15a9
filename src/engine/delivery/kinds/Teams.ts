import { card } from "../markdown/Dialects.ts"
import { type Block, toBlocks } from "../markdown/Markdown.ts"
import { split } from "../markdown/Parts.ts"
import { asJson, type Message, type Sender } from "./Sender.ts"

/** Bytes of a message (https://learn.microsoft.com/microsoftteams/platform/bots/how-to/format-your-bot-messages). */
const ofMessage = 28 * 1024
/** Bytes that the blocks may have, so that the message around them fits as well. */
const ofBlocks = 24 * 1024
/** Characters of one block. */
const ofBlock = 2_000

/** Of a long paragraph, what fits is shown. */
const textBlocks = ({ code, text }: Block) =>
  split(text, ofBlock).map((text) => ({
    type: "TextBlock" as const,
    text,
    wrap: true,
    ...(code !== undefined && { fontType: "Monospace" as const })
  }))

/** An Adaptive Card. Without `msteams.entities`, it mentions no one. */
export const teamsBody = ({ body }: Pick<Message, "body">) => {
  const all = toBlocks(body.slice(0, ofMessage), card).flatMap(textBlocks)
  let size = 0
  const fitting = all.filter((block) => {
    size += Buffer.byteLength(JSON.stringify(block))
    return size <= ofBlocks
  })
  const isCut = fitting.length < all.length || body.length > ofMessage
  const note = { type: "TextBlock" as const, text: "_The answer is longer._", wrap: true, isSubtle: true }
  return {
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        contentUrl: null,
        content: {
          $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
          type: "AdaptiveCard",
          version: "1.4",
          body: isCut ? [...fitting, note] : fitting,
          msteams: { width: "Full" }
        }
      }
    ]
  }
}

export const teams: Sender = (message, { url }, send) =>
  send({ url, headers: asJson, body: JSON.stringify(teamsBody(message)) })
