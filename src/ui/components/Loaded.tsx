import { type ComponentType, createContext, type ReactNode, useContext, useEffect, useState } from "react"
import { ApiError } from "../api/Errors.ts"
import { ErrorNotice, Notice } from "./Notice.tsx"

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

/** Prevents a second notice inside a deleted object. */
const Gone = createContext(false)

/** Whether the data was deleted after it was loaded. */
export const isGone = ({ data, error }: Pick<Query<unknown>, "data" | "error">): boolean =>
  data !== undefined && error instanceof ApiError && error.status === 404

/**
 * Shows a query's data, a placeholder or the error. Data that was loaded remains after an error. Deleted data is marked
 * and inert, unless `keep` is set, as for a form with unsaved text.
 */
export const Loaded = <A,>({
  query,
  lines,
  keep = false,
  children
}: {
  readonly query: Query<A>
  readonly lines?: number
  readonly keep?: boolean
  readonly children: (data: A) => ReactNode
}) => {
  const inGone = useContext(Gone)
  if (query.data !== undefined && isGone(query) && !inGone) {
    return (
      <Gone.Provider value={true}>
        <Notice tone="danger">This has been deleted. You see its last state.</Notice>
        <div className="stack" inert={!keep}>
          {children(query.data)}
        </div>
      </Gone.Provider>
    )
  }
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
  return <Loading {...(lines ? { lines } : {})} />
}

/**
 * A component whose code is loaded when it is first shown. After a failure, the next attempt reloads the document,
 * because Chromium caches failed imports.
 */
export const loadLater = <Props extends object>(
  load: () => Promise<{ readonly default: ComponentType<Props> }>,
  lines?: number
): ComponentType<Props> => {
  let Component: ComponentType<Props> | undefined
  let hasFailed = false
  return (props) => {
    const [failed, setFailed] = useState<{ readonly error: unknown }>()
    const [, setLoaded] = useState(Component !== undefined)
    useEffect(() => {
      if (Component) return
      if (hasFailed) {
        location.reload()
        return
      }
      load().then(
        (module) => {
          Component = module.default
          setLoaded(true)
        },
        (error) => {
          hasFailed = true
          setFailed({ error })
        }
      )
    }, [])
    if (failed) throw failed.error
    return Component ? <Component {...props} /> : <Loading {...(lines ? { lines } : {})} />
  }
}
