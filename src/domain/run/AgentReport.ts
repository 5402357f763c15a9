/** An agent's report of its work besides the answer. Absent parts are unknown. */
import { Predicate, Result, Schema, Struct } from "effect"
import { AnyJson, Int, pattern } from "../SchemaParts.ts"
import { storable } from "../StorableText.ts"
import { optional } from "../Time.ts"

const maxName = 200
const maxUrl = 2_000
const maxLinks = 20
const maxSuggestions = 10
/** In US dollars, far above what a run can cost, so that sums stay finite. */
const maxCost = 1_000_000_000

const count = (of: string) => optional(Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: of }))
const name = Schema.NonEmptyString.check(Schema.isMaxLength(maxName))

export const AgentUsage = Schema.Struct({
  input_tokens: count("Tokens that the model read, cached ones included."),
  output_tokens: count("Tokens that the model wrote."),
  cached_input_tokens: count("Input tokens that were read from a cache."),
  cost_usd: optional(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: maxCost })).annotate({
      description: "In US dollars, as the agent reported it."
    })
  ),
  model: optional(name.annotate({ description: "The model that did most of the work." }))
}).annotate({ identifier: "AgentUsage", description: "What the work used. A field is absent when it is not known." })
export type AgentUsage = typeof AgentUsage.Type

export const SessionUsage = AgentUsage.mapFields(Struct.omit(["model"])).annotate({
  identifier: "SessionUsage",
  description:
    "What the whole session has used so far, of an agent that counts it. The thread's next prompt has it, so that its run is not charged for it again."
})
export type SessionUsage = typeof SessionUsage.Type

const isHttp = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

export const RunLink = Schema.Struct({
  title: name.annotate({ description: "What the link shows." }),
  url: Schema.String.check(
    Schema.isMaxLength(maxUrl),
    Schema.makeFilter((text) => isHttp(text) || "must be an http or https URL", { toJsonSchema: () => ({}) })
  ).annotate({ description: "An http or https URL." })
}).annotate({ identifier: "RunLink", description: "A result of the work, such as a pull request." })
export type RunLink = typeof RunLink.Type

const maxNote = 500
const hash = optional(Schema.String.check(pattern(/^[\da-f]{40,64}$/)))

export const WorkspaceReport = Schema.Struct({
  base: hash.annotate({ description: "The commit that the agent began with." }),
  head: hash.annotate({ description: "The commit that is checked out now." }),
  files: count("How many files differ from the base, committed or not."),
  insertions: count("Lines that the base does not have."),
  deletions: count("Lines of the base that are gone."),
  branch: optional(name.annotate({ description: "The branch that was pushed." })),
  note: optional(
    Schema.String.check(Schema.isMaxLength(maxNote)).annotate({ description: "What did not go as asked for." })
  )
}).annotate({
  identifier: "WorkspaceReport",
  description: "What the agent changed in its copy of a git repository."
})
export type WorkspaceReport = typeof WorkspaceReport.Type

export const AgentReport = Schema.Struct({
  usage: optional(AgentUsage),
  session_id: optional(name.annotate({ description: "The agent's session, in which it can continue." })),
  session_lost: optional(
    Schema.Boolean.annotate({
      description: "`true` if the agent no longer had the thread's session, and began another one."
    })
  ),
  history_given: optional(
    Schema.Boolean.annotate({
      description:
        "`true` if the agent had no session of the thread, and got the thread's earlier prompts and answers with the prompt."
    })
  ),
  session_usage: optional(SessionUsage),
  links: optional(Schema.Array(RunLink).annotate({ description: `What the work produced, up to ${maxLinks}.` })),
  denied: optional(
    Schema.Array(name).annotate({
      description: `Permissions that the agent asked for and did not get, such as a tool's name, up to ${maxLinks}.`
    })
  ),
  workspace: optional(WorkspaceReport),
  asks: optional(
    Schema.Array(name).annotate({
      description: `Present when the answer is a question: replies to choose from, up to ${maxSuggestions}, or none.`
    })
  )
})
export type AgentReport = typeof AgentReport.Type

/** The part of the work that callers see besides the answer's text. */
export const ShownReport = Schema.Struct({
  answer: optional(
    AnyJson.annotate({
      description: "The value of an answer that matches the webhook's `answer_schema`: any JSON."
    })
  ),
  ...AgentReport.fields
})
export type ShownReport = typeof ShownReport.Type

/** The report as part of a record that has more fields. */
export const reportOf = (report: ShownReport): ShownReport => {
  const { answer, asks, denied, history_given, links, session_id, session_lost, session_usage, usage, workspace } =
    report
  return {
    ...(answer !== undefined && { answer }),
    ...(usage && { usage }),
    ...(session_id !== undefined && { session_id }),
    ...(session_lost !== undefined && { session_lost }),
    ...(history_given !== undefined && { history_given }),
    ...(session_usage && { session_usage }),
    ...(links && { links }),
    ...(denied && { denied }),
    ...(workspace && { workspace }),
    ...(asks && { asks })
  }
}

/** The session, for the next prompt of the thread. */
export const sessionOf = ({
  session_id,
  session_usage
}: AgentReport): Pick<AgentReport, "session_id" | "session_usage"> => ({
  ...(session_id !== undefined && { session_id }),
  ...(session_usage && { session_usage })
})

/** The value if it has the schema's type; text in it becomes storable. */
const read = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (value: unknown): A | undefined =>
    Result.getOrUndefined(decode(typeof value === "string" ? storable(value) : value))
}

const readStruct = <Fields extends Readonly<Record<string, (value: unknown) => unknown>>>(fields: Fields) => {
  const entries = Object.entries(fields)
  return (value: unknown) => {
    if (!Predicate.isObject(value)) return undefined
    const known = entries.flatMap(([field, read]) => {
      const found = value[field] === undefined ? undefined : read(value[field])
      return found === undefined ? [] : [[field, found] as const]
    })
    return known.length === 0 ? undefined : Object.fromEntries(known)
  }
}

const readName = read(name)

const readList =
  <A>(readOne: (value: unknown) => A | undefined, most: number) =>
  (value: unknown): ReadonlyArray<A> | undefined =>
    Array.isArray(value) ? value.slice(0, most).flatMap((one) => readOne(one) ?? []) : undefined

const readNumber = read(AgentUsage.fields.cost_usd.schema)
const readCount = read(AgentUsage.fields.input_tokens.schema)
const readUrl = read(RunLink.fields.url)

const amounts = {
  input_tokens: readCount,
  output_tokens: readCount,
  cached_input_tokens: readCount,
  cost_usd: readNumber
}

const readHash = read(WorkspaceReport.fields.base.schema)

const readLink = (value: unknown): RunLink | undefined => {
  const link = readStruct({ title: readName, url: readUrl })(value)
  return typeof link?.url === "string" ? ({ title: link.url.slice(0, maxName), ...link } as RunLink) : undefined
}

/**
 * The report in a leader's reply; `undefined` when there is none. A part with an invalid value is left out, since a wrong
 * detail must not cost the answer.
 */
export const readReport: (reply: unknown) => AgentReport | undefined = readStruct({
  usage: readStruct({ ...amounts, model: readName }),
  session_id: readName,
  session_lost: read(Schema.Boolean),
  history_given: read(Schema.Boolean),
  session_usage: readStruct(amounts),
  links: readList(readLink, maxLinks),
  denied: readList(readName, maxLinks),
  workspace: readStruct({
    ...{ base: readHash, head: readHash, files: readCount, insertions: readCount, deletions: readCount },
    branch: readName,
    note: (note) => (typeof note === "string" ? storable(note.slice(0, maxNote)) : undefined)
  }),
  asks: readList(readName, maxSuggestions)
})
