import { type FormEvent, useState } from "react"
import { api } from "../api/Client.ts"
import { queries, runAction } from "../api/Queries.ts"
import type { Team } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { ErrorNotice } from "../components/Notice.tsx"
import { submitOnCtrlEnter } from "../components/SubmitOnCtrlEnter.ts"
import { TextField } from "../components/TextField.tsx"
import { toast } from "../components/Toasts.tsx"

/** A form for a chat message to the team. */
export const SendMessage = ({ team }: { readonly team: Team }) => {
  const [text, setText] = useState("")
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === "" || pending) return
    setPending(true)
    setError(undefined)
    try {
      await runAction(() => api.teams.message({ path: { team: team.team }, query: {}, payload: { message: text } }))
      setText("")
      toast("Message queued")
      await queries.invalidateQueries({ queryKey: ["team-runs", team.team] })
    } catch (cause) {
      setError(cause)
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
          onChange={setText}
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
