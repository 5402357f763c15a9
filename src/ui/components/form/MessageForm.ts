import { type FormEvent, useState } from "react"
import { type ActionHeaders, useKeyedAction } from "./KeyedAction.ts"

/** The state of a message form. Each edit makes it a new message. */
export const useMessageForm = <A>(
  initial: string,
  request: (text: string, headers: ActionHeaders) => Promise<A>,
  onSent: (response: A, text: string) => void
) => {
  const [text, setText] = useState(initial)
  const { error, pending, perform, renewKey } = useKeyedAction()
  const edit = (text: string) => {
    setText(text)
    renewKey()
  }
  const isEmpty = text.trim() === ""
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isEmpty || pending) return
    const response = await perform((headers) => request(text, headers))
    if (response !== undefined) onSent(response, text)
  }
  /** Clears the sent text, but not text typed in the meantime. */
  const clear = (sent: string) => setText((now) => (now === sent ? "" : now))
  return { clear, edit, error, isEmpty, pending, submit, text }
}
