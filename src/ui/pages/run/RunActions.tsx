import { useState } from "react"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { type ActionHeaders, submitOnCtrlEnter, useMessageForm } from "../../components/form/KeyedAction.ts"
import { ReplayThreadField, threadOfReplay } from "../../components/form/RunFields.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { ErrorNotice } from "../../components/Notice.tsx"
import { FollowedRun, type SentRun } from "../../components/run/FollowedRun.tsx"

/** For a run that `isCancellable`. */
export const CancelRun = ({ run }: { readonly run: Run }) => {
  const [confirming, setConfirming] = useState(false)
  const cancel = async () => {
    const cancelled = await runAction(() => api.runs.cancel({ path: { run_id: run.run_id } }))
    queries.setQueryData(["run", run.run_id], cancelled)
    setConfirming(false)
  }
  const what = run.retry_at !== undefined ? "retry" : run.source === "chat" ? "message" : "run"
  return (
    <>
      <Button needs="runs.cancel" variant="danger" onPress={() => setConfirming(true)}>
        Cancel {what}
      </Button>
      {confirming && (
        <ConfirmDialog
          title={`Cancel this ${what}?`}
          action={`Cancel ${what}`}
          cancel="Keep it"
          onConfirm={cancel}
          onClose={() => setConfirming(false)}
        >
          <p>
            {run.retry_at !== undefined
              ? "The run has failed and will not be retried."
              : run.sent_at === undefined
                ? "The prompt will not be sent to the team."
                : "The prompt was already sent, so the leader is asked to stop. Work already done is not undone."}
            {run.mode === "wait" && !isFinal(run.status) && " The waiting caller is notified."}
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

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

/** Saves text as a file. */
export const DownloadButton = ({
  text,
  file,
  children
}: {
  readonly text: string
  readonly file: string
  readonly children: string
}) => {
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/markdown;charset=utf-8" }))
    const link = document.createElement("a")
    link.href = url
    link.download = file
    link.click()
    URL.revokeObjectURL(url)
  }
  return <Button onPress={download}>{children}</Button>
}
