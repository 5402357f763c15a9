import { type FormEvent, useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { api } from "../api/Client.ts"
import { ApiError } from "../api/Errors.ts"
import { queries, runAction } from "../api/Queries.ts"
import type { Run, Team, Webhook } from "../api/Types.ts"
import { Button } from "./Button.tsx"
import { formatDuration } from "./Format.ts"
import { ErrorNotice, Notice } from "./Notice.tsx"
import { SelectField } from "./SelectField.tsx"
import { VariableFields } from "./VariableFields.tsx"
import { type VariableInput, valuesOf, variableInputs } from "./VariableInput.ts"

type Triggered = Awaited<ReturnType<typeof api.overview.run>>

/** The status line of each response that means success. */
const statusLines: Record<Triggered["status"], string> = { accepted: "202 Accepted", success: "200 OK" }

/** The response to a trigger, as a caller gets it. */
interface TriggerResponse {
  readonly statusLine: string
  readonly ok: boolean
  readonly body: unknown
  readonly run_id: string | undefined
  readonly duration_ms: number
}

/** Triggers a webhook exactly as a caller does, but with the session in place of the token. */
export const SendTest = ({
  webhook,
  team,
  values,
  mode: initialMode = "async",
  action = "Send test"
}: {
  readonly webhook: Webhook
  readonly team: Team | undefined
  /** The values of an earlier run, to repeat it. */
  readonly values?: Run["variables"]
  readonly mode?: Run["mode"]
  readonly action?: string
}) => {
  const [edited, setEdited] = useState<ReadonlyArray<VariableInput>>(() => variableInputs(webhook.variables, values))
  const [mode, setMode] = useState<Run["mode"]>(initialMode)
  const [pending, setPending] = useState(false)
  const [response, setResponse] = useState<TriggerResponse>()
  const [error, setError] = useState<unknown>()
  // The template may change while this form is open.
  const added = variableInputs(webhook.variables, values).filter(
    ({ name }) => !edited.some((input) => input.name === name)
  )
  const inputs = added.length === 0 ? edited : [...edited, ...added]
  const variables = valuesOf(inputs)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!variables || pending) return
    setPending(true)
    setError(undefined)
    setResponse(undefined)
    const started = performance.now()
    const show = (received: Omit<TriggerResponse, "duration_ms">) =>
      setResponse({ ...received, duration_ms: performance.now() - started })
    try {
      const body = await runAction(
        api.overview.run({
          path: { id: webhook.id },
          query: mode === "wait" ? { wait: "true" } : {},
          payload: { variables }
        })
      )
      show({ statusLine: statusLines[body.status], ok: true, body, run_id: body.run_id })
    } catch (cause) {
      if (cause instanceof ApiError) {
        const { problem, status, statusText } = cause
        const statusLine = `${status} ${problem.title ?? statusText}`
        show({ statusLine, ok: false, body: problem, run_id: problem.run_id })
      } else setError(cause)
    } finally {
      setPending(false)
      void queries.invalidateQueries({ queryKey: ["runs"] })
      void queries.invalidateQueries({ queryKey: ["statistics"] })
    }
  }

  return (
    <form className="stack" onSubmit={submit}>
      {!webhook.enabled && <Notice tone="warning">This webhook is off, so triggers get 404. Turn it on first.</Notice>}
      {webhook.enabled && team && !team.running && (
        <Notice tone="warning">
          No leader of <Link to={pathTo("team", team)}>{team.team}</Link> is connected, so triggers get 409. Connect one
          first.
        </Notice>
      )}
      <VariableFields inputs={inputs} onChange={setEdited} />
      <div className="send">
        <SelectField
          label="Answer"
          hideLabel
          value={mode}
          onChange={setMode}
          options={[
            ["async", "Do not wait"],
            ["wait", "Wait for the answer"]
          ]}
        />
        <Button type="submit" variant="primary" icon="play" pending={pending} disabled={!variables}>
          {pending && mode === "wait" ? "Waiting for the answer" : action}
        </Button>
      </div>
      <div role="status">{response && <ResponseDetails response={response} />}</div>
      {error !== undefined && <ErrorNotice error={error} />}
    </form>
  )
}

const ResponseDetails = ({ response }: { readonly response: TriggerResponse }) => (
  <div className="stack tight">
    <div className="row">
      <strong className={`http-status ${response.ok ? "success" : "danger"}`}>{response.statusLine}</strong>
      <span className="muted small">after {formatDuration(response.duration_ms)}</span>
      {response.run_id && <Link to={pathTo("run", { run_id: response.run_id })}>Open the run</Link>}
    </div>
    <div className="code wrap">
      <pre tabIndex={0} role="region" aria-label="Response body">
        {JSON.stringify(response.body, null, 2).slice(0, 20_000)}
      </pre>
    </div>
  </div>
)
