import { mkdirSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { Array, Effect, Option, Schedule, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { HttpClientRequest } from "effect/http"
import { runExports } from "../../api/ExportPaths.ts"
import { pageSize } from "../../api/PageSize.ts"
import { RunFilterParameters, RunPage } from "../../api/run/RunPage.ts"
import { Cancelled, FileList } from "../../api/run/Runs.ts"
import { StepList } from "../../api/run/Steps.ts"
import { RunId } from "../../domain/Id.ts"
import { Run } from "../../domain/run/Run.ts"
import { isIncoming, type RunFile } from "../../domain/run/RunFile.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { RunUsage } from "../../domain/run/RunUsage.ts"
import { ShownRun } from "../../domain/run/ShownRun.ts"
import type { Group } from "../Commands.ts"
import { adminOptions, type Connection, call, show } from "../Connection.ts"
import { download, output } from "../Download.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { fields, plural, time } from "../Output.ts"
import { validated, wholeNumber } from "../Validated.ts"
import { callOnWebhook, webhook as webhookArgument } from "../webhook/WebhookRef.ts"
import { approve, deny } from "./Approval.ts"
import * as Follow from "./Follow.ts"
import { failUnlessSuccess } from "./Outcome.ts"
import { replayOne } from "./Replays.ts"
import { reply } from "./Reply.ts"
import { filterOptions, parametersOf } from "./RunFilter.ts"
import { findRun, runArgument, runNotFound } from "./RunRef.ts"
import { describeRun, fileTable, runTable, stepTable } from "./RunText.ts"

const webhook = Argument.optional(webhookArgument)

/** The id of the given webhook, if any. */
const idOf = (options: Connection & { readonly webhook: Option.Option<string> }) =>
  Option.isSome(options.webhook)
    ? callOnWebhook({ ...options, webhook: options.webhook.value }, (_, { id }) => Effect.succeed(id))
    : Effect.succeed(undefined)

const limit = Flag.String("limit").pipe(
  Flag.withMetavar("count"),
  Flag.withDescription(`Runs per page, ${pageSize.minimum} to ${pageSize.maximum}; default: ${pageSize.default}`),
  Flag.mapTryCatch(...validated("--limit", wholeNumber(pageSize.minimum, pageSize.maximum))),
  Flag.withDefault(pageSize.default)
)
const cursor = Flag.String("cursor").pipe(
  Flag.withDescription("The previous page's `next_cursor`"),
  Flag.optional
)

const list = Command.make("list", { webhook, ...filterOptions, limit, cursor, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const ofWebhook = yield* idOf(options)
    const [page, webhooks] = yield* call(options, (client) =>
      Effect.all(
        [
          client.runs.list({
            urlParams: {
              ...parametersOf(options),
              webhook_id: ofWebhook,
              limit: options.limit,
              cursor: Option.getOrUndefined(options.cursor)
            }
          }),
          options.json || ofWebhook !== undefined
            ? Effect.succeed([])
            : Effect.map(client.webhooks.list(), ({ data }) => data)
        ],
        { concurrency: 2 }
      )
    )
    const names = new Map(webhooks.map(({ id, name }) => [id, name]))
    yield* show(options, RunPage, page, ({ data, next_cursor, searched_back_to }) =>
      [
        ...(data.length > 0 ? [runTable(data, ofWebhook === undefined ? names : undefined)] : []),
        ...(searched_back_to === undefined
          ? data.length === 0
            ? ["No runs."]
            : []
          : [
              `The search stopped early, at ${time(searched_back_to)}${data.length === 0 ? ": no run since then matches" : ""}. Older runs may match.`
            ]),
        ...(next_cursor === null
          ? []
          : [`${searched_back_to === undefined ? "Older runs" : "Search on"}: --cursor ${next_cursor}`])
      ].join("\n\n")
    )
  })
).pipe(
  Command.withDescription(
    about("List the runs of all webhooks and teams, or of one webhook, newest first", {
      details:
        "Filters combine with AND. A search stops after half a second and shows how far back it went; continue with --cursor.",
      examples: [
        "webhook-trigger run list --status error,timeout --from 2026-01-02",
        "webhook-trigger run list review --search 'no space left'",
        "webhook-trigger run list --team deploy --min-duration 60 --json | jq -r '.data[].run_id'"
      ]
    })
  )
)

const untilEnded = Flag.Boolean("wait").pipe(Flag.withDescription("Wait until the run has ended"))

/** Asks often at first, as many runs are short. */
const intervals: Schedule.Schedule<unknown, ShownRun> = Schedule.min(
  Schedule.exponential("100 millis", 1.5),
  Schedule.spaced("2 seconds")
)

const withSteps = Flag.Boolean("steps").pipe(
  Flag.withDescription("Show what the agent did, step by step, instead of the run")
)

const showOne = Command.make("show", { id: runArgument, untilEnded, withSteps, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const { replays, run, steps } = yield* call(
      options,
      (client) =>
        Effect.gen(function* () {
          const path = { run_id: yield* findRun(client, options.id) }
          const run = yield* Effect.repeat(client.runs.show({ path }), {
            schedule: Schedule.passthrough(intervals),
            until: ({ status }) => !options.untilEnded || isFinal(status)
          })
          // The JSON output is the API's record, without replays.
          const steps = options.withSteps ? yield* client.runs.steps({ path }) : undefined
          const replays = options.json || steps ? [] : (yield* client.runs.replays({ path })).data
          return { run, steps, replays }
        }),
      runNotFound(options.id)
    )
    if (steps !== undefined) yield* show(options, StepList, steps, ({ data }) => stepTable(data))
    else yield* show(options, ShownRun, run, (run) => describeRun(run, replays))
    if (options.untilEnded) yield* failUnlessSuccess(run)
  })
).pipe(
  Command.withDescription(
    about("Show one run with its prompt and answer, or what its agent did", {
      details: "With --wait, the exit code is the same as that of trigger --wait."
    })
  )
)

const save = Flag.String("save").pipe(
  Flag.withMetavar("folder"),
  Flag.withDescription("Save them in the folders in and out of this folder"),
  Flag.optional
)

const saveFile = (folder: string, { id, name }: RunFile, bytes: Uint8Array) =>
  Effect.try({
    try: () => {
      const into = join(folder, isIncoming({ id }) ? "in" : "out")
      mkdirSync(into, { recursive: true })
      writeFileSync(join(into, basename(name)), bytes)
    },
    catch: (error) => new Failure({ exit: exitCodes.refused, title: "Cannot save the file", detail: String(error) })
  })

const files = Command.make("files", { id: runArgument, save, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const { run_id, list } = yield* call(
      options,
      (client) =>
        Effect.flatMap(findRun(client, options.id), (run_id) =>
          Effect.map(client.runs.files({ path: { run_id } }), (list) => ({ run_id, list }))
        ),
      runNotFound(options.id)
    )
    if (Option.isSome(options.save)) {
      const saved = new Set<string>()
      for (const { id, name, ...file } of list.data) {
        if (file.size === undefined) continue
        const bytes = yield* call(options, (client) => client.runs.file({ path: { run_id, file_id: id } }))
        const key = `${isIncoming({ id })} ${name.toLowerCase()}`
        yield* saveFile(options.save.value, { ...file, id, name: saved.has(key) ? `${id}-${name}` : name }, bytes)
        saved.add(key)
      }
    }
    yield* show(options, FileList, list, ({ data }) => fileTable(data))
  })
).pipe(
  Command.withDescription(
    about("List or save the files of a run", {
      details: "Files with an id in-… came with the request, those with out-… the agent left.",
      examples: ["webhook-trigger run files last", "webhook-trigger run files last --save results"]
    })
  )
)

const ids = Argument.atLeast(runArgument, 1)

const cancelOne = Effect.fnUntraced(function* (options: Connection, ref: string) {
  const run = yield* call(
    options,
    (client) => Effect.flatMap(findRun(client, ref), (run_id) => client.runs.cancel({ path: { run_id } })),
    runNotFound(ref)
  )
  yield* show(options, Run, run, ({ released_at, status }) =>
    status === "error"
      ? "Retry cancelled. The run stays failed."
      : released_at === undefined
        ? "Cancelled. The prompt was already sent; the leader is asked to stop."
        : "Cancelled. The prompt will not be sent."
  )
})

const noSuchRun = "No run has this id."

const cancelSome = Effect.fnUntraced(function* (options: Connection, ids: ReadonlyArray<string>) {
  const { results, unknown } = yield* call(options, (client) =>
    Effect.gen(function* () {
      const found = yield* Effect.forEach(Array.dedupe(ids), (ref) =>
        Effect.catchTag(findRun(client, ref), "CliFailure", ({ faults = [], title }) =>
          Effect.succeed({ pointer: ref, detail: faults.length === 0 ? noSuchRun : title })
        )
      )
      const [unknown, run_ids] = Array.partition(found, Schema.is(RunId))
      const results = yield* Effect.forEach(Array.chunksOf(Array.dedupe(run_ids), pageSize.maximum), (run_ids) =>
        client.runs.cancelSome({ payload: { run_ids } })
      )
      return { results, unknown }
    })
  )
  const cancelled = results.flatMap(({ cancelled }) => cancelled)
  const refused = results.flatMap(({ refused }) => refused)
  yield* show(options, Cancelled, { cancelled, refused }, () => `${plural(cancelled.length, "run")} cancelled.`)
  const faults = [
    ...unknown,
    ...refused.map(({ code, detail, run_id }) => ({
      pointer: run_id,
      detail: code === "not_found" ? noSuchRun : detail
    }))
  ]
  if (faults.length > 0) {
    return yield* new Failure({
      exit: exitCodes.refused,
      title: `${plural(faults.length, "run")} not cancelled`,
      faults
    })
  }
})

const cancel = Command.make("cancel", { ids, ...adminOptions }, (options) => {
  const [id, ...others] = options.ids
  return others.length === 0 ? cancelOne(options, id) : cancelSome(options, options.ids)
}).pipe(
  Command.withDescription(
    about("Cancel unfinished runs and chat messages, or the retries of failed runs", {
      details:
        "With several ids, cancels those that it can and lists the others. To cancel all queued runs, use webhook cancel-queued or team cancel-queued.",
      examples: [
        "webhook-trigger run list --search canary --json | jq -r '.data[].run_id' | xargs webhook-trigger run cancel"
      ]
    })
  )
)

const format = Flag.choiceWithValue("format", [
  ["csv", runExports.csv],
  ["jsonl", runExports.jsonl]
]).pipe(
  Flag.withMetavar("format"),
  Flag.withDescription("csv, or jsonl (one JSON object per line); default: jsonl"),
  Flag.withDefault(runExports.jsonl)
)
const { json: _, ...connectionOptions } = adminOptions

const exportAll = Command.make("export", { webhook, ...filterOptions, format, output, ...connectionOptions }, (given) =>
  Effect.gen(function* () {
    const options = { ...given, json: false }
    const filter = { ...parametersOf(options), webhook_id: yield* idOf(options) }
    yield* download(options, options.format, Schema.encodeSync(RunFilterParameters)(filter), options.output)
  })
).pipe(
  Command.withDescription(
    about("Export all runs that match the filters, newest first, with complete texts", {
      details: "In CSV, a text that a spreadsheet could read as a formula gets a leading apostrophe.",
      examples: ["webhook-trigger run export --status error,timeout --from 2026-01-01 --format csv --output failed.csv"]
    })
  )
)

const describe = (usage: RunUsage) =>
  fields({
    runs: usage.runs,
    "reported usage": usage.reported,
    cost: usage.cost_usd === undefined ? undefined : `$${usage.cost_usd}`,
    "input tokens": usage.input_tokens,
    "cached input tokens": usage.cached_input_tokens,
    "output tokens": usage.output_tokens,
    "only since": time(usage.searched_back_to)
  })

const usage = Command.make("usage", { webhook, ...filterOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const webhook_id = yield* idOf(options)
    const urlParams = { ...parametersOf(options), webhook_id }
    yield* show(options, RunUsage, yield* call(options, (client) => client.runs.usage({ urlParams })), describe)
  })
).pipe(
  Command.withDescription(
    about("Sum the tokens and the cost of the runs that match the filters", {
      details: "As the agents reported them. The search stops after half a second and shows how far back it went.",
      examples: ["webhook-trigger run usage review --from 2026-01-01"]
    })
  )
)

const watch = Command.make("watch", { id: runArgument, ...adminOptions }, (options) => {
  const { adminKey, json, url } = options
  const source: Follow.Source = {
    url,
    json,
    notFound: runNotFound(options.id),
    events: (run_id) => {
      const request = HttpClientRequest.get(`${url}/api/runs/${encodeURIComponent(run_id)}/events`)
      return Option.isSome(adminKey) ? HttpClientRequest.bearerToken(request, adminKey.value) : request
    }
  }
  return Effect.gen(function* () {
    const run_id = yield* call(options, (client) => findRun(client, options.id))
    yield* Follow.follow(source, run_id, yield* Follow.open(source, run_id))
  })
}).pipe(
  Command.withDescription(
    about("Follow a run until it ends", {
      details:
        "Prints the text as the agent writes it, and what it does on standard error. Reconnects by itself. The exit code is the same as that of trigger --wait. With --json, prints one line for each event.",
      examples: ["webhook-trigger run watch last", "webhook-trigger run watch 01890a5d-ac96-774b-bcce-b302099a8057"]
    })
  )
)

export const runs: Group = {
  name: "run",
  about: "Runs and their outcomes.",
  commands: [list, showOne, files, watch, cancel, approve, deny, replayOne, reply, usage, exportAll]
}
