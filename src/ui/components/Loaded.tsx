import type { ReactNode } from "react"
import { ErrorNotice } from "./Notice.tsx"

export const Loading = ({ lines = 4 }: { readonly lines?: number }) => (
  <div className="stack" role="status">
    <span className="sr-only">Loading</span>
    {Array.from({ length: lines }, (_, i) => (
      <div key={i} className={i % 3 === 0 ? "skeleton tall" : "skeleton"} />
    ))}
  </div>
)

interface Query<A> {
  readonly data: A | undefined
  readonly error: unknown
  readonly refetch: () => unknown
}

/** Shows a query's data; before it arrives a placeholder, or the error. Data that was loaded before outlives an error. */
export const Loaded = <A,>({
  query,
  lines,
  children
}: {
  readonly query: Query<A>
  readonly lines?: number
  readonly children: (data: A) => ReactNode
}) => {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
  return <Loading {...(lines ? { lines } : {})} />
}
