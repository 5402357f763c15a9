/** Writing HTML by hand, safely: what is put between the literal parts is escaped unless it is HTML itself. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = string | Html | ReadonlyArray<Html>

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character]!)

const write = (part: Part): string =>
  typeof part === "string" ? escape(part) : part instanceof Html ? part.text : part.map(write).join("")

export const html = (literals: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Html =>
  new Html(literals.map((literal, i) => (i < parts.length ? literal + write(parts[i]!) : literal)).join(""))

/** Text in which `code` stands between backticks. */
export const prose = (text: string): Html =>
  new Html(
    text
      .split("`")
      .map((part, i) => (i % 2 === 0 ? escape(part) : `<code>${escape(part)}</code>`))
      .join("")
  )
