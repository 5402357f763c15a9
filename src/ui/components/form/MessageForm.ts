import { type FormEvent, useState } from "react"
import { type ActionHeaders, useKeyedAction } from "./KeyedAction.ts"

/** The text of a message while it is typed, and its sending: another text is another message. */
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
  /** Empties the field of what was sent; what was typed meanwhile stays. */
  const clear = (sent: string) => setText((now) => (now === sent ? "" : now))
  return { clear, edit, error, isEmpty, pending, submit, text }
}
