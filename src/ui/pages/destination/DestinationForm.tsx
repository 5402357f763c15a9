import { type FormEvent, useState } from "react"
import { allEvents, type DestinationEvent } from "../../../domain/delivery/DestinationEvent.ts"
import { explain, faultAt } from "../../api/Errors.ts"
import type { Destination } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Dialog } from "../../components/Dialog.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"
import { eventNames } from "./EventNames.ts"

type Body = Destination["body"]

const bodies: ReadonlyArray<readonly [Body, string]> = [
  ["thin", "IDs and status"],
  ["full", "Everything, with the answer"],
  ["template", "A Liquid template"]
]

const example = '{"text": "{{ webhook.name }}: {{ run.status }}"}'

/** What the form saves. Headers are absent unless some were entered: the server never shows those that it has. */
export interface DestinationFields {
  readonly url: string
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
  destination,
  save,
  onClose
}: {
  readonly destination?: Destination
  readonly save: (fields: DestinationFields) => Promise<void>
  readonly onClose: () => void
}) => {
  const [url, setUrl] = useState(destination?.url ?? "")
  const [description, setDescription] = useState(destination?.description ?? "")
  const [events, setEvents] = useState<ReadonlyArray<DestinationEvent>>(destination?.events ?? allEvents)
  const [body, setBody] = useState<Body>(destination?.body ?? "thin")
  const [template, setTemplate] = useState(destination?.template ?? example)
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
        ...{ url: url.trim(), description: description.trim(), events, body },
        ...(body === "template" && { template }),
        ...(headers.trim() !== "" && { headers: parseHeaders(headers) })
      })
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  const stored = destination?.header_names ?? []
  return (
    <Dialog title={destination === undefined ? "Add a destination" : "Edit the destination"} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="URL"
          value={url}
          onChange={setUrl}
          placeholder="https://hooks.example.com/runs"
          help="An https URL with a public address. `CALLBACK_ALLOW` on the server allows others."
          fault={faultAt(error, "/url")}
          mono
          required
          autoFocus
        />
        <TextField
          label="Description"
          value={description}
          onChange={setDescription}
          fault={faultAt(error, "/description")}
          maxLength={255}
        />
        <fieldset className="stack tight">
          <legend className="label">Send when a run has</legend>
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
                {eventNames[one].toLowerCase()}
              </label>
            ))}
          </div>
        </fieldset>
        <SelectField label="Body" value={body} onChange={setBody} options={bodies} />
        {body === "template" && (
          <TextField
            label="Template"
            value={template}
            onChange={setTemplate}
            help="Liquid, over `event`, `run`, `webhook` and `values`."
            fault={faultAt(error, "/template")}
            mono
            multiline
            rows={3}
          />
        )}
        <TextField
          label="Headers"
          value={headers}
          onChange={setHeaders}
          placeholder="Authorization: Bearer …"
          help={
            stored.length === 0
              ? "One in each line. They are stored encrypted and never shown again."
              : `Stored: ${stored.join(", ")}. What you enter here replaces all of them.`
          }
          fault={faultAt(error, "/headers")}
          mono
          multiline
        />
        {error !== undefined && <Notice tone="danger">{explain(error).title}</Notice>}
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={url.trim() === "" || events.length === 0} pending={pending}>
            {destination === undefined ? "Add destination" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
