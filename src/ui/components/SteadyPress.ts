import type { PointerEvent as ReactPointerEvent } from "react"

/** How far a hand moves the mouse while it clicks, in pixels. */
const tremor = 4

/**
 * Called when a button is pressed: clicks it if the mouse is released where it was pressed, but the button has moved away
 * meanwhile, as something has appeared or vanished above it. The browser sends it no click then, as if the user had moved
 * the mouse off the button to cancel. (A touch is different: the browser clicks what is under the finger when it ends.)
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
  // On the window: React Aria listens on the document, and has ended its own press by then.
  for (const type of ["pointerup", "pointercancel"] as const) {
    window.addEventListener(type, end, { signal: ended.signal })
  }
}
