import { getDefaults, Lexer, type Token, Tokenizer, type Tokens } from "marked"
import { Fragment, type ReactNode, useMemo, useState } from "react"
import { Button } from "../Button.tsx"
import { showDirectionMarks } from "../UserText.tsx"

/** How many characters are rendered at a time. An answer may have a million. */
const portion = 60_000

/** Deeper elements are shown as text. */
const maxDepth = 12

/** Longer paragraphs are text without emphasis and links: some expressions take time with the square of the length. */
const longestParagraph = 8_000

/**
 * Characters of a portion that are searched for the ends of emphasis. For each beginning, the lexer looks through the rest of
 * the paragraph: 37 nanoseconds for a character. Beyond that, its signs are text.
 */
const mostSearched = 5_000_000

class BoundedTokenizer extends Tokenizer {
  #left = mostSearched
  #maySearch(src: string, signs: string): boolean {
    if (signs.includes(src[0]!)) this.#left -= src.length
    return this.#left >= 0
  }
  override emStrong(src: string, masked: string, previous?: string) {
    return this.#maySearch(src, "*_") ? super.emStrong(src, masked, previous) : undefined
  }
  override del(src: string, masked: string, previous?: string) {
    return this.#maySearch(src, "~") ? super.del(src, masked, previous) : undefined
  }
}

/** A lexer whose work is bounded, whatever the text. */
class BoundedLexer extends Lexer {
  constructor() {
    super({ ...getDefaults(), gfm: true, breaks: false, tokenizer: new BoundedTokenizer() })
  }
  override inlineTokens(src: string, tokens: Array<Token> = []): Array<Token> {
    if (src.length <= longestParagraph) return super.inlineTokens(src, tokens)
    tokens.push({ type: "text", raw: src, text: src, escaped: false })
    return tokens
  }
}

/** The URL if it is safe in a link. Others, above all `javascript:`, are shown as text. */
const safeUrl = (href: string): string | undefined => {
  try {
    const url = new URL(href)
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

const SafeLink = ({ href, children }: { readonly href: string; readonly children: ReactNode }) => {
  const url = safeUrl(href)
  return url === undefined ? (
    <>
      {children} <code>{showDirectionMarks(href)}</code>
    </>
  ) : (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}

/** The level of the previous heading. */
interface HeadingLevel {
  current: number
}

/** Continues from the page's headings without skipping a level. */
const headingTag = (depth: number, level: HeadingLevel): "h3" | "h4" | "h5" | "h6" => {
  level.current = Math.min(depth + 2, level.current + 1, 6)
  return `h${level.current}` as "h3"
}

const render = (tokens: ReadonlyArray<Token> | undefined, level: HeadingLevel, depth = 0): ReactNode =>
  (tokens ?? []).map((token, i) => (
    <Fragment key={i}>{depth > maxDepth ? showDirectionMarks(token.raw) : element(token, level, depth + 1)}</Fragment>
  ))

/** Markdown as React elements. HTML and images in the answer are shown as text. */
const element = (token: Token, level: HeadingLevel, depth: number): ReactNode => {
  const inner = () => render((token as Tokens.Generic).tokens, level, depth)
  switch (token.type) {
    case "space":
    case "def":
      return null
    case "heading": {
      const Heading = headingTag((token as Tokens.Heading).depth, level)
      return <Heading>{inner()}</Heading>
    }
    case "paragraph":
      return <p>{inner()}</p>
    case "strong":
      return <strong>{inner()}</strong>
    case "em":
      return <em>{inner()}</em>
    case "del":
      return <del>{inner()}</del>
    case "codespan":
      return <code>{showDirectionMarks((token as Tokens.Codespan).text)}</code>
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{showDirectionMarks((token as Tokens.Code).text)}</code>
        </pre>
      )
    case "blockquote":
      return <blockquote>{inner()}</blockquote>
    case "list": {
      const { ordered, start, items } = token as Tokens.List
      const children = items.map((item, i) => (
        <li key={i} {...(item.task ? { className: "task" } : {})}>
          {render(item.tokens, level, depth)}
        </li>
      ))
      return ordered ? <ol start={Number(start) || 1}>{children}</ol> : <ul>{children}</ul>
    }
    case "table": {
      const { header, rows, align } = token as Tokens.Table
      const alignment = (column: number) => (align[column] ? { className: `align-${align[column]}` } : {})
      return (
        <div className="table-scroll" tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                {header.map((cell, i) => (
                  <th key={i} scope="col" {...alignment(i)}>
                    {render(cell.tokens, level, depth)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, i) => (
                <tr key={i}>
                  {row.map((cell, j) => (
                    <td key={j} {...alignment(j)}>
                      {render(cell.tokens, level, depth)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )
    }
    case "checkbox": {
      const { checked } = token as Tokens.Checkbox
      return <input type="checkbox" checked={checked} disabled readOnly aria-label={checked ? "Done" : "To do"} />
    }
    case "hr":
      return <hr />
    case "br":
      return <br />
    case "link":
      return <SafeLink href={(token as Tokens.Link).href}>{inner()}</SafeLink>
    case "image": {
      const { href, text } = token as Tokens.Image
      return <SafeLink href={href}>[image: {showDirectionMarks(text || "no description")}]</SafeLink>
    }
    case "escape":
      return showDirectionMarks((token as Tokens.Escape).text)
    case "text":
      return (token as Tokens.Text).tokens ? inner() : showDirectionMarks(unescaped(token as Tokens.Text))
    default:
      return showDirectionMarks(token.raw)
  }
}

/** Undoes the lexer's HTML escaping, because React escapes text too. */
const unescaped = (token: Tokens.Text): string => (token.escaped ? token.raw : token.text)

/** The end of a paragraph where possible, so that no element is split. */
const portionEnd = (text: string, from: number): number => {
  if (text.length - from <= portion) return text.length
  const gap = text.lastIndexOf("\n\n", from + portion)
  return gap > from + portion / 2 ? gap : from + portion
}

const Portion = ({ text }: { readonly text: string }) => {
  const content = useMemo(() => {
    try {
      return render(new BoundedLexer().lex(text), { current: 2 })
    } catch {
      // The text is nested too deeply for the lexer.
      return <pre>{showDirectionMarks(text)}</pre>
    }
  }, [text])
  return <>{content}</>
}

/** An answer as formatted Markdown, one portion at a time. */
export const Markdown = ({ text }: { readonly text: string }) => {
  const [portions, setPortions] = useState(1)
  const parts: Array<string> = []
  let at = 0
  while (parts.length < portions && at < text.length) {
    const end = portionEnd(text, at)
    parts.push(text.slice(at, end))
    at = end
  }
  return (
    <div className="markdown" dir="auto">
      {parts.map((part, i) => (
        <Portion key={i} text={part} />
      ))}
      {at < text.length && (
        <Button onPress={() => setPortions(portions + 1)}>
          Show more ({Math.round((text.length - at) / 1000)} thousand characters)
        </Button>
      )}
    </div>
  )
}

export default Markdown
