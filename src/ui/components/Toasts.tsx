import { makeStore } from "../frame/Store.ts"
import { Icon } from "./Icon.tsx"

interface Toast {
  readonly id: number
  readonly text: string
  readonly failed: boolean
}

const toasts = makeStore<ReadonlyArray<Toast>>([])
let next = 0

const show = (text: string, failed: boolean) => {
  const id = next++
  toasts.set([...toasts.get().slice(-2), { id, text, failed }])
  setTimeout(() => toasts.set(toasts.get().filter((toast) => toast.id !== id)), 5_000)
}

/** Shows a message for a few seconds. Screen readers announce it. */
export const toast = (text: string): void => show(text, false)

/** Shows an error for a few seconds. */
export const toastFailure = (text: string): void => show(text, true)

export const Toasts = () => (
  <div className="toasts" role="status" aria-live="polite">
    {toasts.use().map(({ id, text, failed }) => (
      <div key={id} className="toast">
        <Icon name={failed ? "warning" : "check"} />
        {text}
      </div>
    ))}
  </div>
)
