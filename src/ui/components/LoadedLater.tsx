import { type ComponentType, useEffect, useState } from "react"
import { Loading } from "./Loaded.tsx"

/**
 * A component whose code is loaded when it is first shown. Unlike with React's `lazy`, which remembers a failure, an
 * import that failed is repeated when the component is shown again.
 */
export const loadLater = <Props extends object>(
  load: () => Promise<{ readonly default: ComponentType<Props> }>,
  lines?: number
): ComponentType<Props> => {
  let Component: ComponentType<Props> | undefined
  return (props) => {
    const [failed, setFailed] = useState<{ readonly error: unknown }>()
    const [, setLoaded] = useState(Component !== undefined)
    useEffect(() => {
      if (Component) return
      load().then(
        (module) => {
          Component = module.default
          setLoaded(true)
        },
        (error) => setFailed({ error })
      )
    }, [])
    if (failed) throw failed.error
    return Component ? <Component {...props} /> : <Loading {...(lines ? { lines } : {})} />
  }
}
