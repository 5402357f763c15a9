import { useId } from "react"
import { withCode } from "../WithCode.tsx"

/** A labelled native `select`, which phones and screen readers support best. */
export const SelectField = <Value extends string>({
  label,
  value,
  onChange,
  options,
  hideLabel,
  help
}: {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly options: ReadonlyArray<readonly [value: Value, text: string]>
  readonly hideLabel?: boolean
  readonly help?: string
}) => {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? "sr-only" : "label"}>
        {label}
      </label>
      <select
        id={id}
        className="input"
        {...(help && { "aria-describedby": `${id}-help` })}
        value={value}
        onChange={(event) => onChange(event.target.value as Value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {help && (
        <span id={`${id}-help`} className="help">
          {withCode(help)}
        </span>
      )}
    </div>
  )
}
