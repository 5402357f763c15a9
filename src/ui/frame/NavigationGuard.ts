import { useEffect, useSyncExternalStore } from "react"

type Navigate = () => void

/** Whether leaving the page would lose something, and the navigation that waits for confirmation. */
let guarded = false
let blocked: Navigate | undefined
const listeners = new Set<() => void>()
const notify = () => {
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Called for every navigation within the UI: navigates immediately, or once it is confirmed. */
export const guardNavigation = (navigate: Navigate): void => {
  if (guarded) {
    blocked = navigate
    notify()
  } else navigate()
}

/** Whether the browser's history is at the extra entry of a guarded page. */
const atExtraEntry = (): boolean => history.state?.guarded === true

/**
 * Ends the guard, because what it protected has been saved: the next navigation needs no confirmation. It resolves at
 * the page's own entry in the browser's history, so that a navigation which replaces it leaves nothing to go back to.
 */
export const releaseNavigation = async (): Promise<void> => {
  guarded = false
  if (!atExtraEntry()) return
  await new Promise((resolve) => {
    window.addEventListener("popstate", resolve, { once: true })
    history.back()
  })
}

/**
 * While `active`, leaving the page must be confirmed: links, the back button, reload, and closing the window (where the
 * browser asks in its own words). Returns the navigation that waits for confirmation. One page at a time may use it.
 */
export const useNavigationGuard = (
  active: boolean
): { readonly confirm: () => void; readonly cancel: () => void } | undefined => {
  const waiting = useSyncExternalStore(subscribe, () => blocked)
  useEffect(() => {
    if (!active) return
    guarded = true
    // One more entry with the same address: the back button ends on it, and the page stays.
    const addEntry = () => history.pushState({ guarded: true }, "", location.href)
    if (!atExtraEntry()) addEntry()
    const onPop = () => {
      if (!guarded) return
      addEntry()
      guardNavigation(() => history.go(-2))
    }
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener("popstate", onPop)
    window.addEventListener("beforeunload", onUnload)
    return () => {
      guarded = false
      blocked = undefined
      window.removeEventListener("popstate", onPop)
      window.removeEventListener("beforeunload", onUnload)
    }
  }, [active])
  if (!active || !waiting) return undefined
  return {
    confirm: () => {
      guarded = false
      blocked = undefined
      waiting()
      notify()
    },
    cancel: () => {
      blocked = undefined
      notify()
    }
  }
}
