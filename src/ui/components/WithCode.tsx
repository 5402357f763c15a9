import type { ReactNode } from "react"

/** A text of the server or the domain, with what stands between backticks as code. */
export const withCode = (text: string): ReactNode => {
  const parts = text.split("`")
  // One that is not closed is only a character.
  if (parts.length % 2 === 0) return text
  return parts.map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))
}
