import { useState } from "react"
import { api } from "../../api/Client.ts"
import { queries } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import type { ActionHeaders } from "../../components/form/KeyedAction.ts"
import { useMessageForm } from "../../components/form/MessageForm.ts"
import { submitOnCtrlEnter } from "../../components/form/SubmitOnCtrlEnter.ts"
import { TextField } from "../../components/form/TextField.tsx"
import { ReplayThreadField, threadOfReplay } from "../../components/form/ThreadField.tsx"
import { ErrorNotice } from "../../components/Notice.tsx"
import { FollowedRun, type SentRun } from "../../components/run/FollowedRun.tsx"

/** Sends a message again, optionally with a new text, and follows it. */
export const ReplayMessage = ({ run }: { readonly run: Run }) => {
  const { prompt } = run.conversation
  const [sent, setSent] = useState<SentRun>()
  const [thread, setThread] = useState(run.thread?.key ?? "")
  const replay = async (text: string, headers: ActionHeaders): Promise<SentRun> => {
    setSent(undefined)
    const at = new Date().toISOString()
    try {
      const payload = { ...(text === prompt ? {} : { message: text }), ...threadOfReplay(run, thread) }
      const { run_id } = await api.runs.replay({ path: run, query: {}, headers, payload })
      return { run_id, at }
    } finally {
      void queries.invalidateQueries({ queryKey: ["replays"] })
    }
  }
  const { edit, error, isEmpty, pending, renew, submit, text } = useMessageForm(prompt, replay, setSent)
  const editThread = (thread: string) => {
    setThread(thread)
    renew()
  }
  return (
    <section className="card" aria-label="Replay">
      <h2>Replay, optionally with a new text</h2>
      <form className="stack" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <TextField multiline rows={3} label="Message" value={text} onChange={edit} />
        <ReplayThreadField value={thread} onChange={editThread} />
        <div className="row">
          <Button type="submit" variant="primary" icon="play" pending={pending} disabled={isEmpty}>
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
