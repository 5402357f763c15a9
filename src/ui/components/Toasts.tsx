import { useSyncExternalStore } from "react"
import { Icon } from "./Icon.tsx"

interface Toast {
  readonly id: number
  readonly text: string
  readonly failed: boolean
}

let toasts: ReadonlyArray<Toast> = []
let next = 0
const listeners = new Set<() => void>()

const set = (value: ReadonlyArray<Toast>) => {
  toasts = value
  for (const listener of listeners) listener()
}

const show = (text: string, failed: boolean) => {
  const id = next++
  set([...toasts.slice(-2), { id, text, failed }])
  setTimeout(() => set(toasts.filter((toast) => toast.id !== id)), 5_000)
}

/** Shows a message for a few seconds. Screen readers announce it. */
export const toast = (text: string): void => show(text, false)

/** Shows an error for a few seconds. */
export const toastFailure = (text: string): void => show(text, true)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const Toasts = () => (
  <div className="toasts" role="status" aria-live="polite">
    {useSyncExternalStore(subscribe, () => toasts).map(({ id, text, failed }) => (
      <div key={id} className="toast">
        <Icon name={failed ? "warning" : "check"} />
        {text}
      </div>
    ))}
  </div>
)
