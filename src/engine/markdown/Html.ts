/**
 * An agent's Markdown as HTML for e-mails. Its own HTML is shown as text, links have safe schemes, and images become links:
 * so nothing is loaded when the e-mail is opened.
 */
import { Marked, type Tokens } from "marked"
import { safeUrl } from "./Markdown.ts"

const entities: { readonly [character: string]: string } = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!)

const linkOf = (inner: string, href: string): string => {
  const url = safeUrl(href)
  return url === undefined ? `${inner} <code>${escape(href)}</code>` : `<a href="${escape(url)}">${inner}</a>`
}

const marked = new Marked({
  ...{ gfm: true, breaks: false, async: false },
  renderer: {
    html: ({ raw }: Tokens.HTML | Tokens.Tag) => escape(raw),
    code: ({ text }: Tokens.Code) => `<pre>${escape(text)}</pre>\n`,
    codespan: ({ text }: Tokens.Codespan) => `<code>${escape(text)}</code>`,
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
    link({ href, tokens }: Tokens.Link) {
      return linkOf(this.parser.parseInline(tokens), href)
    },
    image: ({ href, text }: Tokens.Image) => linkOf(escape(text || "image"), href),
    text(token: Tokens.Text | Tokens.Escape) {
      if (token.type === "escape") return escape(token.text)
      // Within HTML, what follows is marked as if it were escaped.
      return token.tokens ? this.parser.parseInline(token.tokens) : escape(token.escaped ? token.raw : token.text)
    }
  }
})

/** A whole document. */
export const toHtml = (markdown: string): string =>
  `<!doctype html><html><head><meta charset="utf-8"></head><body>${marked.parse(markdown)}</body></html>`
