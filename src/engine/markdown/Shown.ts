/**
 * An agent's Markdown as each service shows it. Some texts take long to read, so this can be done on another thread: it
 * is pure, and its results can be sent.
 */
import { card, discord, gfm, gitlab, mrkdwn, plain } from "./Dialects.ts"
import { toHtml } from "./Html.ts"
import { type Block, type Dialect, toBlocks } from "./Markdown.ts"
import { moreNote, piecesOf, toParts, toText } from "./Parts.ts"

export interface MarkdownText {
  readonly body: string
  /** Where the whole text is. */
  readonly page?: string | undefined
}

/** Characters of a section, and of a message in all (https://docs.slack.dev/reference/block-kit/blocks/section-block). */
const ofSlackSection = 3_000
const ofSlackMessage = 40_000
const slackSections = 45

/** The text of each section. */
const slack = ({ body, page }: MarkdownText): ReadonlyArray<string> => {
  const shown = body.slice(0, ofSlackMessage).toWellFormed()
  const { isCut, parts } = toParts(shown, { count: slackSections, dialect: mrkdwn, size: ofSlackSection })
  return isCut || shown.length < body.length ? [...parts, moreNote(mrkdwn, page)] : parts
}

/** Characters of a message (https://docs.discord.com/developers/resources/webhook#execute-webhook). */
const ofDiscordMessage = 2_000

const discordMessage = ({ body, page }: MarkdownText) => {
  const note = moreNote(discord, page, "The whole text is attached.")
  return toText(body, { dialect: discord, size: ofDiscordMessage, limit: 4 * ofDiscordMessage, note })
}

/** Characters of a comment of GitHub or GitLab, and of these, for what stands around the text. */
const ofComment = 65_536
const aroundComment = 6_000

const comment =
  (dialect: Dialect) =>
  ({ body, page }: MarkdownText): string => {
    const size = ofComment - aroundComment
    return toText(body, { dialect, size, limit: 2 * size, note: moreNote(dialect, page) }).text
  }

/** Bytes of a message (https://learn.microsoft.com/microsoftteams/platform/bots/how-to/format-your-bot-messages). */
const ofTeamsMessage = 28 * 1024
/** Characters of one block. */
const ofTeamsBlock = 2_000

export interface TextBlock {
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
export const teamsSizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(JSON.stringify(value)))

const teamsMessage = (body: ReadonlyArray<TextBlock>) => ({
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
const teams = ({ body, page }: MarkdownText) => {
  const shown = body.slice(0, ofTeamsMessage).toWellFormed()
  const all = toBlocks(shown, card).flatMap((block) => piecesOf(block, ofTeamsBlock))
  const whole = teamsMessage(all.map(textBlock))
  if (shown.length === body.length && teamsSizeOf(whole) <= ofTeamsMessage) return whole
  const note: TextBlock = { type: "TextBlock", text: moreNote(card, page), wrap: true, isSubtle: true }
  const fitting: Array<TextBlock> = []
  /** With a comma. */
  let space = ofTeamsMessage - teamsSizeOf(teamsMessage([note]))
  const spaceOf = (block: Pick<Block, "isCode" | "text">) => teamsSizeOf(textBlock(block)) + 1
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
  return teamsMessage([...fitting, note])
}

/** Characters of an e-mail. */
const ofEmail = 256 * 1024

const email = ({ body, page }: MarkdownText): { readonly text: string; readonly html: string } => {
  const more = page === undefined ? "" : ` ${page}`
  const shown =
    body.length <= ofEmail ? body : `${body.slice(0, ofEmail).toWellFormed()}\n\n*The answer is longer.*${more}`
  const blocks = toBlocks(shown, plain)
  return { text: blocks.map(({ text }) => text).join("\n\n"), html: toHtml(shown) }
}

export const shown = { slack, discord: discordMessage, github: comment(gfm), gitlab: comment(gitlab), teams, email }

export type Shown = { readonly [Service in keyof typeof shown]: ReturnType<(typeof shown)[Service]> }
