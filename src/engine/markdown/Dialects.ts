/** How services write text. */
import type { Dialect } from "./Markdown.ts"

/** After an `@`, so that no name follows it, and between backticks. It has no width. */
const gap = "\u200b"

/** Keeps at most two backticks in a row: three would end the code that the text is in. */
const withoutFence = (text: string): string => text.replace(/``(?=`)/g, `$&${gap}`)

const withoutMentions = (text: string): string => text.replaceAll("@", `@${gap}`)

/** Characters with a meaning anywhere in Markdown, and those with one at the start of a line. */
const escaped = (text: string, anywhere: RegExp): string =>
  withoutMentions(text)
    .replace(anywhere, "\\$&")
    .replace(/^(\s*)([#+=/-])/gm, "$1\\$2")
    .replace(/^(\s*\d{1,9})([.)])/gm, "$1\\$2")

/** Languages that services only color. With others, such as `mermaid` or `suggestion`, they do more. */
const languages = new Set(
  [
    "bash c c# c++ clojure cmake cpp cs csharp css cue dart diff dockerfile elixir elm erlang",
    "fish fsharp go graphql groovy haskell hcl html http ini java javascript js json json5 jsx julia",
    "kotlin less lua make makefile markdown md nginx nix objc ocaml patch perl php powershell prisma proto",
    "protobuf py python r rb rs ruby rust sass scala scss sh shell solidity sql svelte swift",
    "terraform text tf toml ts tsx txt typescript vim vue xml yaml yml zig zsh"
  ].flatMap((names) => names.split(" "))
)

/** A fence that is longer than any in the code. */
const fenceOf = (code: string, language = ""): string => {
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((run) => run.length))
  const fence = "`".repeat(longest + 1)
  const name = language.trim().toLowerCase().split(/\s/)[0]!
  return `${fence}${languages.has(name) ? name : ""}\n${code}\n${fence}`
}

const tableOf = ([head = [], ...rows]: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

const codespanOf = (text: string): string => {
  const flat = text.replace(/\s*\n\s*/g, " ")
  const longest = Math.max(0, ...(flat.match(/`+/g) ?? []).map((run) => run.length))
  const ticks = "`".repeat(longest + 1)
  const space = flat.startsWith("`") || flat.endsWith("`") || flat.trim() === "" ? " " : ""
  return `${ticks}${space}${flat}${space}${ticks}`
}

const commonmark = (anywhere: RegExp): Dialect => ({
  text: (raw) => escaped(raw, anywhere),
  strong: (inner) => `**${inner}**`,
  em: (inner) => `*${inner}*`,
  del: (inner) => `~~${inner}~~`,
  codespan: codespanOf,
  link: (inner, url) => `[${inner}](${url})`,
  heading: (inner, depth) => `${"#".repeat(depth)} ${inner}`,
  fence: fenceOf,
  bullet: "-",
  rule: "---"
})

/** GitHub and GitLab. HTML and its entities are text, too: `&#64;` would be an `@`. */
export const gfm: Dialect = {
  ...commonmark(/[\\`*_[\]~|]/g),
  text: (raw) =>
    escaped(raw, /[\\`*_[\]~|]/g)
      .replace(/&/g, "&amp;")
      .replace(/</g, "&lt;")
      .replace(/>/g, "&gt;"),
  table: tableOf,
  // Entities count in addresses, too.
  link: (inner, url) => `[${inner}](${url.replace(/&(?=#?\w+;)/g, "&amp;")})`
}

/** GitLab carries out lines that begin with `/`, such as `/close`; older versions even some in code. */
export const gitlab: Dialect = {
  ...gfm,
  fence: (raw, language) => fenceOf(raw.replace(/^\/(?=[a-z_])/gm, " /"), language)
}

/** Discord knows no entities and three levels of headings. */
export const discord: Dialect = {
  ...commonmark(/[\\`*_[\]~|<>]/g),
  heading: (inner, depth) => `${"#".repeat(Math.min(depth, 3))} ${inner}`,
  // Discord ends code at the first fence of three.
  fence: (raw) => `\`\`\`\n${withoutFence(raw)}\n\`\`\``,
  codespan: (raw) => `\`${raw.replaceAll("`", "'").replace(/\s*\n\s*/g, " ") || " "}\``,
  rule: "———"
}

const cardText = (raw: string): string => escaped(raw, /[\\*_[\]]/g)

/** Adaptive Cards know bold, italic, links and lists. Markdown is also read in code, so that is escaped as text is. */
export const card: Dialect = {
  ...commonmark(/[\\*_[\]]/g),
  del: (inner) => inner,
  codespan: cardText,
  heading: (inner) => `**${inner}**`,
  // A single line break is no more than a space there.
  fence: (raw) => cardText(raw).replace(/\n/g, "\n\n"),
  rule: "———"
}

const slackText = (text: string): string =>
  withoutMentions(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")

const slackCode = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")

/** Slack's mrkdwn. What is special there begins with `<`, which text cannot contain. */
export const mrkdwn: Dialect = {
  text: slackText,
  strong: (inner) => `*${inner}*`,
  em: (inner) => `_${inner}_`,
  del: (inner) => `~${inner}~`,
  codespan: (raw) => `\`${slackCode(raw.replaceAll("`", "'").replace(/\s*\n\s*/g, " "))}\``,
  link: (inner, url) => `<${slackCode(url)}|${inner.replaceAll("|", "¦").replace(/\n/g, " ")}>`,
  heading: (inner) => `*${inner.replaceAll("*", "")}*`,
  fence: (raw) => `\`\`\`\n${withoutFence(slackCode(raw))}\n\`\`\``,
  bullet: "•",
  rule: "———"
}

/** Text without any markup, for e-mails. */
export const plain: Dialect = {
  text: (raw) => raw,
  strong: (inner) => inner,
  em: (inner) => inner,
  del: (inner) => inner,
  codespan: (raw) => raw,
  link: (inner, url) => (inner === url ? url : `${inner} (${url})`),
  heading: (inner) => inner,
  fence: (raw) => raw.replace(/^/gm, "    "),
  bullet: "-",
  rule: "---"
}
