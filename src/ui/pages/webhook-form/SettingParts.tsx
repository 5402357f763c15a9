/** Fields for settings whose text has several parts: a number and its unit, or a key and what belongs to it. */
import { type ReactNode, useId, useState } from "react"
import {
  type Retries,
  type Singleton,
  singletonWords,
  type Value,
  valueOf,
  type WebhookSetting,
  type Window
} from "../../../domain/webhook/WebhookSettingKinds.ts"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { withCode } from "../../components/WithCode.tsx"
import { formatSeconds } from "../../format/Format.ts"

interface Parting {
  readonly split: (text: string) => ReadonlyArray<string>
  readonly join: (parts: ReadonlyArray<string>) => string
}

/** The parts of a text as they are typed: an unfinished one is kept, though its text cannot be split again. */
const useParts = (text: string, { join, split }: Parting, onChange: (text: string) => void) => {
  const [typed, setTyped] = useState(() => ({ text, parts: split(text) }))
  const parts = typed.text === text ? typed.parts : split(text)
  const setPart = (index: number, part: string) => {
    const changed = parts.map((each, at) => (at === index ? part : each))
    const joined = join(changed)
    setTyped({ text: joined, parts: changed })
    onChange(joined)
  }
  return [parts, setPart] as const
}

const units = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const
type Unit = keyof typeof units
const unitNames = Object.keys(units) as ReadonlyArray<Unit>

/** A number of seconds, in the longest unit in which it is a whole number. */
const inUnits: Parting = {
  split: (seconds) => {
    const count = /^[1-9]\d*$/.test(seconds) ? Number(seconds) : undefined
    const unit = unitNames.findLast((name) => count !== undefined && count % units[name] === 0) ?? "seconds"
    return [count === undefined ? seconds : String(count / units[unit]), unit]
  },
  join: ([count, unit]) =>
    /^\d+(\.\d+)?$/.test(count!.trim()) ? String(Number(count) * units[unit as Unit]) : count!.trim()
}

/** A number of seconds, typed with a unit. */
export const DurationField = ({
  label,
  value,
  onChange,
  help,
  fault,
  placeholder
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (seconds: string) => void
  readonly help?: ReactNode
  readonly fault?: string | undefined
  readonly placeholder?: string
}) => {
  const [[count, unit], setPart] = useParts(value, inUnits, onChange)
  return (
    <TextField
      label={label}
      value={count!}
      onChange={(count) => setPart(0, count)}
      inputMode="decimal"
      help={help}
      fault={fault}
      placeholder={placeholder ?? ""}
      inputEnd={
        <SelectField
          label={`Unit of ${label}`}
          hideLabel
          value={unit!}
          onChange={(unit) => setPart(1, unit)}
          options={unitNames.map((name) => [name, name] as const)}
        />
      }
    />
  )
}

type Part = { readonly label: string } & (
  | { readonly kind: "text" | "count" | "duration"; readonly placeholder?: string }
  | { readonly kind: "choice"; readonly options: ReadonlyArray<readonly [value: string, text: string]> }
)

interface Composed extends Parting {
  readonly parts: ReadonlyArray<Part>
  /** The accepted values, as a sentence. */
  readonly accepts: string
  readonly inWords: (value: Value) => string
}

/** `valuesOf`: those of the parts. A text that is not such a value is the first part. */
const compose = <A extends Value & object>(
  setting: WebhookSetting,
  {
    valuesOf,
    inWords,
    ...composed
  }: Omit<Composed, "split" | "inWords"> & {
    readonly valuesOf: (value: A) => ReadonlyArray<unknown>
    readonly inWords: (value: A) => string
  }
): Composed => ({
  ...composed,
  split: (text) => {
    const value = valueOf(setting, text)
    const values = typeof value === "object" ? valuesOf(value as A) : [text]
    return composed.parts.map((_, index) => String(values[index] ?? ""))
  },
  inWords: (value) => inWords(value as A)
})

const isEmpty = (...parts: ReadonlyArray<string | undefined>): boolean => parts.every((part) => part!.trim() === "")

/** Undefined for settings with one part. */
export const composed = (setting: WebhookSetting): Composed | undefined => {
  switch (setting.kind) {
    case "retries":
      return compose<Retries>(setting, {
        parts: [
          { kind: "count", label: "Maximum retries" },
          { kind: "duration", label: "First delay" }
        ],
        valuesOf: ({ max_retries, backoff_seconds }) => [max_retries, backoff_seconds],
        join: ([retries, delay]) => (isEmpty(retries, delay) ? "" : `${retries}/${delay}`),
        accepts: `Enter 1 to ${setting.mostRetries} retries and a first delay of at most ${formatSeconds(setting.mostSeconds)}.`,
        inWords: ({ max_retries, backoff_seconds }) =>
          `${max_retries}, the first after ${formatSeconds(backoff_seconds)}`
      })
    case "window":
      return compose<Window>(setting, {
        parts: [
          { kind: "text", label: "Same value of", placeholder: "branch" },
          { kind: "duration", label: "Within" },
          { kind: "duration", label: "Until none comes for (optional)" },
          {
            kind: "choice",
            label: "Requests in the prompt",
            options: [
              ["", "the last"],
              ["all", "all of them"]
            ]
          }
        ],
        valuesOf: ({ collect, key, quiet, within }) => [key, within, quiet, collect === "all" ? "all" : ""],
        join: ([key, within, quiet, collect]) => {
          if (isEmpty(key, within, quiet)) return ""
          return [key, within, ...(quiet ? [`quiet=${quiet}`] : []), ...(collect ? [`collect=${collect}`] : [])].join(
            " "
          )
        },
        accepts: `Enter the name of a value and a time of at most ${formatSeconds(setting.longest)}. The second time must not be longer.`,
        inWords: ({ collect, key, quiet, within }) =>
          [
            `${key} within ${formatSeconds(within)}`,
            ...(quiet ? [`until none comes for ${formatSeconds(quiet)}`] : []),
            ...(collect === "all" ? ["all in the prompt"] : [])
          ].join(", ")
      })
    case "singleton":
      return compose<Singleton>(setting, {
        parts: [
          { kind: "text", label: "Key", placeholder: "{{payload.pull_request.id}}" },
          {
            kind: "choice",
            label: "What a new request does",
            options: [["", "Choose"], ...singletonWords.map((word) => [word, word] as const)]
          }
        ],
        valuesOf: ({ key, on_new }) => [key, on_new],
        join: ([key, word]) => (isEmpty(key, word) ? "" : `${key} ${word}`),
        accepts: `Enter a key of at most ${setting.maxLength} characters, and choose what a new request does.`,
        inWords: ({ key, on_new }) => `${key}: ${on_new}`
      })
    default:
      return undefined
  }
}

/** The parts of such a setting, as a group. */
export const ComposedField = ({
  label,
  parts,
  value,
  onChange,
  help,
  fault,
  ...parting
}: Parting & {
  readonly label: string
  readonly parts: ReadonlyArray<Part>
  readonly value: string
  readonly onChange: (text: string) => void
  readonly help: string
  readonly fault: string | undefined
}) => {
  const helpId = useId()
  const [texts, setPart] = useParts(value, parting, onChange)
  return (
    <fieldset className="parts" aria-describedby={helpId}>
      <legend className="label">{label}</legend>
      <div className="setting-fields">
        {parts.map((part, index) => {
          const field = { label: part.label, value: texts[index]!, onChange: (text: string) => setPart(index, text) }
          if (part.kind === "choice") return <SelectField key={part.label} {...field} options={part.options} />
          const more = { placeholder: part.placeholder ?? "", fault: index === 0 ? fault : undefined }
          if (part.kind === "duration") return <DurationField key={part.label} {...field} {...more} />
          return (
            <TextField key={part.label} {...field} {...more} {...(part.kind === "count" && { inputMode: "numeric" })} />
          )
        })}
      </div>
      <span id={helpId} className="help">
        {withCode(help)}
      </span>
    </fieldset>
  )
}
