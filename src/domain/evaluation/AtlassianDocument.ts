/**
 * Rich text of Jira and Confluence as Markdown. Format: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/
 */
import { Predicate } from "effect"
import { type FilterImplOptions, toValue } from "liquidjs"
import { type Budget, itemWork } from "./Budget.ts"
import { budgetOf, stepWork } from "./LiquidContext.ts"
import * as Text from "./Text.ts"

type Node = { readonly [member: string]: unknown }

/** More than any document has. What is deeper is left out. */
const maxDepth = 32

const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "")

const attributesOf = ({ attrs }: Node): Node => (Predicate.isReadonlyObject(attrs) ? attrs : {})

const dateOf = (timestamp: unknown): string => {
  const date = new Date(Number(text(timestamp).slice(0, 20)))
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 10)
}

const attachment = (node: Node): string => {
  const { alt, id, url } = attributesOf(node)
  return `[attachment: ${text(alt) || text(url) || text(id)}]`
}

class Markdown {
  readonly #budget: Budget
  constructor(budget: Budget) {
    this.#budget = budget
  }

  blocks(parent: Node, depth: number): string {
    const blocks = this.#children(parent, depth).filter((block) => block !== "")
    return this.#join(blocks, "\n\n")
  }

  #nodesIn(value: unknown): ReadonlyArray<Node> {
    if (!Array.isArray(value)) return []
    this.#budget.spend(itemWork * value.length)
    return value.filter(Predicate.isReadonlyObject)
  }

  #children({ content }: Node, depth: number): ReadonlyArray<string> {
    return depth > maxDepth ? [] : this.#nodesIn(content).map((node) => this.#node(node, depth + 1))
  }

  #join(parts: ReadonlyArray<string>, by: string): string {
    this.#budget.spend(stepWork * (1 + parts.length))
    return Text.join(this.#budget, parts, by)
  }

  #linked(shown: string, { marks }: Node): string {
    const link = this.#nodesIn(marks).find(({ type }) => type === "link")
    const href = link === undefined ? "" : text(attributesOf(link).href)
    return href === "" || href === shown ? shown : `[${shown}](${href})`
  }

  #inline(node: Node, depth: number): string {
    return this.#join(this.#children(node, depth), "")
  }

  /** Each line after the first begins with `rest`. */
  #indented(block: string, first: string, rest: string): string {
    return first + this.#join(Text.split(this.#budget, block, "\n"), `\n${rest}`)
  }

  #list(parent: Node, depth: number, mark: (item: Node, index: number) => string): string {
    const items = depth > maxDepth ? [] : this.#nodesIn(parent.content)
    return this.#join(
      items.map((item, index) => {
        const first = mark(item, index)
        const isText = this.#nodesIn(item.content).some(({ type }) => type === "text")
        const blocks = isText ? this.#inline(item, depth + 1) : this.#join(this.#children(item, depth + 1), "\n")
        return this.#indented(blocks, first, " ".repeat(first.length))
      }),
      "\n"
    )
  }

  #row(row: Node, depth: number): string {
    const cells = this.#children(row, depth).map((cell) => this.#join(Text.split(this.#budget, cell, "\n"), " "))
    return `| ${this.#join(cells, " | ")} |`
  }

  #node(node: Node, depth: number): string {
    const attributes = attributesOf(node)
    switch (node.type) {
      case "text":
        return this.#linked(text(node.text), node)
      case "hardBreak":
        return "\n"
      case "paragraph":
        return this.#inline(node, depth)
      case "heading":
        return `${"#".repeat(Math.min(Math.max(Number(attributes.level) || 1, 1), 6))} ${this.#inline(node, depth)}`
      case "bulletList":
      case "decisionList":
        return this.#list(node, depth, () => "- ")
      case "orderedList":
        return this.#list(node, depth, (_, index) => `${(Number(attributes.order) || 1) + index}. `)
      case "taskList":
        return this.#list(node, depth, (item) => (attributesOf(item).state === "DONE" ? "- [x] " : "- [ ] "))
      case "codeBlock":
        return `\`\`\`${text(attributes.language)}\n${this.#inline(node, depth)}\n\`\`\``
      case "blockquote":
        return this.#indented(this.blocks(node, depth), "> ", "> ")
      case "rule":
        return "---"
      case "table":
        return this.#join(this.#children(node, depth), "\n")
      case "tableRow":
        return this.#row(node, depth)
      case "media":
      case "mediaInline":
        return attachment(node)
      case "mention":
      case "status":
        return text(attributes.text)
      case "emoji":
        return text(attributes.text) || text(attributes.shortName)
      case "date":
        return dateOf(attributes.timestamp)
      case "inlineCard":
      case "blockCard":
      case "embedCard":
        return text(attributes.url)
      default: {
        const title = text(attributes.title)
        return this.#join(
          [title, this.blocks(node, depth)].filter((part) => part !== ""),
          "\n\n"
        )
      }
    }
  }
}

/** Any other value stays as it is: Jira's older format is a text. */
export const adf_to_text: Extract<FilterImplOptions, (...args: never) => unknown> = function (given) {
  const value = toValue(given)
  return Predicate.isReadonlyObject(value) && value.type === "doc"
    ? new Markdown(budgetOf(this.context)).blocks(value, 0)
    : given
}
