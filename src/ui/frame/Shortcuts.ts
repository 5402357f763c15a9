import { useEffect, useRef } from "react"

/** Elements that handle keys themselves. */
const takesKeys = "input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=listbox]"

const isMac = /Mac|iP/.test(navigator.platform)

/** A key with the modifier of shortcuts, as it is shown: `⌘K` or `Ctrl K`. */
export const withModifier = (key: string): string => (isMac ? `⌘${key}` : `Ctrl ${key}`)

/** The name of the pressed key: `k`, or `mod+k` with Command on a Mac, Control elsewhere. */
const nameOf = ({ altKey, ctrlKey, key, metaKey, shiftKey }: KeyboardEvent): string | undefined => {
  const [modifier, other] = isMac ? [metaKey, ctrlKey] : [ctrlKey, metaKey]
  if (altKey || other || (modifier && shiftKey)) return undefined
  return modifier ? `mod+${key.toLowerCase()}` : key
}

/** Keyboard shortcuts. Those with a modifier (`mod+k`) also work while a field has the focus. */
export const useShortcuts = (keys: Readonly<Record<string, () => void>>, enabled = true): void => {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    if (!enabled) return
    const press = (event: KeyboardEvent) => {
      const name = nameOf(event)
      const call = name === undefined ? undefined : current.current[name]
      if (call === undefined || event.defaultPrevented) return
      const isInField = event.target instanceof Element && event.target.closest(takesKeys) !== null
      if (isInField && !name?.startsWith("mod+")) return
      // A dialog may not yet have the focus.
      if (document.querySelector("[role=dialog], [role=alertdialog]")) return
      event.preventDefault()
      call()
    }
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [enabled])
}
