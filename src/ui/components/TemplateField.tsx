import { Either } from "effect"
import { type ReactNode, useId, useMemo, useRef } from "react"
import { parse, placeholders, type Template } from "../../domain/Template.ts"
import { Button } from "./Button.tsx"

/** What a template says while it is written: its names, or where it is broken. The server reads it with the same code. */
export const useTemplate = (text: string) =>
  useMemo(() => {
    const parsed = parse(text)
    return Either.isRight(parsed)
      ? { template: parsed.right, names: placeholders(parsed.right), broken: undefined }
      : { template: undefined, names: [] as ReadonlyArray<string>, broken: parsed.left }
  }, [text])

/** The text with its placeholders marked; the marks lie behind the text area, letter under letter. */
const marked = (text: string, template: Template | undefined, brokenAt: number | undefined): ReactNode => {
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
  if (!template) return text
  let at = 0
  return template.literals.map((literal, i) => {
    at += literal.length
    if (i === template.names.length) return literal
    const close = text.indexOf("}}", at) + 2
    const placeholder = text.slice(at, close)
    at = close
    return [literal, <mark key={i}>{placeholder}</mark>]
  })
}

/** Where the prompt's template is written: placeholders stand out, and broken braces are shown in place. */
export const TemplateField = ({
  value,
  onChange,
  fault
}: {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly fault?: string | undefined
}) => {
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const { template, names, broken } = useTemplate(value)
  const wrong = broken ? `Line ${broken.line}, column ${broken.column}: ${broken.reason}.` : fault
  const show = () => {
    area.current?.focus()
    area.current?.setSelectionRange(broken!.offset, broken!.offset + 2)
  }
  return (
    <div className="field">
      <label htmlFor={id} className="label">
        Prompt template
      </label>
      <div className="template">
        <div className="template-marks" aria-hidden="true">
          {marked(value, template, broken?.offset)}
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
          aria-invalid={wrong !== undefined}
          aria-describedby={`${id}-help ${id}-fault`}
        />
      </div>
      <p id={`${id}-help`} className="help">
        {"Write {{name}} where a value of the caller goes, {{alert.severity}} to reach into an object."}
      </p>
      <div id={`${id}-fault`} role="status">
        {wrong !== undefined && (
          <div className="row">
            <p className="fault">{wrong}</p>
            {broken && (
              <Button compact look="quiet" onPress={show}>
                Show it
              </Button>
            )}
          </div>
        )}
        {wrong === undefined && names.length > 0 && (
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
