import { mkdirSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { Array as Arr, Effect, Option, Schedule, Schema } from "effect"
import { Argument, Flag } from "effect/cli"
import { pageSize } from "../../api/PageSize.ts"
import { Cancelled } from "../../api/run/Runs.ts"
import { RunStatus, type Variables } from "../../domain/run/Run.ts"
import { isIncoming, type RunFile } from "../../domain/run/RunFile.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { type Connection, send } from "../Call.ts"
import { derived, group, type Leaf, remote } from "../Command.ts"
import { downloadCommand } from "../Download.ts"
import { exitCodes, Failure, refused } from "../Failure.ts"
import { fieldRule, type Rules } from "../Input.ts"
import { acceptedText, answerText, fields, plural, print, printJson, time } from "../Output.ts"
import { findRun, noRun } from "../References.ts"
import { webhookArgument } from "../Rules.ts"
import { watch } from "./Follow.ts"
import { messageCommand } from "./Messages.ts"
import { failUnlessSuccess } from "./Outcome.ts"
import { describeRun, fileTable, runTable, stepTable } from "./RunText.ts"

/** The filters of `list`, `export` and `usage`. */
const filters: Rules = {
  webhook_id: (field) => ({ ...webhookArgument(field), isArgument: "optional" }),
  status: (field) =>
    fieldRule(field, {
      value: "states",
      about: `Only runs with these statuses, separated by commas: ${RunStatus.literals.join(", ")}`
    }),
  search: (field) =>
    fieldRule(field, {
      about: "Only runs with this text in their values, prompt, answer or error, or the run with this id"
    })
}

const list = derived("list", "runs.list", {
  about: "List the runs of all webhooks and teams, or of one webhook, newest first",
  details:
    "Filters combine with AND. A search stops after half a second and shows how far back it went; continue with --cursor.",
  examples: [
    "webhook-trigger run list --status error,timeout --from 2026-01-02",
    "webhook-trigger run list review --search 'no space left'",
    "webhook-trigger run list --team deploy --min-duration 60 --json | jq -r '.data[].run_id'"
  ],
  rules: filters,
  beside: (client, _, { request }) =>
    request.query.webhook_id === undefined
      ? Effect.map(client.webhooks.list(), ({ data }) => new Map(data.map(({ id, name }) => [id, name])))
      : Effect.undefined,
  text: ({ data, next_cursor, searched_back_to: since }, _, names) =>
    [
      ...(data.length > 0 ? [runTable(data, names)] : since === undefined ? ["No runs."] : []),
      ...(since === undefined
        ? []
        : [
            `The search stopped early, at ${time(since)}${data.length === 0 ? ": no run since then matches" : ""}. Older runs may match.`
          ]),
      ...(next_cursor === null ? [] : [`${since === undefined ? "Older runs" : "Search on"}: --cursor ${next_cursor}`])
    ].join("\n\n")
})

const runArgument = Argument.String("run-id").pipe(
  Argument.withDescription("The run's ID, the beginning or end of one, or `last` for the newest run")
)

/** Asks often at first, as many runs are short. */
const intervals = Schedule.min([Schedule.exponential("100 millis", 1.5), Schedule.spaced("2 seconds")])

const show = remote(
  "show",
  {
    about: "Show one run with its prompt and answer, or what its agent did",
    details: "With --wait, the exit code is the same as that of trigger --wait."
  },
  {
    id: runArgument,
    wait: Flag.Boolean("wait").pipe(Flag.withDescription("Wait until the run has ended"), Flag.withDefault(false)),
    steps: Flag.Boolean("steps").pipe(
      Flag.withDescription("Show what the agent did, step by step, instead of the run"),
      Flag.withDefault(false)
    )
  },
  ({ id, steps, wait }, connection) =>
    Effect.gen(function* () {
      const params = { run_id: yield* findRun(connection, id) }
      const read = send(connection, "runs.show", { params }, noRun(id))
      const run = yield* Effect.repeat(read, {
        schedule: intervals,
        until: ({ answer }) => !wait || isFinal(answer.status)
      })
      if (steps) {
        const { answer, json } = yield* send(connection, "runs.steps", { params }, noRun(id))
        yield* connection.json ? printJson(json) : print(stepTable(answer.data))
      } else if (connection.json) yield* printJson(run.json)
      else {
        const { data } = yield* connection.call((client) => client.runs.replays({ params }))
        yield* print(describeRun(run.answer, data))
      }
      if (wait) yield* failUnlessSuccess(run.answer)
    })
)

const saveFile = (folder: string, { id, name }: RunFile, bytes: Uint8Array) =>
  Effect.try({
    try: () => {
      const into = join(folder, isIncoming({ id }) ? "in" : "out")
      mkdirSync(into, { recursive: true })
      writeFileSync(join(into, basename(name)), bytes)
    },
    catch: (error) => refused("Cannot save the file", String(error))
  })

const files = derived("files", "runs.files", {
  about: "List or save the files of a run",
  details: "Files with an id in-… came with the request, those with out-… the agent left.",
  examples: ["webhook-trigger run files last", "webhook-trigger run files last --save results"],
  more: {
    save: Flag.Directory("save").pipe(
      Flag.withMetavar("folder"),
      Flag.withDescription("Save them in the folders in and out of this folder"),
      Flag.optional
    )
  },
  text: ({ data }) => fileTable(data),
  after: Effect.fnUntraced(function* ({ data }, { connection, more, request }) {
    if (Option.isNone(more.save)) return
    const saved = new Set<string>()
    for (const { id, name, ...file } of data) {
      if (file.size === undefined) continue
      const params = { ...request.params, file_id: id }
      const bytes = yield* connection.call((client) => client.runs.file({ params }))
      const key = `${isIncoming({ id })} ${name.toLowerCase()}`
      yield* saveFile(more.save.value, { ...file, id, name: saved.has(key) ? `${id}-${name}` : name }, bytes)
      saved.add(key)
    }
  })
})

const cancelOne = Effect.fnUntraced(function* (connection: Connection, ref: string) {
  const params = { run_id: yield* findRun(connection, ref) }
  const { answer, json } = yield* send(connection, "runs.cancel", { params }, noRun(ref))
  if (connection.json) return yield* printJson(json)
  yield* print(
    answer.status === "error"
      ? "Retry cancelled. The run stays failed."
      : answer.released_at === undefined
        ? "Cancelled. The prompt was already sent; the leader is asked to stop."
        : "Cancelled. The prompt will not be sent."
  )
})

const noSuchRun = "No run has this id."

const cancelSome = Effect.fnUntraced(function* (connection: Connection, ids: ReadonlyArray<string>) {
  const found = yield* Effect.forEach(Arr.dedupe(ids), (ref) =>
    Effect.catchTag(findRun(connection, ref), "CliFailure", ({ exit, faults = [], title, ...failure }) =>
      exit === exitCodes.refused
        ? Effect.succeed({ pointer: ref, detail: faults.length === 0 ? noSuchRun : title })
        : Effect.fail(new Failure({ ...failure, exit, faults, title }))
    )
  )
  const run_ids = found.filter((one) => typeof one === "string")
  const results = yield* connection.call((client) =>
    Effect.forEach(Arr.chunksOf(Arr.dedupe(run_ids), pageSize.maximum), (run_ids) =>
      client.runs.cancelSome({ payload: { run_ids } })
    )
  )
  const cancelled = results.flatMap(({ cancelled }) => cancelled)
  const refused = results.flatMap(({ refused }) => refused)
  yield* connection.json
    ? printJson(Schema.encodeSync(Cancelled)({ cancelled, refused }))
    : print(`${plural(cancelled.length, "run")} cancelled.`)
  const ofServer = refused.map(({ code, detail, run_id }) => ({
    pointer: run_id,
    detail: code === "not_found" ? noSuchRun : detail
  }))
  const faults = [...found.filter((one) => typeof one !== "string"), ...ofServer]
  if (faults.length === 0) return
  return yield* new Failure({
    exit: exitCodes.refused,
    title: `${plural(faults.length, "run")} not cancelled`,
    faults
  })
})

const cancel = remote(
  "cancel",
  {
    about: "Cancel unfinished runs and chat messages, or the retries of failed runs",
    details:
      "With several ids, cancels those that it can and lists the others. To cancel all queued runs, use webhook cancel-queued or team cancel-queued.",
    examples: [
      "webhook-trigger run list --search canary --json | jq -r '.data[].run_id' | xargs webhook-trigger run cancel"
    ]
  },
  { ids: Argument.atLeast(runArgument, 1) },
  ({ ids }, connection) => (ids.length === 1 ? cancelOne(connection, ids[0]!) : cancelSome(connection, ids))
)

const decide = (decision: "approve" | "deny", about: string, done: string): Leaf =>
  derived(decision, "runs.decide", {
    about,
    details: "Shows no prompt: see run show. The first decision counts. run list --asks lists the runs that wait.",
    examples: [`webhook-trigger run ${decision} last`],
    set: { payload: { decision } },
    text: () => done
  })

const start = derived("start", "runs.start", {
  about: "Start a run early that waits for its time or its window",
  examples: ["webhook-trigger run start last"],
  text: ({ held_for, status }) => (held_for === undefined ? `The run is ${status}.` : "It starts within a second.")
})

const replay = derived("replay", "runs.replay", {
  about: "Replay a run of a webhook, or a chat message, as a new run",
  details: "Uses the same values or text, except for those given. An empty --thread means none.",
  examples: ["webhook-trigger run replay 01890a5d-ac96-774b-bcce-b302099a8057 --var branch=main"],
  rules: {
    message: (field) => fieldRule(field, { about: "A new text, for a chat message" }),
    thread: (field) => fieldRule(field, { value: "key" })
  },
  apart: [
    ["same-prompt", "var", "json-var"],
    ["same-prompt", "message"]
  ],
  // A given value replaces the run's value.
  amend: ({ params, payload, ...request }, { call }) =>
    Effect.map(
      payload.variables === undefined ? Effect.succeed({}) : call((client) => client.runs.show({ params })),
      ({ variables }: { readonly variables?: Variables }) => ({
        ...{ ...request, params },
        payload: { ...payload, ...(variables && { variables: { ...variables, ...payload.variables } }) }
      })
    ),
  text: (answer) => (answer.status === "accepted" ? acceptedText(answer.run_id) : answerText(answer.response))
})

const usage = derived("usage", "runs.usage", {
  about: "Sum the tokens and the cost of the runs that match the filters",
  details: "As the agents reported them. The search stops after half a second and shows how far back it went.",
  examples: ["webhook-trigger run usage review --from 2026-01-01"],
  rules: filters,
  text: (usage) =>
    fields({
      runs: usage.runs,
      "reported usage": usage.reported,
      cost: usage.cost_usd === undefined ? undefined : `$${usage.cost_usd}`,
      "input tokens": usage.input_tokens,
      "cached input tokens": usage.cached_input_tokens,
      "output tokens": usage.output_tokens,
      "only since": time(usage.searched_back_to)
    })
})

export const runs = group("run", "Runs and their outcomes.", [
  list,
  show,
  files,
  watch,
  cancel,
  decide("approve", "Approve a run that waits for approval: its prompt is sent", "Approved."),
  decide("deny", "Deny a run that waits for approval: it is cancelled", "Denied. The prompt will not be sent."),
  start,
  replay,
  messageCommand("reply", "threads.reply", {
    about: "Reply to a run, such as to a question: the agent continues its session once the run has ended",
    details: "The reply belongs to the run's thread. A run without a thread begins one.",
    examples: [
      "webhook-trigger run reply last 'Yes, merge it'",
      "webhook-trigger run reply 01890a5d-ac96-774b-bcce-b302099a8057 'Yes, merge it' --wait"
    ]
  }),
  usage,
  downloadCommand(
    "runs.exportCsv",
    "runs.exportJsonLines",
    {
      about: "Export all runs that match the filters, newest first, with complete texts",
      details: "In CSV, a text that a spreadsheet could read as a formula gets a leading apostrophe.",
      examples: ["webhook-trigger run export --status error,timeout --from 2026-01-01 --format csv --output failed.csv"]
    },
    filters
  )
])
