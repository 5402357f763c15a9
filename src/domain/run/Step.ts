/** An agent's steps in a run. Leaders report them with their progress. Browser-safe. */
import { storable } from "../StorableText.ts"

export const stepKinds = ["tool", "file", "text", "retry"] as const
export const stepStatuses = ["running", "ok", "failed"] as const

/** In UTF-16 code units. */
export const maxTitle = 200
export const maxDetail = 2_000
/** The limits of one report, in UTF-16 code units; and of a run, in bytes of JSON. */
const maxReport = 64 * 1024
export const keptSteps = 256 * 1024

export interface Step {
  readonly kind: (typeof stepKinds)[number]
  /** The ID of a tool call. A later report with it updates the step. */
  readonly id?: string
  /** The agent's action, in one line: `Running the tests`, `Retrying: 429 (4 of 10)`. */
  readonly title: string
  readonly tool?: string
  /** The tool's input, or the text. */
  readonly detail?: string
  readonly status?: (typeof stepStatuses)[number]
  readonly result_bytes?: number
  /** When it began, RFC 3339. */
  readonly at: string
  readonly duration_ms?: number
}

/** A step as it is reported: one with an ID may be told in parts. */
export type StepReport = Partial<Step>

const oneLine = (text: string): string =>
  storable((text.trim().split(/[\r\n]/, 1)[0] ?? "").trimEnd().slice(0, maxTitle))

const among = <A extends string>(all: ReadonlyArray<A>, value: unknown): A | undefined =>
  all.find((known) => known === value)
const line = (value: unknown): string | undefined => (typeof value === "string" && oneLine(value)) || undefined
const count = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : undefined
const detailOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? storable(value.slice(0, maxDetail)) : undefined
const timeOf = (value: unknown): string | undefined => {
  const at = typeof value === "string" ? new Date(value) : undefined
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** Without the fields that are `undefined`. */
const known = <A extends object>(fields: A): { readonly [Name in keyof A]?: Exclude<A[Name], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

/** The step in a leader's message; `undefined` if it says nothing. What is not valid in it is left out. */
export const readStep = (given: unknown): StepReport | undefined => {
  if (typeof given !== "object" || given === null) return undefined
  const value = given as Readonly<Record<string, unknown>>
  const step: StepReport = known({
    id: line(value.id),
    kind: among(stepKinds, value.kind),
    title: line(value.title) ?? line(value.tool) ?? (value.kind === "text" ? line(value.detail) : undefined),
    tool: line(value.tool),
    detail: value.detail === value.title && value.title === line(value.title) ? undefined : detailOf(value.detail),
    status: among(stepStatuses, value.status),
    result_bytes: count(value.result_bytes),
    at: timeOf(value.at),
    duration_ms: count(value.duration_ms)
  })
  return step.id === undefined && step.title === undefined ? undefined : step
}

/** The fields that a later report of a tool call changes. The time stays that of the beginning. */
const changes = ({ at: _, ...report }: StepReport) => report

/** The reports with those of one tool call as one. */
const merged = <A extends StepReport>(reports: ReadonlyArray<A>): Array<A> => {
  const places = new Map<string, number>()
  const steps: Array<A> = []
  for (const report of reports) {
    const place = report.id === undefined ? undefined : places.get(report.id)
    if (place !== undefined) steps[place] = { ...report, ...steps[place]!, ...changes(report) }
    else {
      if (report.id !== undefined) places.set(report.id, steps.length)
      steps.push(report)
    }
  }
  return steps
}

/** About the size in JSON, in UTF-16 code units. */
export const sizeOf = ({ detail = "", id = "", title = "", tool = "" }: StepReport): number =>
  150 + id.length + title.length + tool.length + detail.length

/** The reports as one, bounded: the oldest lose their details first, then they are dropped. */
export const mergeSteps = (before: ReadonlyArray<StepReport>, next: ReadonlyArray<StepReport>) => {
  const steps = merged([...before, ...next])
  let size = steps.reduce((sum, step) => sum + sizeOf(step), 0)
  for (let i = 0; size > maxReport && i < steps.length; i++) {
    const { detail = "", ...rest } = steps[i]!
    steps[i] = rest
    size -= detail.length
  }
  while (size > maxReport) size -= sizeOf(steps.shift()!)
  return steps
}

/** All that was reported of a run, as steps. An end whose beginning is no longer kept is left out. */
export const toSteps = (reports: ReadonlyArray<StepReport>): ReadonlyArray<Step> =>
  merged(reports).flatMap((report) => {
    const { at, kind = "tool", title } = report
    return title === undefined || at === undefined ? [] : [{ ...report, at, kind, title }]
  })

const sizes = new Intl.NumberFormat("en", { style: "unit", unit: "byte", unitDisplay: "narrow", notation: "compact" })

/** A number of bytes for people: `12KB`. */
export const sizeText = (bytes: number): string => sizes.format(bytes)

/** The result of a step, in a few words; `undefined`: nothing is known. */
export const resultOf = ({ duration_ms, result_bytes, status }: StepReport): string | undefined =>
  [
    ...(status === "failed" ? ["failed"] : status === "running" ? ["running"] : []),
    ...(result_bytes === undefined ? [] : [sizeText(result_bytes)]),
    ...(duration_ms === undefined ? [] : [`${(duration_ms / 1000).toFixed(1)} s`])
  ].join(", ") || undefined
