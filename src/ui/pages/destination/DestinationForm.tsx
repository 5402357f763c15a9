import { type FormEvent, useState } from "react"
import {
  alertEvents,
  type DestinationEvent,
  runEndEvents,
  runEvents,
  startEvent
} from "../../../domain/delivery/DestinationEvent.ts"
import {
  type DestinationKind,
  destinationKindNames,
  isForAlerts,
  kindOf
} from "../../../domain/delivery/DestinationKind.ts"
import { explain, faultAt } from "../../api/Errors.ts"
import { useWebhooks } from "../../api/Queries.ts"
import type { Destination } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Dialog } from "../../components/Dialog.tsx"
import { SearchableSelect } from "../../components/form/SearchableSelect.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { eventNames } from "./DestinationName.tsx"

type Body = Destination["body"]

const kinds = destinationKindNames.map((kind) => [kind, kindOf(kind).label] as const)

const bodies = {
  event: [
    ["thin", "IDs and status"],
    ["full", "Everything, with the answer"],
    ["template", "A Liquid template"]
  ],
  message: [
    ["full", "The answer"],
    ["thin", "Only the status"],
    ["template", "A Liquid template"]
  ],
  run: [
    ["full", "Everything, with the answer"],
    ["thin", "IDs and status"],
    ["template", "A Liquid template"]
  ]
} as const satisfies { readonly [sends: string]: ReadonlyArray<readonly [Body, string]> }

const examples = {
  event: '{"text": "{{ webhook.name }}: {{ run.status }}"}',
  message: "**{{ webhook.name }}**: {{ run.status }}",
  run: '{"text": {{ run.response | json }}}'
} as const

const alertExamples = {
  event: '{"text": "{{ alert.description }}"}',
  message: "**{{ alert.state }}**: {{ alert.description }}",
  run: "{}"
} as const

/** For an alert, `thin` and `full` are the same. */
const otherBody = { event: "full", message: "thin", run: "thin" } as const

const alertEventNames: { readonly [event: string]: string } = {
  "alert.firing": "begins",
  "alert.resolved": "is resolved"
}

/** The fields that the form saves. Headers are absent unless some were entered: the server never shows its own. */
export interface DestinationFields {
  readonly kind: DestinationKind
  readonly url?: string
  readonly token?: string
  readonly target?: string
  readonly description: string
  readonly events: ReadonlyArray<DestinationEvent>
  readonly body: Body
  readonly template?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One header a line; a line without a colon is a header without a name, which the server refuses. */
const parseHeaders = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const [name = "", ...value] = line.split(":")
        return value.length === 0 ? ["", name.trim()] : [name.trim(), value.join(":").trim()]
      })
  )

/** Adds a destination, or edits one. `save` rejects with the faults of the fields. */
export const DestinationForm = ({
  isOfAlerts,
  destination,
  save,
  onClose
}: {
  readonly isOfAlerts: boolean
  readonly destination?: Destination
  readonly save: (fields: DestinationFields) => Promise<void>
  readonly onClose: () => void
}) => {
  const subjects = isOfAlerts ? "`event` and `alert`" : "`event`, `run`, `webhook` and `values`"
  const [kind, setKind] = useState<DestinationKind>(destination?.kind ?? "webhook")
  const data = kindOf(kind)
  const ofRuns = data.sends === "run" ? runEndEvents : runEvents
  const allEvents: ReadonlyArray<DestinationEvent> = isOfAlerts ? alertEvents : ofRuns
  const webhooks = useWebhooks()
  const [url, setUrl] = useState(data.url?.isSecret ? "" : (destination?.url ?? ""))
  const [token, setToken] = useState("")
  const [target, setTarget] = useState(destination?.target ?? "")
  const [description, setDescription] = useState(destination?.description ?? "")
  const [events, setEvents] = useState<ReadonlyArray<DestinationEvent>>(
    destination?.events ?? (isOfAlerts ? alertEvents : runEndEvents)
  )
  const [chosenBody, setBody] = useState<Body | undefined>(destination?.body)
  const body = chosenBody ?? bodies[data.sends][0][0]
  const [ownTemplate, setTemplate] = useState(destination?.template)
  const template = ownTemplate ?? (isOfAlerts ? alertExamples : examples)[data.sends]
  const [headers, setHeaders] = useState("")
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (pending) return
    setPending(true)
    setError(undefined)
    try {
      await save({
        ...{ kind, description: description.trim(), events: events.filter((one) => allEvents.includes(one)), body },
        ...(data.url && url.trim() !== "" && { url: url.trim() }),
        ...(data.token && token.trim() !== "" && { token: token.trim() }),
        ...(data.target && { target: target.trim() }),
        ...(body === "template" && { template }),
        ...(data.sends === "event" && headers.trim() !== "" && { headers: parseHeaders(headers) })
      })
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  const stored = destination?.header_names ?? []
  const isUrlNeeded = data.url !== undefined && data.url.default === undefined && !(destination && data.url.isSecret)
  const isComplete =
    events.length > 0 &&
    (!isUrlNeeded || url.trim() !== "") &&
    (!data.token || destination !== undefined || token.trim() !== "") &&
    (!data.target || target.trim() !== "")
  return (
    <Dialog title={destination === undefined ? "Add a destination" : "Edit the destination"} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {destination === undefined && (
          <SelectField
            label="Kind"
            value={kind}
            onChange={setKind}
            options={kinds.filter(([name]) => !isOfAlerts || isForAlerts(name))}
          />
        )}
        {data.url && (
          <TextField
            label={data.url.label}
            value={url}
            onChange={setUrl}
            placeholder={data.url.example}
            help={`${data.url.help}${destination && data.url.isSecret ? ` Leave it empty to keep ${destination.url}` : ""}`}
            fault={faultAt(error, "/url")}
            mono
            required={isUrlNeeded}
          />
        )}
        {data.token && (
          <TextField
            label={data.token.label}
            type="password"
            value={token}
            onChange={setToken}
            placeholder={data.token.example}
            help={`${data.token.help}${destination ? ` Leave it empty to keep ${destination.secret_hint}` : ""}`}
            fault={faultAt(error, "/token")}
            mono
            required={destination === undefined}
          />
        )}
        {kind === "chain" && (
          <SearchableSelect
            label="Webhook"
            value={target}
            onChange={setTarget}
            options={[
              ["", "Choose a webhook"],
              ...(webhooks.data ?? []).map(({ id, name }) => [id, showDirectionMarks(name)] as const)
            ]}
            fault={faultAt(error, "/target")}
          />
        )}
        {kind !== "chain" && data.target && (
          <TextField
            label={data.target.label}
            value={target}
            onChange={setTarget}
            placeholder={isOfAlerts && !data.target.isFixed ? "" : data.target.example}
            help={data.target.isFixed ? data.target.help : `${data.target.help} A Liquid template over ${subjects}.`}
            fault={faultAt(error, "/target")}
            mono
            required
          />
        )}
        <TextField
          label="Description"
          value={description}
          onChange={setDescription}
          fault={faultAt(error, "/description")}
          maxLength={255}
        />
        <fieldset className="stack tight">
          <legend className="label">{isOfAlerts ? "Send when an alert" : "Events"}</legend>
          <div className="row">
            {allEvents.map((one) => (
              <label key={one} className="row">
                <input
                  type="checkbox"
                  checked={events.includes(one)}
                  onChange={({ target }) =>
                    setEvents(allEvents.filter((each) => (each === one ? target.checked : events.includes(each))))
                  }
                />
                {isOfAlerts ? alertEventNames[one] : eventNames[one].toLowerCase()}
                {one === startEvent && data.reacts ? " (reaction 👀)" : ""}
              </label>
            ))}
          </div>
        </fieldset>
        <SelectField
          label={data.sends === "event" ? "Body" : "Message"}
          value={body}
          onChange={setBody}
          options={
            isOfAlerts ? bodies[data.sends].filter(([name]) => name !== otherBody[data.sends]) : bodies[data.sends]
          }
        />
        {body === "template" && (
          <TextField
            label="Template"
            value={template}
            onChange={setTemplate}
            help={`Liquid, over ${subjects}${{ event: "", message: ", in Markdown", run: "; must produce a JSON object with the values of the new run" }[data.sends]}.`}
            fault={faultAt(error, "/template")}
            mono
            multiline
            rows={3}
          />
        )}
        {data.sends === "event" && (
          <TextField
            label="Headers"
            value={headers}
            onChange={setHeaders}
            placeholder="Authorization: Bearer …"
            help={
              stored.length === 0
                ? "One in each line. They are stored encrypted and never shown again."
                : `Stored: ${stored.join(", ")}. What you enter here replaces all of them. Another URL needs them again.`
            }
            fault={faultAt(error, "/headers")}
            mono
            multiline
          />
        )}
        {error !== undefined && <Notice tone="danger">{explain(error).title}</Notice>}
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={!isComplete} pending={pending}>
            {destination === undefined ? "Add destination" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
