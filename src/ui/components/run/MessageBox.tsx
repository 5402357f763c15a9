import { Button } from "../Button.tsx"
import { type ActionHeaders, submitOnCtrlEnter, useMessageForm } from "../form/KeyedAction.ts"
import { TextField } from "../form/TextField.tsx"
import { ErrorNotice } from "../Notice.tsx"
import { showDirectionMarks } from "../UserText.tsx"

/** A form for a message. Suggested replies are buttons, which send them at once. */
export const MessageBox = <A,>({
  label,
  help,
  suggestions = [],
  action = "Send",
  main = true,
  send,
  onSent
}: {
  readonly label: string
  readonly help?: string
  readonly suggestions?: ReadonlyArray<string>
  readonly action?: string
  /** To send it is what one does on this page. */
  readonly main?: boolean
  readonly send: (message: string, headers: ActionHeaders) => Promise<A>
  readonly onSent: (response: A) => void
}) => {
  const form = useMessageForm("", send, (response, sent) => {
    form.clear(sent)
    onSent(response)
  })
  const { edit, error, isEmpty, pending, submit, text } = form
  return (
    <form className="stack tight" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
      {suggestions.length > 0 && (
        <div className="row suggestions" role="group" aria-label="Suggested replies">
          {[...new Set(suggestions)].map((reply) => (
            <Button key={reply} onPress={() => void form.send(reply)}>
              {showDirectionMarks(reply)}
            </Button>
          ))}
        </div>
      )}
      <TextField multiline rows={3} label={label} value={text} onChange={edit} {...(help ? { help } : {})} />
      {error !== undefined && <ErrorNotice error={error} />}
      <div className="row">
        <Button type="submit" {...(main && { variant: "primary" })} pending={pending} disabled={isEmpty}>
          {action}
        </Button>
        <span className="muted small">Ctrl+Enter</span>
      </div>
    </form>
  )
}
