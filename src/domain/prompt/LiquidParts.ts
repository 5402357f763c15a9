/** How a template in Liquid becomes the parts of a prompt. */

import {
  type Context,
  type Emitter,
  type Liquid,
  type Parser,
  Tag,
  type TagToken,
  type Template,
  type TopLevelToken,
  TypeGuards
} from "liquidjs"
import * as Json from "../Json.ts"
import { type FilledPart, isDataValue } from "./FilledPart.ts"

/** An output in the prompt, or in a capture. */
export class Inserted {
  readonly text: string
  readonly isData: boolean
  constructor(value: unknown) {
    this.text = typeof value === "string" ? value : value === null || value === undefined ? "" : Json.stringify(value)
    this.isData = isDataValue(value)
  }
  toString(): string {
    return this.text
  }
}

/** The text is too long: nothing more is added. */
export class TooLong extends Error {}

/** The prompt. The library has an emitter of its own for captures. */
export class FilledParts implements Emitter {
  readonly parts: Array<FilledPart> = []
  readonly #limit: number
  #length = 0
  #values = 0
  constructor(limit: number) {
    this.#limit = limit
  }
  /** The library reads this after each part of a template, but uses it only for a capture's emitter. */
  get buffer(): string {
    return ""
  }
  write(part: unknown): void {
    const text = String(part)
    this.#length += text.length
    if (this.#length > this.#limit) throw new TooLong()
    if (part instanceof Inserted) this.parts.push({ name: String(++this.#values), text, isData: part.isData })
    else if (typeof this.parts.at(-1) === "string") this.parts[this.parts.length - 1] += text
    else this.parts.push(text)
  }
  mark(block: "open" | "close"): void {
    this.parts.push({ block })
  }
}

/** `{% data %}` … `{% enddata %}`: a block that is marked as data as a whole. In a capture, only the text counts. */
export class DataTag extends Tag {
  readonly templates: Array<Template> = []
  constructor(token: TagToken, remaining: Array<TopLevelToken>, liquid: Liquid, parser: Parser) {
    super(token, remaining, liquid)
    while (remaining.length > 0) {
      const next = remaining.shift()!
      if (TypeGuards.isTagToken(next) && next.name === "enddata") return
      this.templates.push(parser.parseToken(next, remaining))
    }
    throw new Error(`tag ${token.getText()} not closed`)
  }
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const parts = emitter instanceof FilledParts ? emitter : undefined
    parts?.mark("open")
    yield this.liquid.renderer.renderTemplates(this.templates, context, emitter)
    parts?.mark("close")
  }
  *children(): Generator<unknown, Array<Template>> {
    return this.templates
  }
}
