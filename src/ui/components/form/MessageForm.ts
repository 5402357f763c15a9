import { type FormEvent, useRef, useState } from "react"
import { type ActionHeaders, useKeyedAction } from "./KeyedAction.ts"

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
