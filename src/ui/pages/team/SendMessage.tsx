import { useState } from "react"
import { api } from "../../api/Client.ts"
import { queries } from "../../api/Queries.ts"
import type { Team } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { useMessageForm } from "../../components/form/MessageForm.ts"
import { submitOnCtrlEnter } from "../../components/form/SubmitOnCtrlEnter.ts"
import { TextField } from "../../components/form/TextField.tsx"
import { ThreadField } from "../../components/form/ThreadField.tsx"
import { ErrorNotice } from "../../components/Notice.tsx"
import { toast } from "../../components/Toasts.tsx"

/** A form for a chat message to the team. */
export const SendMessage = ({ team }: { readonly team: Team }) => {
  const [thread, setThread] = useState("")
  const key = thread.trim()
  const { clear, edit, error, pending, renew, submit, text } = useMessageForm(
    "",
    (message, headers) =>
      api.teams.message({ path: team, query: {}, headers, payload: { message, ...(key && { thread: key }) } }),
    (_, sent) => {
      clear(sent)
      toast("Message queued")
      void queries.invalidateQueries({ queryKey: ["team-runs", team.team] })
    }
  )
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
          help="The team handles messages and runs in order."
        />
        <ThreadField
          value={thread}
          onChange={(thread) => {
            setThread(thread)
            renew()
          }}
          help="The key of a conversation to begin or to continue, such as acme/shop#12"
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
