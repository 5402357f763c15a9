import type { ReactNode } from "react"
import { TextField as AriaTextField, FieldError, Input, Label, Text, TextArea } from "react-aria-components"
import { withCode } from "../WithCode.tsx"

interface TextFieldProps {
  readonly label: ReactNode
  readonly value: string
  readonly onChange: (value: string) => void
  readonly help?: ReactNode
  /** An error message for the value. */
  readonly fault?: string | undefined
  readonly placeholder?: string
  readonly type?: "text" | "password" | "search"
  readonly inputMode?: "numeric" | "decimal"
  readonly required?: boolean
  readonly mono?: boolean
  readonly autoFocus?: boolean
  readonly autoComplete?: string
  readonly maxLength?: number
  /** Several lines; the field grows with its text. */
  readonly multiline?: boolean
  readonly rows?: number
  /** A control at the end of the label's line. */
  readonly labelEnd?: ReactNode
  /** A control beside the input. */
  readonly inputEnd?: ReactNode
  readonly hideLabel?: boolean
}

/** A text field with label, help and error message, linked for screen readers. */
export const TextField = (props: TextFieldProps) => {
  const shared = {
    className: props.mono ? "input mono" : "input",
    placeholder: props.placeholder ?? "",
    spellCheck: false
  }
  return (
    <AriaTextField
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
      {props.labelEnd ? (
        <div className="label-row">
          <Label>{props.label}</Label>
          {props.labelEnd}
        </div>
      ) : (
        <Label className={props.hideLabel ? "sr-only" : "label"}>{props.label}</Label>
      )}
      {props.multiline ? (
        <TextArea {...shared} rows={props.rows ?? 1} />
      ) : props.inputEnd ? (
        <div className="input-row">
          <Input {...shared} />
          {props.inputEnd}
        </div>
      ) : (
        <Input {...shared} />
      )}
      {props.help && (
        <Text slot="description" className="help">
          {typeof props.help === "string" ? withCode(props.help) : props.help}
        </Text>
      )}
      <FieldError className="fault">{props.fault && withCode(props.fault)}</FieldError>
    </AriaTextField>
  )
}
