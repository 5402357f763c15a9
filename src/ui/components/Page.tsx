import { type ReactNode, useEffect, useRef } from "react"
import { Link } from "wouter"
import { useQuestions } from "../api/Queries.ts"
import { UserText } from "./UserText.tsx"

/** A page. When it opens, its heading takes the focus for screen readers and keyboard users. */
export const Page = ({
  title,
  heading,
  back,
  actions,
  children
}: {
  /** Plain text, for the window's title, which begins with how many runs wait for a person. */
  readonly title: string
  readonly heading?: ReactNode
  readonly back?: { readonly to: string; readonly text: string }
  readonly actions?: ReactNode
  readonly children: ReactNode
}) => {
  const ref = useRef<HTMLHeadingElement>(null)
  const waiting = useQuestions().length
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · Webhook Trigger`
  }, [title, waiting])
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement === null) {
      ref.current?.focus({ preventScroll: true })
    }
  }, [])
  return (
    <>
      <div className="page-head">
        <div className="grow">
          {back && (
            <Link className="breadcrumb" to={back.to}>
              ← <UserText>{back.text}</UserText>
            </Link>
          )}
          <h1 ref={ref} tabIndex={-1}>
            {heading ?? title}
          </h1>
        </div>
        {actions && <div className="row">{actions}</div>}
      </div>
      <div className="stack">{children}</div>
    </>
  )
}
