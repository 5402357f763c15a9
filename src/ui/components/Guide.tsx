import { Fragment, type ReactNode } from "react"
import { useServer } from "../api/Queries.ts"
import { mount } from "../frame/UiPath.ts"
import { withCode } from "./WithCode.tsx"

/** Whether the server has the guides, outside the UI. */
const useGuides = (): boolean => useServer().data?.api_docs === true

/** A link to a guide; nothing, if the server does not have it. */
export const Guide = ({
  page,
  children
}: {
  /** Its path in `docs`. */
  readonly page: string
  readonly children: ReactNode
}) => (useGuides() ? <a href={`${mount}/docs/${page}`}>{children}</a> : null)

/** Text in which backticks mark code, and paths such as `docs/use/destinations.md` lead there. */
export const TextWithGuides = ({ text }: { readonly text: string }) => {
  const isServed = useGuides()
  if (!isServed) return withCode(text)
  return text.split(/docs\/([\w/-]+\.md)/).map((part, index) =>
    index % 2 === 0 ? (
      <Fragment key={index}>{withCode(part)}</Fragment>
    ) : (
      <Guide key={index} page={part}>
        docs/{part}
      </Guide>
    )
  )
}
