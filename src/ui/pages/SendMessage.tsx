import { type FormEvent, useRef, useState } from "react"
import { api } from "../api/Client.ts"
import { ApiError } from "../api/Errors.ts"
import { queries, runAction } from "../api/Queries.ts"
import type { Team } from "../api/Types.ts"
import { newActionKey } from "../components/ActionKey.ts"
import { Button } from "../components/Button.tsx"
import { ErrorNotice } from "../components/Notice.tsx"
import { submitOnCtrlEnter } from "../components/SubmitOnCtrlEnter.ts"
import { TextField } from "../components/TextField.tsx"
import { toast } from "../components/Toasts.tsx"

/** A form for a chat message to the team. */
export const SendMessage = ({ team }: { readonly team: Team }) => {
  const [text, setText] = useState("")
  // One message for each action, whatever makes the browser repeat the request.
  const key = useRef(newActionKey())
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const edit = (text: string) => {
    setText(text)
    key.current = newActionKey()
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === "" || pending) return
    setPending(true)
    setError(undefined)
    try {
      const headers = { "idempotency-key": key.current }
      await runAction(() => api.teams.message({ path: team, query: {}, headers, payload: { message: text } }))
      key.current = newActionKey()
      setText("")
      toast("Message queued")
      await queries.invalidateQueries({ queryKey: ["team-runs", team.team] })
    } catch (cause) {
      setError(cause)
      if (cause instanceof ApiError && cause.status < 500) key.current = newActionKey()
    } finally {
      setPending(false)
    }
  }
  return (
    <section className="card" aria-label="Send a message">
      <h2>Send a message</h2>
      <form className="stack" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <TextField
          multiline
          rows={3}
          label="Message"
          hideLabel
          placeholder="What is the status of the release?"
          value={text}
          onChange={edit}
          help="The team handles messages and runs in the order in which they were accepted."
        />
        {error !== undefined && <ErrorNotice error={error} />}
        <div>
          <Button type="submit" variant="primary" pending={pending}>
            Send
          </Button>
        </div>
      </form>
    </section>
  )
}
