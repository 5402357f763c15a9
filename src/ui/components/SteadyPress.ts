import type { PointerEvent as ReactPointerEvent } from "react"

/** How far the mouse may move during a click, in pixels. */
const tremor = 4

/**
 * Completes a click if the button moves away between press and release, because something appeared or vanished above it.
 * The browser would cancel the click. (A touch is different: the browser clicks the element under the finger at its end.)
 */
export const completePress = (down: ReactPointerEvent<HTMLElement>): void => {
  if (down.button !== 0 || down.pointerType !== "mouse") return
  const button = down.currentTarget
  const { clientX, clientY } = down
  const ended = new AbortController()
  const end = (event: PointerEvent) => {
    ended.abort()
    const { clientX: x, clientY: y } = event
    if (event.type === "pointercancel" || Math.hypot(x - clientX, y - clientY) > tremor) return
    const { bottom, left, right, top } = button.getBoundingClientRect()
    const isUnderMouse = left <= x && x <= right && top <= y && y <= bottom
    if (!isUnderMouse) button.click()
  }
  // On the window, because React Aria handles the event on the document first.
  for (const type of ["pointerup", "pointercancel"] as const) {
    window.addEventListener(type, end, { signal: ended.signal })
  }
}
