import { useEffect } from "react"
import { makeStore } from "./Store.ts"

type Navigate = () => void

/** Whether the page has unsaved changes, and the navigation that waits for confirmation. */
let guarded = false
const blocked = makeStore<Navigate | undefined>(undefined)

/** Every navigation within the UI calls this. It navigates immediately or after confirmation. */
export const guardNavigation = (navigate: Navigate): void => {
  if (guarded) blocked.set(navigate)
  else navigate()
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
  const waiting = blocked.use()
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
      blocked.set(undefined)
      window.removeEventListener("popstate", onPop)
      window.removeEventListener("beforeunload", onUnload)
    }
  }, [active])
  if (!active || !waiting) return undefined
  return {
    confirm: () => {
      guarded = false
      blocked.set(undefined)
      waiting()
    },
    cancel: () => blocked.set(undefined)
  }
}
