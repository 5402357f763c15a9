import { type ReactNode, type RefObject, useId } from "react"
import { Button } from "../../components/Button.tsx"
import { withCode } from "../../components/WithCode.tsx"
import type { EditedTemplate, Place } from "./EditedTemplate.ts"

/** The text with highlighted placeholders, shown behind the text area. */
const highlight = (text: string, places: ReadonlyArray<Place>, brokenAt: number | undefined): ReactNode => {
  if (brokenAt !== undefined) {
    const end = text.startsWith("{{", brokenAt) || text.startsWith("}}", brokenAt) ? brokenAt + 2 : brokenAt + 1
    return [
      text.slice(0, brokenAt),
      <mark key="broken" className="broken">
        {text.slice(brokenAt, end)}
      </mark>,
      text.slice(end)
    ]
  }
  return [
    ...places.map(({ end, start }, i) => [
      text.slice(places[i - 1]?.end ?? 0, start),
      <mark key={start}>{text.slice(start, end)}</mark>
    ]),
    text.slice(places.at(-1)?.end ?? 0)
  ]
}

/** The field for the prompt template. It highlights placeholders and syntax errors. */
export const TemplateField = ({
  value,
  template: { broken, names, places },
  area,
  payload,
  onChange,
  fault
}: {
  readonly value: string
  readonly template: EditedTemplate
  readonly area: RefObject<HTMLTextAreaElement | null>
  /** Whether the template can use the whole request. */
  readonly payload: boolean
  readonly onChange: (value: string) => void
  readonly fault?: string | undefined
}) => {
  const id = useId()
  const message = broken ? `Line ${broken.line}, column ${broken.column}: ${broken.reason}.` : fault
  const selectBroken = () => {
    area.current?.focus()
    area.current?.setSelectionRange(broken!.offset, broken!.offset + 2)
  }
  return (
    <div className="field">
      <label htmlFor={id} className="label">
        Prompt template
      </label>
      <div className="template">
        <div className="template-highlights" aria-hidden="true">
          {highlight(value, places, broken?.offset)}
          {"\n"}
        </div>
        <textarea
          ref={area}
          id={id}
          className="input"
          value={value}
          onChange={(event) => onChange(event.target.value)}
          placeholder="Review the change {{title}} by {{author}} and say what could break."
          maxLength={65_536}
          spellCheck={false}
          required
          aria-invalid={message !== undefined}
          aria-describedby={`${id}-help ${id}-fault`}
        />
      </div>
      <p id={`${id}-help`} className="help">
        {payload
          ? "Use {{payload.alert.severity}} for a field of the request's body, {{headers.x-github-event}} for a header, and {{payload.text?}} for an optional field."
          : "Use {{name}} for a value from the caller, and {{alert.severity}} for a field inside an object."}
      </p>
      <div id={`${id}-fault`} className="template-notes" role="status">
        {message !== undefined && (
          <div className="row">
            <p className="fault">{withCode(message)}</p>
            {broken && (
              <Button compact variant="quiet" onPress={selectBroken}>
                Go to error
              </Button>
            )}
          </div>
        )}
        {message === undefined && names.length > 0 && (
          <ul className="chips" aria-label="Variables in the template">
            {names.map((name) => (
              <li key={name} className="chip">
                {name}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}
