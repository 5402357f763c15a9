import { lexer, type Token, type Tokens } from "marked"
import { Fragment, type ReactNode, useMemo, useState } from "react"
import { Button } from "./Button.tsx"
import { plain } from "./Text.tsx"

/** How much is read and drawn at once, in characters: an answer may have a million of them. */
const portion = 60_000

/** Deeper than anybody writes; what lies below is shown as text. */
const maxDepth = 12

/** The addresses a link may have; everything else, `javascript:` above all, is shown as text. */
const harmless = (href: string): string | undefined => {
  try {
    const url = new URL(href)
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

const LinkTo = ({ href, children }: { readonly href: string; readonly children: ReactNode }) => {
  const url = harmless(href)
  return url === undefined ? (
    <>
      {children} <code>{plain(href)}</code>
    </>
  ) : (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}

/** Headings go on from the page's own, and none is skipped. */
const heading = (depth: number, before: { level: number }): "h3" | "h4" | "h5" | "h6" => {
  before.level = Math.min(depth + 2, before.level + 1, 6)
  return `h${before.level}` as "h3"
}

const render = (tokens: ReadonlyArray<Token> | undefined, level: { level: number }, depth = 0): ReactNode =>
  (tokens ?? []).map((token, i) => (
    <Fragment key={i}>{depth > maxDepth ? plain(token.raw) : element(token, level, depth + 1)}</Fragment>
  ))

/** Markdown as elements, never as HTML: what the answer has of HTML and images is shown as the text it is. */
const element = (token: Token, level: { level: number }, depth: number): ReactNode => {
  const inner = () => render((token as Tokens.Generic).tokens, level, depth)
  switch (token.type) {
    case "space":
    case "def":
      return null
    case "heading": {
      const Heading = heading((token as Tokens.Heading).depth, level)
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
      return <code>{plain((token as Tokens.Codespan).text)}</code>
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{plain((token as Tokens.Code).text)}</code>
        </pre>
      )
    case "blockquote":
      return <blockquote>{inner()}</blockquote>
    case "list": {
      const { ordered, start, items } = token as Tokens.List
      const children = items.map((item, i) => (
        <li key={i}>
          {item.task && (item.checked ? "☑ " : "☐ ")}
          {render(item.tokens, level, depth)}
        </li>
      ))
      return ordered ? <ol start={Number(start) || 1}>{children}</ol> : <ul>{children}</ul>
    }
    case "table": {
      const { header, rows } = token as Tokens.Table
      return (
        <div className="table-scroll" tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                {header.map((cell, i) => (
                  <th key={i} scope="col">
                    {render(cell.tokens, level, depth)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, i) => (
                <tr key={i}>
                  {row.map((cell, j) => (
                    <td key={j}>{render(cell.tokens, level, depth)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )
    }
    case "hr":
      return <hr />
    case "br":
      return <br />
    case "link":
      return <LinkTo href={(token as Tokens.Link).href}>{inner()}</LinkTo>
    case "image": {
      const { href, text } = token as Tokens.Image
      return <LinkTo href={href}>[image: {plain(text || "no description")}]</LinkTo>
    }
    case "escape":
      return plain((token as Tokens.Escape).text)
    case "text":
      return (token as Tokens.Text).tokens ? inner() : plain(unescaped(token as Tokens.Text))
    default:
      return plain(token.raw)
  }
}

/** The lexer escapes plain text for HTML, which React does as well: once is enough. */
const unescaped = (token: Tokens.Text): string => (token.escaped ? token.raw : token.text)

/** Ends where a paragraph does, so that nothing is torn apart. */
const portionEnd = (text: string, from: number): number => {
  if (text.length - from <= portion) return text.length
  const gap = text.lastIndexOf("\n\n", from + portion)
  return gap > from + portion / 2 ? gap : from + portion
}

const Portion = ({ text }: { readonly text: string }) => {
  const content = useMemo(() => {
    try {
      return render(lexer(text, { gfm: true, breaks: false }), { level: 2 })
    } catch {
      // Nested beyond what the lexer can read.
      return <pre>{plain(text)}</pre>
    }
  }, [text])
  return <>{content}</>
}

/** An answer as Markdown, a portion at a time. */
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
