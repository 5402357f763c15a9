import { type ReactNode, useEffect, useRef } from "react"
import { Link } from "wouter"
import { Failure } from "./Note.tsx"

/**
 * A page: its heading takes the focus when the page is entered, so that screen readers say where they are and the
 * keyboard goes on from there.
 */
export const Page = ({
  title,
  heading,
  back,
  actions,
  children
}: {
  /** Plain text, for the window. */
  readonly title: string
  readonly heading?: ReactNode
  readonly back?: { readonly to: string; readonly text: string }
  readonly actions?: ReactNode
  readonly children: ReactNode
}) => {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Webhook Trigger`
  }, [title])
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
            <Link className="crumb" to={back.to}>
              ← {back.text}
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

export const Loading = ({ lines = 4 }: { readonly lines?: number }) => (
  <div className="stack" role="status">
    <span className="sr">Loading</span>
    {Array.from({ length: lines }, (_, i) => (
      <div key={i} className={i % 3 === 0 ? "skeleton tall" : "skeleton"} />
    ))}
  </div>
)

interface Asked<A> {
  readonly data: A | undefined
  readonly error: unknown
  readonly refetch: () => unknown
}

/** What a query brought; while it is on its way a placeholder, and when it failed why. Old data outlives a failure. */
export const Loaded = <A,>({
  from,
  lines,
  children
}: {
  readonly from: Asked<A>
  readonly lines?: number
  readonly children: (data: A) => ReactNode
}) => {
  if (from.data !== undefined) return <>{children(from.data)}</>
  if (from.error) return <Failure error={from.error} onRetry={() => void from.refetch()} />
  return <Loading {...(lines ? { lines } : {})} />
}
