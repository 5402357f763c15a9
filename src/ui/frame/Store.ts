import { useSyncExternalStore } from "react"

/** A value outside of React, which components can use. */
export const makeStore = <A>(initial: A) => {
  let value = initial
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const get = (): A => value
  return {
    get,
    set: (next: A): void => {
      value = next
      for (const listener of listeners) listener()
    },
    use: (): A => useSyncExternalStore(subscribe, get)
  }
}
