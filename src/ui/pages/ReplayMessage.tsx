import { type FormEvent, useRef, useState } from "react"
import { api } from "../api/Client.ts"
import { ApiError } from "../api/Errors.ts"
import { queries, runAction } from "../api/Queries.ts"
import type { Run } from "../api/Types.ts"
import { newActionKey } from "../components/ActionKey.ts"
import { Button } from "../components/Button.tsx"
import { FollowedRun, type SentRun } from "../components/FollowedRun.tsx"
import { ErrorNotice } from "../components/Notice.tsx"
import { submitOnCtrlEnter } from "../components/SubmitOnCtrlEnter.ts"
import { TextField } from "../components/TextField.tsx"

/** Sends a message to its team again, with the same or another text, and follows the new one. */
export const ReplayMessage = ({ run }: { readonly run: Run }) => {
  const { prompt } = run.conversation
  const [text, setText] = useState(prompt)
  // One message for each action, whatever the number of clicks before the page has shown the first one.
  const key = useRef(newActionKey())
  const [pending, setPending] = useState(false)
  const [sent, setSent] = useState<SentRun>()
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
    setSent(undefined)
    const at = new Date().toISOString()
    try {
      const { run_id } = await runAction(() =>
        api.runs.replay({
          path: run,
          query: {},
          headers: { "idempotency-key": key.current },
          payload: text === prompt ? {} : { message: text }
        })
      )
      key.current = newActionKey()
      setSent({ run_id, at })
    } catch (cause) {
      setError(cause)
      // Refused: nothing was sent. Else it may have been, and is not to be sent twice.
      if (cause instanceof ApiError && cause.status < 500) key.current = newActionKey()
    } finally {
      setPending(false)
      void queries.invalidateQueries({ queryKey: ["replays"] })
    }
  }
  return (
    <section className="card" aria-label="Replay">
      <h2>Replay it with the same or another text</h2>
      <form className="stack" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <TextField multiline rows={3} label="Message" value={text} onChange={edit} />
        <div className="row">
          <Button type="submit" variant="primary" icon="play" pending={pending} disabled={text.trim() === ""}>
            Send again
          </Button>
          <span className="muted small">Ctrl+Enter</span>
        </div>
        {sent && <FollowedRun key={sent.run_id} sent={sent} />}
        {error !== undefined && <ErrorNotice error={error} />}
      </form>
    </section>
  )
}
