import { type FormEvent, useState } from "react"
import type { SampleRequest } from "../../../domain/request/SampleRequest.ts"
import { api } from "../../api/Client.ts"
import { ApiError } from "../../api/Errors.ts"
import { queries, useSample } from "../../api/Queries.ts"
import type { Run, Team, Webhook } from "../../api/Types.ts"
import { locale } from "../../format/Format.ts"
import { Button } from "../Button.tsx"
import { submitOnCtrlEnter, useKeyedAction } from "../form/KeyedAction.ts"
import {
  PromptChoice,
  type ReplayPrompt,
  ReplayThreadField,
  threadOfReplay,
  VariableFields
} from "../form/RunFields.tsx"
import {
  emptyNames,
  inputsOfSample,
  requestInputs,
  type VariableInput,
  valuesOf,
  variableInputs
} from "../form/VariableInput.ts"
import { ErrorNotice, Notice } from "../Notice.tsx"
import { showDirectionMarks } from "../UserText.tsx"
import { FollowedRun, type SentRun } from "./FollowedRun.tsx"
import { ReceivedPicker } from "./ReceivedPicker.tsx"
import { TeamNotice } from "./TeamNotice.tsx"

const list = new Intl.ListFormat(locale, { type: "conjunction" })

/** A field for each variable or, if the webhook takes whole requests, for each part of the request. */
const inputsFor = (
  { input, variables }: Webhook,
  values: Run["variables"] | undefined,
  sample: SampleRequest | undefined
) =>
  input === "payload" && values === undefined
    ? sample === undefined
      ? requestInputs()
      : inputsOfSample(sample)
    : variableInputs(input === "payload" ? [] : variables, values)

const sampleOf = ({ input }: Webhook, values: Run["variables"]) =>
  input === "payload" ? values : { variables: values }

/**
 * Triggers a webhook with the session instead of the token, and follows the run. The request is asynchronous, so the run's
 * link appears at once. The key prevents a second run if the browser repeats the request.
 */
export const SendTest = ({
  webhook,
  team,
  replayOf
}: {
  readonly webhook: Webhook
  readonly team: Team | undefined
  /** The run to replay. */
  readonly replayOf?: Run
}) => {
  const values = replayOf?.variables
  const [prompt, setPrompt] = useState<ReplayPrompt>("template")
  const [thread, setThread] = useState(replayOf?.thread?.key ?? "")
  const { error, pending, perform } = useKeyedAction()
  const initial = inputsFor(webhook, values, useSample(webhook))
  /** Absent until it is edited. */
  const [typed, setEdited] = useState<ReadonlyArray<VariableInput>>()
  const edited = typed ?? initial
  /** Whether the user was asked about empty values. */
  const [asked, setAsked] = useState(false)
  const [sent, setSent] = useState<SentRun>()
  const [ignored, setIgnored] = useState<string>()
  // The template may change while this form is open.
  const added = initial.filter(({ name }) => !edited.some((input) => input.name === name))
  const inputs = added.length === 0 ? edited : [...edited, ...added]
  const variables = valuesOf(inputs)
  const isSame = replayOf !== undefined && prompt === "same"
  const empty = isSame ? [] : emptyNames(inputs, values)
  const confirming = asked && empty.length > 0

  const send = async () => {
    if (!variables || pending) return
    setAsked(false)
    setSent(undefined)
    setIgnored(undefined)
    const at = new Date().toISOString()
    // Unchanged values need not be sent. They may be a whole request, and the template may use only a part of it.
    const isUnchanged = JSON.stringify(variables) === JSON.stringify(values)
    const replayed = isSame ? { prompt } : isUnchanged ? {} : { variables }
    const answer = await perform((headers) =>
      replayOf
        ? api.runs.replay({
            path: replayOf,
            query: {},
            headers,
            payload: { ...replayed, ...threadOfReplay(replayOf, thread) }
          })
        : api.overview.run({ path: { id: webhook.id }, query: {}, headers, payload: sampleOf(webhook, variables) })
    )
    if (answer?.status === "ignored") setIgnored(answer.reason ?? "These values don't pass the filter.")
    else if (answer?.status === "cancelled") setIgnored("These values pass the cancel filter. A test cancels no runs.")
    else if (answer) setSent({ run_id: answer.run_id, at })
    void queries.invalidateQueries({ queryKey: ["runs"] })
    void queries.invalidateQueries({ queryKey: ["replays"] })
    void queries.invalidateQueries({ queryKey: ["statistics"] })
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
      {!webhook.enabled && <Notice tone="warning">This webhook is off: requests get 404. Turn it on first.</Notice>}
      {webhook.enabled && team && <TeamNotice team={team} when_team_stopped={webhook.when_team_stopped} />}
      {replayOf && <PromptChoice value={prompt} onChange={setPrompt} />}
      {webhook.input === "payload" && !replayOf && <ReceivedPicker webhook={webhook} onPick={setEdited} />}
      {!isSame && <VariableFields inputs={inputs} onChange={setEdited} />}
      {replayOf && <ReplayThreadField value={thread} onChange={setThread} />}
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
          {replayOf ? "Send again" : "Send test"}
        </Button>
        <span className="muted small">Ctrl+Enter</span>
      </div>
      {ignored !== undefined && <Notice>Ignored, so no run was started. {ignored}</Notice>}
      {sent && <FollowedRun key={sent.run_id} sent={sent} />}
      {error instanceof ApiError ? <Rejection error={error} /> : error !== undefined && <ErrorNotice error={error} />}
    </form>
  )
}

/** The error with the status that a caller gets. */
const Rejection = ({ error }: { readonly error: ApiError }) => (
  <Notice tone="danger">
    <strong className="http-status danger">{error.status}</strong> {error.message}
  </Notice>
)
