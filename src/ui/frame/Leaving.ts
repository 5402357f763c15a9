import { useEffect, useSyncExternalStore } from "react"

type Go = () => void

/** What would be lost by leaving, and where somebody wants to go; one page at a time may ask. */
let guarded = false
let going: Go | undefined
const listeners = new Set<() => void>()
const notify = () => {
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Asked before every navigation within the page: goes at once, or when it is confirmed. */
export const leave = (go: Go): void => {
  if (guarded) {
    going = go
    notify()
  } else go()
}

/** What was guarded is saved: whoever goes now goes at once. */
export const letGo = (): void => {
  guarded = false
}

/**
 * While `active`, leaving the page must be confirmed: links, the back button, reload, and closing the window (where the
 * browser asks in its own words). Gives the navigation that waits for an answer.
 */
export const useLeaving = (active: boolean): { readonly confirm: Go; readonly stay: Go } | undefined => {
  const waiting = useSyncExternalStore(subscribe, () => going)
  useEffect(() => {
    if (!active) return
    guarded = true
    // One more entry of the same address: the back button ends on it, and the page stays.
    history.pushState(history.state, "", location.href)
    const onPop = () => {
      history.pushState(history.state, "", location.href)
      leave(() => history.go(-2))
    }
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener("popstate", onPop)
    window.addEventListener("beforeunload", onUnload)
    return () => {
      guarded = false
      going = undefined
      window.removeEventListener("popstate", onPop)
      window.removeEventListener("beforeunload", onUnload)
    }
  }, [active])
  if (!active || !waiting) return undefined
  return {
    confirm: () => {
      guarded = false
      going = undefined
      waiting()
      notify()
    },
    stay: () => {
      going = undefined
      notify()
    }
  }
}
