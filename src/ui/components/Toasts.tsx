import { useSyncExternalStore } from "react"
import { Icon } from "./Icon.tsx"

interface Toast {
  readonly id: number
  readonly text: string
}

let toasts: ReadonlyArray<Toast> = []
let next = 0
const listeners = new Set<() => void>()

const set = (value: ReadonlyArray<Toast>) => {
  toasts = value
  for (const listener of listeners) listener()
}

/** Shows a message for a few seconds; screen readers announce it. */
export const toast = (text: string): void => {
  const id = next++
  set([...toasts.slice(-2), { id, text }])
  setTimeout(() => set(toasts.filter((toast) => toast.id !== id)), 5_000)
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const Toasts = () => (
  <div className="toasts" role="status" aria-live="polite">
    {useSyncExternalStore(subscribe, () => toasts).map(({ id, text }) => (
      <div key={id} className="toast">
        <Icon name="check" />
        {text}
      </div>
    ))}
  </div>
)
