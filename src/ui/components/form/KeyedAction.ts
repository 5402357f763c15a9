import { useRef, useState } from "react"
import { ApiError } from "../../api/Errors.ts"
import { runAction } from "../../api/Queries.ts"

/** An `Idempotency-Key` for one user action. (`randomUUID` exists only in secure contexts.) */
export const newActionKey = (): string =>
  [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-")

/** Make repeated requests one action. */
export interface ActionHeaders {
  readonly "idempotency-key": string
}

/** A request that takes effect once per user action, even after several clicks or a repetition by the browser. */
export const useKeyedAction = () => {
  const key = useRef(newActionKey())
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  /** What the user does next is another action. */
  const renewKey = () => {
    key.current = newActionKey()
  }
  /** Returns the response, or `undefined` after an `error`. */
  const perform = async <A>(request: (headers: ActionHeaders) => Promise<A>) => {
    setPending(true)
    setError(undefined)
    try {
      const response = await runAction(() => request({ "idempotency-key": key.current }))
      renewKey()
      return response
    } catch (cause) {
      setError(cause)
      // A rejected request had no effect. Otherwise it may have had one, and must not be performed twice.
      if (cause instanceof ApiError && cause.status < 500) renewKey()
      return undefined
    } finally {
      setPending(false)
    }
  }
  return { error, pending, perform, renewKey }
}
