import { type ReactNode, useId } from "react"
import { FieldError, Input, Label, Text, TextArea, TextField } from "react-aria-components"

interface FieldProps {
  readonly label: ReactNode
  readonly value: string
  readonly onChange: (value: string) => void
  readonly help?: ReactNode
  readonly fault?: string | undefined
  readonly placeholder?: string
  readonly type?: "text" | "password" | "search"
  readonly inputMode?: "numeric"
  readonly required?: boolean
  readonly mono?: boolean
  readonly autoFocus?: boolean
  readonly autoComplete?: string
  readonly maxLength?: number
  /** More than one line; it grows with what is written. */
  readonly area?: boolean
  readonly rows?: number
  /** Stands at the end of the label's line. */
  readonly beside?: ReactNode
  readonly hideLabel?: boolean
}

/** A labelled text field with its explanation and its fault, tied together for screen readers. */
export const Field = (props: FieldProps) => {
  const shared = {
    className: props.mono ? "input mono" : "input",
    placeholder: props.placeholder ?? "",
    spellCheck: false
  }
  return (
    <TextField
      className="field"
      value={props.value}
      onChange={props.onChange}
      isInvalid={props.fault !== undefined}
      isRequired={props.required ?? false}
      validationBehavior="aria"
      type={props.type ?? "text"}
      autoComplete={props.autoComplete ?? "off"}
      {...(props.inputMode ? { inputMode: props.inputMode } : {})}
      {...(props.maxLength ? { maxLength: props.maxLength } : {})}
      autoFocus={props.autoFocus ?? false}
    >
      {props.beside ? (
        <div className="label-row">
          <Label>{props.label}</Label>
          {props.beside}
        </div>
      ) : (
        <Label className={props.hideLabel ? "sr" : "label"}>{props.label}</Label>
      )}
      {props.area ? <TextArea {...shared} rows={props.rows ?? 1} /> : <Input {...shared} />}
      {props.help && (
        <Text slot="description" className="help">
          {props.help}
        </Text>
      )}
      <FieldError className="fault">{props.fault}</FieldError>
    </TextField>
  )
}

/** The browser's own list: the one every phone and screen reader knows best. */
export const Choice = <Value extends string>({
  label,
  value,
  onChange,
  options,
  hideLabel
}: {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly options: ReadonlyArray<readonly [value: Value, text: string]>
  readonly hideLabel?: boolean
}) => {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? "sr" : "label"}>
        {label}
      </label>
      <select id={id} className="input" value={value} onChange={(event) => onChange(event.target.value as Value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}
