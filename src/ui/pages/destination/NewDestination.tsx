import { type FormEvent, useState } from "react"
import { allEvents, type DestinationEvent } from "../../../domain/delivery/DestinationEvent.ts"
import { api } from "../../api/Client.ts"
import { explain, faultAt } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { DestinationWithSecret, Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Dialog } from "../../components/Dialog.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"
import { eventNames } from "./EventNames.ts"

type Body = "thin" | "full" | "template"

const bodies: ReadonlyArray<readonly [Body, string]> = [
  ["thin", "IDs and status"],
  ["full", "Everything, with the answer"],
  ["template", "A Liquid template"]
]

const example = '{"text": "{{ webhook.name }}: {{ run.status }}"}'

export const NewDestination = ({
  webhook,
  onClose,
  onCreated
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
  readonly onCreated: (created: DestinationWithSecret) => void
}) => {
  const [url, setUrl] = useState("")
  const [events, setEvents] = useState<ReadonlyArray<DestinationEvent>>(allEvents)
  const [body, setBody] = useState<Body>("thin")
  const [template, setTemplate] = useState(example)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (pending) return
    setPending(true)
    setError(undefined)
    try {
      const payload = { url: url.trim(), events, body, ...(body === "template" && { template }) }
      const created = await runAction(() =>
        api.destinations.create({ path: { id: webhook.id }, payload: payload as never })
      )
      await queries.invalidateQueries({ queryKey: ["destinations", webhook.id] })
      onCreated(created)
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  return (
    <Dialog title="Add a destination" onClose={onClose}>
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
        {error !== undefined && <Notice tone="danger">{explain(error).title}</Notice>}
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={url.trim() === "" || events.length === 0} pending={pending}>
            Add destination
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
