import { useEffect, useRef } from "react"

/** Elements that handle keys themselves. */
const takesKeys = "input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=listbox]"

/** Keyboard shortcuts without modifiers. */
export const useShortcuts = (keys: Readonly<Record<string, () => void>>, enabled = true): void => {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    if (!enabled) return
    const press = (event: KeyboardEvent) => {
      const call = current.current[event.key]
      if (call === undefined || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.target instanceof Element && event.target.closest(takesKeys)) return
      // A dialog may not yet have the focus.
      if (document.querySelector("[role=dialog], [role=alertdialog]")) return
      event.preventDefault()
      call()
    }
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [enabled])
}
