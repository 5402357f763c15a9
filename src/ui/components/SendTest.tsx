import { type FormEvent, useState } from "react"
import { Link } from "wouter"
import { api } from "../api/Client.ts"
import { ApiError } from "../api/Errors.ts"
import { act, queries } from "../api/Queries.ts"
import type { Run, Team, Webhook } from "../api/Types.ts"
import { Button } from "./Button.tsx"
import { Choice } from "./Field.tsx"
import { Failure, Note } from "./Note.tsx"
import { duration } from "./Time.tsx"
import { type Draft, drafts, VariableFields, type Variables, valuesOf } from "./Variables.tsx"

/** What a trigger answered, in the words of its HTTP contract. */
interface Outcome {
  readonly http: string
  readonly body: unknown
  readonly run_id?: string
  readonly took_ms: number
}

const statusLine = (body: { readonly status?: string }): string =>
  ({ accepted: "202 Accepted", success: "200 OK", timeout: "408 Request Timeout", error: "502 Bad Gateway" })[
    body.status ?? ""
  ] ?? "200 OK"

/** A webhook triggered from here, exactly as a caller would, but with the session in place of the token. */
export const SendTest = ({
  webhook,
  team,
  values,
  mode: initialMode = "async",
  action = "Send the test"
}: {
  readonly webhook: Webhook
  readonly team: Team | undefined
  /** Of an earlier run, to send again. */
  readonly values?: Variables
  readonly mode?: Run["mode"]
  readonly action?: string
}) => {
  const [written, setWritten] = useState<ReadonlyArray<Draft>>(() => drafts(webhook.variables, values))
  const [mode, setMode] = useState<Run["mode"]>(initialMode)
  const [pending, setPending] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const [failure, setFailure] = useState<unknown>()
  // The template may change while this form is open.
  const missing = drafts(webhook.variables, values).filter(({ name }) => !written.some((draft) => draft.name === name))
  const all = missing.length === 0 ? written : [...written, ...missing]
  const variables = valuesOf(all)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!variables || pending) return
    setPending(true)
    setFailure(undefined)
    setOutcome(undefined)
    const started = performance.now()
    try {
      const body = await act(
        api.overview.run({
          path: { id: webhook.id },
          query: mode === "wait" ? { wait: "true" } : {},
          payload: { variables }
        })
      )
      setOutcome({ http: statusLine(body), body, run_id: body.run_id, took_ms: performance.now() - started })
    } catch (error) {
      if (error instanceof ApiError) {
        setOutcome({
          http: `${error.status} ${error.problem.title ?? ""}`,
          body: error.problem,
          took_ms: performance.now() - started
        })
      } else setFailure(error)
    } finally {
      setPending(false)
      void queries.invalidateQueries({ queryKey: ["runs"] })
      void queries.invalidateQueries({ queryKey: ["statistics"] })
    }
  }

  return (
    <form className="stack" onSubmit={submit}>
      {!webhook.enabled && <Note kind="warn">The webhook is off: a trigger gets 404. Switch it on first.</Note>}
      {webhook.enabled && team && !team.running && (
        <Note kind="warn">
          No leader of <Link to={`/teams/${team.team}`}>{team.team}</Link> is connected: a trigger gets 409. Connect one
          first.
        </Note>
      )}
      <VariableFields all={all} onChange={setWritten} />
      <div className="send">
        <Choice
          label="Answer"
          hideLabel
          value={mode}
          onChange={setMode}
          options={[
            ["async", "Do not wait"],
            ["wait", "Wait for the answer"]
          ]}
        />
        <Button type="submit" look="primary" icon="play" pending={pending} disabled={!variables}>
          {pending && mode === "wait" ? "Waiting for the team" : action}
        </Button>
      </div>
      <div role="status">
        {outcome && (
          <div className="stack tight">
            <div className="row">
              <strong className={`http ${outcome.http[0] === "2" ? "good" : "bad"}`}>{outcome.http}</strong>
              <span className="muted small">after {duration(outcome.took_ms)}</span>
              {outcome.run_id && <Link to={`/runs/${outcome.run_id}`}>Open the run</Link>}
            </div>
            <div className="code wrap">
              <pre tabIndex={0} role="region" aria-label="Body of the answer">
                {JSON.stringify(outcome.body, null, 2).slice(0, 20_000)}
              </pre>
            </div>
          </div>
        )}
      </div>
      {failure !== undefined && <Failure error={failure} />}
    </form>
  )
}
