import { type FormEvent, useState } from "react"
import { api } from "../api/Client.ts"
import { ApiError } from "../api/Errors.ts"
import { queries, runAction } from "../api/Queries.ts"
import type { Run, Team, Webhook } from "../api/Types.ts"
import { Button } from "./Button.tsx"
import { FollowedRun, type SentRun } from "./FollowedRun.tsx"
import { locale } from "./Locale.ts"
import { ErrorNotice, Notice } from "./Notice.tsx"
import { submitOnCtrlEnter } from "./SubmitOnCtrlEnter.ts"
import { TeamNotice } from "./TeamNotice.tsx"
import { showDirectionMarks } from "./UserText.tsx"
import { VariableFields } from "./VariableFields.tsx"
import { emptyNames, type VariableInput, valuesOf, variableInputs } from "./VariableInput.ts"

const list = new Intl.ListFormat(locale, { type: "conjunction" })

/** `randomUUID` exists in secure contexts only. */
const newKey = (): string => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-")

/**
 * Triggers a webhook as a caller does, but with the session in place of the token, and follows the run. It never waits
 * in the request: Chromium sends a POST that is answered with 408 again by itself. The key is for what else makes a
 * browser repeat a request, such as a connection that is lost.
 */
export const SendTest = ({
  webhook,
  team,
  values,
  action = "Send test"
}: {
  readonly webhook: Webhook
  readonly team: Team | undefined
  /** The values of an earlier run, to repeat it. */
  readonly values?: Run["variables"]
  readonly action?: string
}) => {
  const [edited, setEdited] = useState<ReadonlyArray<VariableInput>>(() => variableInputs(webhook.variables, values))
  const [pending, setPending] = useState(false)
  /** Whether the user was asked about the empty values. */
  const [asked, setAsked] = useState(false)
  const [sent, setSent] = useState<SentRun>()
  const [ignored, setIgnored] = useState(false)
  const [error, setError] = useState<unknown>()
  // The template may change while this form is open.
  const added = variableInputs(webhook.variables, values).filter(
    ({ name }) => !edited.some((input) => input.name === name)
  )
  const inputs = added.length === 0 ? edited : [...edited, ...added]
  const variables = valuesOf(inputs)
  const empty = emptyNames(inputs, values)
  const confirming = asked && empty.length > 0

  const send = async () => {
    if (!variables || pending) return
    setAsked(false)
    setPending(true)
    setError(undefined)
    setSent(undefined)
    setIgnored(false)
    const at = new Date().toISOString()
    try {
      const answer = await runAction(() =>
        api.overview.run({
          path: { id: webhook.id },
          query: {},
          headers: { "idempotency-key": newKey() },
          payload: { variables }
        })
      )
      if (answer.status === "ignored") setIgnored(true)
      else setSent({ run_id: answer.run_id, at })
    } catch (cause) {
      setError(cause)
    } finally {
      setPending(false)
      void queries.invalidateQueries({ queryKey: ["runs"] })
      void queries.invalidateQueries({ queryKey: ["statistics"] })
    }
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (empty.length === 0) return void send()
    // A forgotten value would make the agent work on a prompt with a gap.
    setAsked(true)
    const fields = event.currentTarget.querySelectorAll<HTMLTextAreaElement>("textarea")
    ;[...fields].find((field) => field.value === "")?.focus()
  }

  return (
    <form className="stack" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
      {!webhook.enabled && <Notice tone="warning">This webhook is off, so triggers get 404. Turn it on first.</Notice>}
      {webhook.enabled && team && <TeamNotice team={team} when_team_stopped={webhook.when_team_stopped} />}
      <VariableFields inputs={inputs} onChange={setEdited} />
      {confirming && (
        <Notice tone="warning">
          <div className="row between">
            <p>No value for {list.format(empty.map(showDirectionMarks))}.</p>
            <Button compact onPress={() => void send()}>
              {empty.length === 1 ? "Send without it" : "Send without them"}
            </Button>
          </div>
        </Notice>
      )}
      <div className="row">
        <Button type="submit" variant="primary" icon="play" pending={pending} disabled={!variables}>
          {action}
        </Button>
        <span className="muted small">Ctrl+Enter</span>
      </div>
      {ignored && <Notice>Ignored: “Accept only if” does not hold for these values, so there is no run.</Notice>}
      {sent && <FollowedRun key={sent.run_id} sent={sent} />}
      {error instanceof ApiError ? <Refusal error={error} /> : error !== undefined && <ErrorNotice error={error} />}
    </form>
  )
}

/** Why nothing was started, with the status that a caller gets. */
const Refusal = ({ error }: { readonly error: ApiError }) => (
  <Notice tone="danger">
    <strong className="http-status danger">{error.status}</strong> {error.message}
  </Notice>
)
