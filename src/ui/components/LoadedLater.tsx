import { type ComponentType, useEffect, useState } from "react"
import { Loading } from "./Loaded.tsx"

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
