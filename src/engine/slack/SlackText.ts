/** The text of a message in Slack, in whatever shape: a text, blocks, a forwarded message, or only files. */
import { membersOf } from "../../domain/Json.ts"

/** Lists in lists, in blocks. */
const deepest = 8

export const listOf = (value: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  Array.isArray(value) ? value.map(membersOf) : []
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" }
const plain = (text: unknown): string =>
  textOf(text)
    .replaceAll(/&(?:amp|lt|gt);/g, (entity) => entities[entity]!)
    .trim()

/** https://docs.slack.dev/reference/block-kit/blocks */
const ofBlock = (block: Readonly<Record<string, unknown>>, depth = 0): string => {
  const { alt_text, channel_id, elements, fields, name, text, title, type, url, user_id, usergroup_id } = block
  if (depth > deepest) return ""
  switch (type) {
    case "link":
      return textOf(text) === "" ? textOf(url) : `${textOf(text)} (${textOf(url)})`
    case "user":
      return `<@${textOf(user_id)}>`
    case "usergroup":
      return `<!subteam^${textOf(usergroup_id)}>`
    case "channel":
      return `<#${textOf(channel_id)}>`
    case "emoji":
      return `:${textOf(name)}:`
    case "image":
    case "video":
      return textOf(membersOf(title).text) || textOf(alt_text)
    default: {
      const own = typeof text === "string" ? text : textOf(membersOf(text).text)
      const inner = [...listOf(fields), ...listOf(elements)].map((element) => ofBlock(element, depth + 1))
      const isLine = type === "rich_text_section" || type === "rich_text_quote" || type === "rich_text_preformatted"
      return [own, inner.join(isLine ? "" : "\n")].filter((part) => part !== "").join("\n")
    }
  }
}

const ofBlocks = (blocks: unknown): string =>
  listOf(blocks)
    .map((block) => ofBlock(block))
    .filter((text) => text !== "")
    .join("\n")
    .trim()

/** A message that was forwarded, or another attachment (https://docs.slack.dev/reference/messaging/attachments). */
const ofAttachment = (attachment: Readonly<Record<string, unknown>>): string => {
  const { author_name, blocks, fallback, from_url, message_blocks, pretext, text, title } = attachment
  const inner = listOf(message_blocks).map(({ message }) => ofBlocks(membersOf(message).blocks))
  const said = plain(text) || [...inner, ofBlocks(blocks)].filter((it) => it !== "").join("\n") || plain(fallback)
  const whole = [plain(pretext), plain(title), said].filter((it) => it !== "").join("\n")
  if (!isForwarded(attachment)) return whole
  const from = plain(author_name)
  const head = `Forwarded message${from === "" ? "" : ` of ${from}`}${textOf(from_url) === "" ? "" : ` (${textOf(from_url)})`}:`
  return whole === "" ? head : `${head}\n${whole}`
}

const isForwarded = ({ is_msg_unfurl, is_share }: Readonly<Record<string, unknown>>): boolean =>
  is_share === true || is_msg_unfurl === true

/** Without a text of its own and anything else to read, the names of the files. Empty: it has nothing of all this. */
export const slackText = (message: Readonly<Record<string, unknown>>): string => {
  const attachments = listOf(message.attachments)
  const own = plain(message.text) || ofBlocks(message.blocks)
  // Beside a text, others are previews of its links.
  const shown = own === "" ? attachments : attachments.filter(isForwarded)
  const said = [own, ...shown.map(ofAttachment)].filter((text) => text !== "").join("\n\n")
  if (said !== "") return said
  const names = [...listOf(message.files), ...attachments.flatMap(({ files }) => listOf(files))].map(
    ({ id, name, title }) => textOf(name) || textOf(title) || textOf(id)
  )
  return names.length === 0 ? "" : `(No text, but files: ${names.join(", ")})`
}
