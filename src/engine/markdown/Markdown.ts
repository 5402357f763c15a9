/**
 * An agent's Markdown in the form of another service. It is read into tokens and written anew, with all text escaped: nothing
 * that the agent wrote reaches the service as it is, so it can neither mention people nor use the service's own syntax.
 */
import { lexer, type Token, type Tokens } from "marked"
import { cutText, fitting, type Measure, type Write } from "./Cut.ts"

/** How a service writes text. Arguments named `inner` are written already; all others are raw. */
export interface Dialect {
  readonly text: (raw: string) => string
  readonly strong: (inner: string) => string
  readonly em: (inner: string) => string
  readonly del: (inner: string) => string
  readonly codespan: (raw: string) => string
  /** `url` has the scheme http, https or mailto, and no spaces or angle brackets. */
  readonly link: (inner: string, url: string) => string
  readonly heading: (inner: string, depth: number) => string
  readonly fence: (raw: string, language?: string) => string
  /** The cells are already written, the head first. Absent: the service has no tables, so they are code. */
  readonly table?: (rows: ReadonlyArray<ReadonlyArray<string>>) => string
  readonly bullet: string
  readonly rule: string
}

/** A unit that stays together: a paragraph, a list, a heading or code. */
export interface Block {
  readonly text: string
  readonly isCode: boolean
  /** A beginning of at most this size, and what remains; `undefined`: no part of it fits. */
  readonly cut: (
    size: number,
    measure: Measure
  ) => { readonly head: string; readonly rest: ReadonlyArray<Block> } | undefined
}

/** Deeper elements are written as text. */
const maxDepth = 12

/** The lexer takes 10 ms for most texts of 64 KB, and minutes for some that were made to be slow. */
export const toBlocks = (markdown: string, dialect: Dialect): ReadonlyArray<Block> =>
  lexer(markdown, { gfm: true, breaks: false }).flatMap((token) => topLevel(token, dialect))

const write = (markdown: string, dialect: Dialect): string =>
  toBlocks(markdown, dialect)
    .map(({ text }) => text)
    .join("\n\n")

const topLevel = (token: Token, dialect: Dialect): Block | [] => {
  const text = blockOf(token, dialect, 0)
  if (text.trim() === "") return []
  switch (token.type) {
    case "code": {
      const { lang, text } = token as Tokens.Code
      return codeBlock(text, (raw) => dialect.fence(raw, lang))
    }
    case "list":
      return listBlock((token as Tokens.List).items, itemsOf(token as Tokens.List, dialect, 0), dialect)
    case "table":
      return dialect.table === undefined
        ? codeBlock(tableOf(token as Tokens.Table), dialect.fence)
        : tableBlock(token as Tokens.Table, dialect)
    case "blockquote":
      return textBlock(text, token.raw, dialect, (rest) => `> ${rest.replace(/^>? ?/, "")}`)
    default:
      return textBlock(text, token.raw, dialect)
  }
}

/** @param continued how what remains begins */
const textBlock = (text: string, raw: string, dialect: Dialect, continued = (rest: string) => rest): Block => ({
  text,
  isCode: false,
  cut: (size, measure) => {
    const cut = cutText(raw.trimEnd(), size, (raw) => write(raw, dialect), measure)
    return cut && { head: cut.head, rest: cut.rest === "" ? [] : toBlocks(continued(cut.rest), dialect) }
  }
})

const codeBlock = (code: string, fence: Write): Block => ({
  text: fence(code),
  isCode: true,
  cut: (size, measure) => {
    const cut = cutText(code, size, fence, measure)
    return cut && { head: cut.head, rest: cut.rest === "" ? [] : [codeBlock(cut.rest, fence)] }
  }
})

const listBlock = (items: ReadonlyArray<Tokens.ListItem>, written: ReadonlyArray<Item>, dialect: Dialect): Block => {
  const textOf = (count: number) =>
    written
      .slice(0, count)
      .map(({ text }) => text)
      .join("\n")
  const from = (n: number): ReadonlyArray<Block> =>
    n < items.length ? [listBlock(items.slice(n), written.slice(n), dialect)] : []
  return {
    text: textOf(items.length),
    isCode: false,
    cut: (size, measure) => {
      const count = fitting(items.length, (count) => measure(textOf(count)) <= size)
      if (count > 0) return { head: textOf(count), rest: from(count) }
      const { marker } = written[0]!
      const cut = cutText(items[0]!.text, size, (raw) => withMarker(write(raw, dialect), marker), measure)
      return cut && { head: cut.head, rest: [...(cut.rest === "" ? [] : toBlocks(cut.rest, dialect)), ...from(1)] }
    }
  }
}

/** With its head in each piece. */
const tableBlock = (token: Tokens.Table, dialect: Dialect): Block => {
  const textOf = (count: number) => tableIn({ ...token, rows: token.rows.slice(0, count) }, dialect, 0)
  return {
    text: textOf(token.rows.length),
    isCode: false,
    cut: (size, measure) => {
      const count = fitting(token.rows.length, (count) => measure(textOf(count)) <= size)
      // A row that is too long, or the head, is shown as code.
      if (count === 0) return codeBlock(tableOf(token), dialect.fence).cut(size, measure)
      const rest = token.rows.slice(count)
      return { head: textOf(count), rest: rest.length === 0 ? [] : [tableBlock({ ...token, rows: rest }, dialect)] }
    }
  }
}

const blockOf = (token: Token, dialect: Dialect, depth: number): string => {
  if (depth > maxDepth) return dialect.text(token.raw)
  const blocks = (tokens: ReadonlyArray<Token> = []) => blocksIn(tokens, dialect, depth)
  switch (token.type) {
    case "space":
    case "def":
      return ""
    case "heading":
      return dialect.heading(inlineOf(token.tokens, dialect, depth), (token as Tokens.Heading).depth)
    case "paragraph":
      return inlineOf(token.tokens, dialect, depth)
    case "code":
      return dialect.fence((token as Tokens.Code).text, (token as Tokens.Code).lang)
    case "blockquote":
      return indented(blocks(token.tokens), "> ", "> ")
    case "list":
      return itemsOf(token as Tokens.List, dialect, depth)
        .map(({ text }) => text)
        .join("\n")
    case "table":
      return dialect.table === undefined
        ? dialect.fence(tableOf(token as Tokens.Table))
        : tableIn(token as Tokens.Table, dialect, depth)
    case "hr":
      return dialect.rule
    case "html":
      return dialect.text(token.raw.trimEnd())
    default:
      return inlineOf([token], dialect, depth)
  }
}

const blocksIn = (tokens: ReadonlyArray<Token>, dialect: Dialect, depth: number): string =>
  tokens.reduce((all, one, i) => {
    const text = blockOf(one, dialect, depth + 1)
    if (all === "" || text === "" || tokens[i - 1]?.type === "checkbox") return all + text
    return `${all}${one.type === "list" ? "\n" : "\n\n"}${text}`
  }, "")

/** An item of a list, as it is written. */
interface Item {
  readonly marker: string
  readonly text: string
}

const itemsOf = ({ items, ordered, start }: Tokens.List, dialect: Dialect, depth: number): ReadonlyArray<Item> => {
  // A list item's number has at most nine digits (CommonMark, 5.2): with more, code in it would be text.
  const first = Math.min(Number(start) || 1, 99_999_999)
  return items.map(({ tokens }, i) => {
    const marker = ordered ? `${first + i}. ` : `${dialect.bullet} `
    return { marker, text: withMarker(blocksIn(tokens, dialect, depth), marker) }
  })
}

const withMarker = (text: string, marker: string): string => indented(text, marker, " ".repeat(marker.length))

/** Its columns are separated by what is escaped within a cell. */
const tableIn = ({ header, rows }: Tokens.Table, dialect: Dialect, depth: number): string => {
  const inCells = {
    ...dialect,
    codespan: (raw: string) => dialect.codespan(raw.replaceAll("\\|", "¦").replaceAll("|", "\\|"))
  }
  return dialect.table!(
    [header, ...rows].map((cells) =>
      cells.map(({ tokens }) => inlineOf(tokens, inCells, depth).replace(/\s*\n\s*/g, " "))
    )
  )
}

const indented = (text: string, first: string, rest: string): string =>
  text
    .split("\n")
    .map((line, i) => `${i === 0 ? first : rest}${line}`.trimEnd())
    .join("\n")

/** Code that follows code is kept apart from it: backticks that touch would open other code than they close. */
const inlineOf = (tokens: ReadonlyArray<Token> = [], dialect: Dialect, depth: number): string =>
  tokens.reduce((all, token) => {
    const text = inline(token, dialect, depth + 1)
    return `${all}${all.endsWith("`") && text.startsWith("`") ? " " : ""}${text}`
  }, "")

const inline = (token: Token, dialect: Dialect, depth: number): string => {
  if (depth > maxDepth) return dialect.text(token.raw)
  const inner = () => inlineOf((token as Tokens.Generic).tokens, dialect, depth)
  switch (token.type) {
    case "strong":
      return dialect.strong(inner())
    case "em":
      return dialect.em(inner())
    case "del":
      return dialect.del(inner())
    case "codespan":
      return dialect.codespan((token as Tokens.Codespan).text)
    case "br":
      return "\n"
    case "checkbox":
      return (token as Tokens.Checkbox).checked ? "☑ " : "☐ "
    case "link": {
      const { href } = token as Tokens.Link
      const url = safeUrl(href)
      return url === undefined ? `${inner()} ${dialect.codespan(href)}` : dialect.link(inner(), url)
    }
    case "image": {
      const { href, text } = token as Tokens.Image
      const url = safeUrl(href)
      const label = dialect.text(text || "image")
      return url === undefined ? label : dialect.link(label, url)
    }
    case "escape":
      return dialect.text((token as Tokens.Escape).text)
    case "text": {
      const { escaped, raw, text, tokens } = token as Tokens.Text
      return tokens ? inner() : dialect.text(escaped ? raw : text)
    }
    default:
      return dialect.text(token.raw)
  }
}

/** Text that takes too long to read as Markdown, as code, which is read quickly. */
export const asCode = (text: string): string => {
  const longest = (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 2)
  const fence = "`".repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

/** Plain text as Markdown that shows it as it is. */
export const escapeMarkdown = (text: string): string => text.replace(/[!-/:-@[-`{-~]/g, "\\$&")

/** Without characters that would end a link early. Other schemes, above all `javascript:`, are shown as text. */
export const safeUrl = (href: string): string | undefined => {
  if (!URL.canParse(href)) return undefined
  const url = new URL(href)
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return undefined
  return url.href.replace(/[|<>()[\]\\`*_~@\s]/g, (character) =>
    character === "_" || (character === "@" && url.protocol === "mailto:")
      ? character
      : `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`
  )
}

/** In columns: most services have no tables. */
const tableOf = ({ header, rows }: Tokens.Table): string => {
  const lines = [header, ...rows].map((cells) => cells.map(({ text }) => text.replace(/\s+/g, " ")))
  const widths = header.map((_, i) => Math.min(40, Math.max(...lines.map((cells) => [...(cells[i] ?? "")].length))))
  const toLine = (cells: ReadonlyArray<string>) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd()
  const [first = [], ...rest] = lines
  return [toLine(first), toLine(widths.map((width) => "-".repeat(width))), ...rest.map(toLine)].join("\n")
}
