import { useEffect, useSyncExternalStore } from "react"

type Navigate = () => void

/** Whether the page has unsaved changes, and the navigation that waits for confirmation. */
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

/** Every navigation within the UI calls this. It navigates immediately or after confirmation. */
export const guardNavigation = (navigate: Navigate): void => {
  if (guarded) {
    blocked = navigate
    notify()
  } else navigate()
}

/** Whether the browser's history is at the extra entry of a guarded page. */
const atExtraEntry = (): boolean => history.state?.guarded === true

/** Removes the guard after saving. Resolves when the extra history entry is gone, so that the next page can replace it. */
export const releaseNavigation = async (): Promise<void> => {
  guarded = false
  if (!atExtraEntry()) return
  await new Promise((resolve) => {
    window.addEventListener("popstate", resolve, { once: true })
    history.back()
  })
}

/**
 * While `active`, leaving the page needs confirmation: links, the back button, reload, and closing the window (where the
 * browser asks). Returns the navigation that waits for confirmation. Only one page at a time may use it.
 */
export const useNavigationGuard = (
  active: boolean
): { readonly confirm: () => void; readonly cancel: () => void } | undefined => {
  const waiting = useSyncExternalStore(subscribe, () => blocked)
  useEffect(() => {
    if (!active) return
    guarded = true
    // An extra entry with the same address, so that the back button stays on the page.
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
