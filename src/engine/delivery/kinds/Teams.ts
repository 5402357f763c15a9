import { card } from "../markdown/Dialects.ts"
import { type Block, toBlocks } from "../markdown/Markdown.ts"
import { moreNote, piecesOf } from "../markdown/Parts.ts"
import { asJson, type Message, type Sender } from "./Sender.ts"

/** Bytes of a message (https://learn.microsoft.com/microsoftteams/platform/bots/how-to/format-your-bot-messages). */
const ofMessage = 28 * 1024
/** Characters of one block. */
const ofBlock = 2_000

interface TextBlock {
  readonly type: "TextBlock"
  readonly text: string
  readonly wrap: true
  readonly fontType?: "Monospace"
  readonly isSubtle?: true
}

const textBlock = ({ isCode, text }: Pick<Block, "isCode" | "text">): TextBlock => ({
  ...{ type: "TextBlock", text, wrap: true },
  ...(isCode && { fontType: "Monospace" })
})

/** Teams counts a card as a text within JSON: escaped once more. */
export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(JSON.stringify(value)))

const messageOf = (body: ReadonlyArray<TextBlock>) => ({
  type: "message",
  attachments: [
    {
      contentType: "application/vnd.microsoft.card.adaptive",
      contentUrl: null,
      content: {
        $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
        type: "AdaptiveCard",
        version: "1.4",
        body,
        msteams: { width: "Full" }
      }
    }
  ]
})

/** An Adaptive Card. Without `msteams.entities`, it mentions no one. */
export const teamsBody = ({ body, page }: Pick<Message, "body" | "page">) => {
  const shown = body.slice(0, ofMessage).toWellFormed()
  const all = toBlocks(shown, card).flatMap((block) => piecesOf(block, ofBlock))
  const whole = messageOf(all.map(textBlock))
  if (shown.length === body.length && sizeOf(whole) <= ofMessage) return whole
  const note: TextBlock = { type: "TextBlock", text: moreNote(card, page), wrap: true, isSubtle: true }
  const fitting: Array<TextBlock> = []
  /** With a comma. */
  let space = ofMessage - sizeOf(messageOf([note]))
  const spaceOf = (block: Pick<Block, "isCode" | "text">) => sizeOf(textBlock(block)) + 1
  for (const block of all) {
    if (spaceOf(block) > space) {
      const around = spaceOf({ ...block, text: "" })
      const cut = block.cut(space - around, (text) => spaceOf({ ...block, text }) - around)
      if (cut !== undefined) fitting.push(textBlock({ ...block, text: cut.head }))
      break
    }
    space -= spaceOf(block)
    fitting.push(textBlock(block))
  }
  return messageOf([...fitting, note])
}

export const teams: Sender = (message, { url }, send) =>
  send({ url, headers: asJson, body: JSON.stringify(teamsBody(message)) })
