import { useRef, useState } from "react"
import { ApiError } from "../../api/Errors.ts"
import { runAction } from "../../api/Queries.ts"

/** An `Idempotency-Key` for one action of the user. (`randomUUID` exists in secure contexts only.) */
export const newActionKey = (): string =>
  [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-")

/** Make a request, however often it is sent, one action. */
export interface ActionHeaders {
  readonly "idempotency-key": string
}

/**
 * A request that starts something once for each action of the user, whatever makes the browser repeat it, and whatever the
 * number of clicks before the page has shown the first one.
 */
export const useKeyedAction = () => {
  const key = useRef(newActionKey())
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  /** What the user does next is another action. */
  const renewKey = () => {
    key.current = newActionKey()
  }
  /** Gives the response, or `undefined` when there is an `error` now. */
  const perform = async <A>(request: (headers: ActionHeaders) => Promise<A>) => {
    setPending(true)
    setError(undefined)
    try {
      const response = await runAction(() => request({ "idempotency-key": key.current }))
      renewKey()
      return response
    } catch (cause) {
      setError(cause)
      // Refused: nothing was started. Else it may have been, and is not to be started twice.
      if (cause instanceof ApiError && cause.status < 500) renewKey()
      return undefined
    } finally {
      setPending(false)
    }
  }
  return { error, pending, perform, renewKey }
}
