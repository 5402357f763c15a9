import type { ReactNode } from "react"

/** Text in which backticks mark code. */
export const withCode = (text: string): ReactNode => {
  const parts = text.split("`")
  // A backtick without a partner is an ordinary character.
  if (parts.length % 2 === 0) return text
  return parts.map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))
}
