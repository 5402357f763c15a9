import { type FormEvent, type KeyboardEvent, useRef, useState } from "react"
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
  /** The user's next step is another action. */
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

/** The state of a message form. Another text, and each edit, makes it a new message. */
export const useMessageForm = <A>(
  initial: string,
  request: (text: string, headers: ActionHeaders) => Promise<A>,
  onSent: (response: A, text: string) => void
) => {
  const [text, setText] = useState(initial)
  const { error, pending, perform, renewKey } = useKeyedAction()
  const sent = useRef<string>(undefined)
  const edit = (text: string) => {
    setText(text)
    renewKey()
  }
  const isEmpty = text.trim() === ""
  const send = async (text: string) => {
    if (pending) return
    if (sent.current !== text) renewKey()
    sent.current = text
    const response = await perform((headers) => request(text, headers))
    if (response !== undefined) onSent(response, text)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isEmpty) void send(text)
  }
  /** Clears the sent text, but not text typed in the meantime. */
  const clear = (sent: string) => setText((now) => (now === sent ? "" : now))
  return { clear, edit, error, isEmpty, pending, renew: renewKey, send, submit, text }
}

/** For forms with multi-line fields, where Enter starts a new line. On a Mac: Command+Enter. */
export const submitOnCtrlEnter = (event: KeyboardEvent<HTMLFormElement>): void => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  event.currentTarget.requestSubmit()
}
