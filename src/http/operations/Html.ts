/** Safe HTML from template literals: a value is escaped unless it is `Html` itself. */
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

/** Text with `code` between backticks. */
export const prose = (text: string): Html =>
  new Html(
    text
      .split("`")
      .map((part, i) => (i % 2 === 0 ? escape(part) : `<code>${escape(part)}</code>`))
      .join("")
  )
