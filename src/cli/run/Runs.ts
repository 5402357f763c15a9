import { Args, Command, Options } from "@effect/cli"
import { Array, Effect, Option, Schema } from "effect"
import { pageSize } from "../../api/PageSize.ts"
import { exportPaths } from "../../api/run/ExportPaths.ts"
import { RunFilterParameters, RunPage } from "../../api/run/RunPage.ts"
import { Cancelled } from "../../api/run/Runs.ts"
import { RunId, type WebhookId } from "../../domain/Id.ts"
import { Run } from "../../domain/run/Run.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import type { Group } from "../Commands.ts"
import { adminOptions, type Connection, call, show } from "../Connection.ts"
import { download } from "../Download.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { elapsed, fields, section, table, time } from "../Output.ts"
import { validated, wholeNumber } from "../Validated.ts"
import { callOnWebhook, webhook as webhookArgument } from "../webhook/WebhookRef.ts"
import { replayOne } from "./Replays.ts"
import { filterOptions, parametersOf } from "./RunFilter.ts"

const webhook = Args.optional(webhookArgument)

const limit = Options.text("limit").pipe(
  Options.withPseudoName("count"),
  Options.withDescription(`Runs per page, ${pageSize.minimum} to ${pageSize.maximum}; default: ${pageSize.default}`),
  Options.mapTryCatch(...validated("--limit", wholeNumber(pageSize.minimum, pageSize.maximum))),
  Options.withDefault(pageSize.default)
)
const cursor = Options.text("cursor").pipe(
  Options.withDescription("The previous page's `next_cursor`"),
  Options.optional
)

/** The id of the given webhook, if any. */
const idOf = (options: Connection & { readonly webhook: Option.Option<string> }) =>
  Option.isSome(options.webhook)
    ? callOnWebhook({ ...options, webhook: options.webhook.value }, (_, { id }) => Effect.succeed(id))
    : Effect.succeed(undefined)

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
          options.json || ofWebhook !== undefined ? Effect.succeed([]) : client.webhooks.list()
        ],
        { concurrency: 2 }
      )
    )
    const names = new Map(webhooks.map(({ id, name }) => [id, name]))
    yield* show(options, RunPage, page, ({ data, next_cursor, searched_back_to }) =>
      [
        data.length === 0 ? "No runs." : tableOf(data, ofWebhook === undefined ? names : undefined),
        ...(searched_back_to === undefined
          ? []
          : [`Search stopped early; showing runs since ${time(searched_back_to)}.`]),
        ...(next_cursor === null ? [] : [`Older runs: --cursor ${next_cursor}`])
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

/** With the webhooks' `names`, the table also has the webhook and the team of each run. */
const tableOf = (runs: ReadonlyArray<RunSummary>, names: ReadonlyMap<WebhookId, string> | undefined): string =>
  table(
    ["RUN", "STATUS", ...(names ? ["WEBHOOK", "TEAM"] : []), "MODE", "ACCEPTED", "DURATION", "ERROR"],
    runs.map((run) => [
      run.run_id,
      run.status,
      ...(names
        ? [run.webhook_id === undefined ? "(chat)" : (names.get(run.webhook_id) ?? run.webhook_id), run.team]
        : []),
      run.mode,
      time(run.accepted_at),
      elapsed(run.duration_ms),
      run.error?.code ?? ""
    ])
  )

const tokensText = (usage: Run["usage"]): string | undefined => {
  const counts = [
    ["input", usage?.input_tokens],
    ["cached", usage?.cached_input_tokens],
    ["output", usage?.output_tokens]
  ] as const
  const known = counts.flatMap(([kind, count]) => (count === undefined ? [] : [`${count} ${kind}`]))
  return known.length === 0 ? undefined : known.join(", ")
}

const describe = (run: Run, replays: ReadonlyArray<RunSummary>) =>
  [
    fields({
      run: run.run_id,
      status: run.status,
      "collecting until": time(run.collecting_until),
      "requests combined": run.joined,
      source: run.source,
      attempt: run.attempt && `${run.attempt} of ${run.attempts}`,
      "replay of": run.replay_of,
      "next attempt": run.retried_by ?? time(run.retry_at),
      replays: replays.length === 0 ? undefined : replays.map(({ run_id }) => run_id).join(", "),
      webhook: run.webhook_id,
      version: run.webhook_version,
      team: run.team,
      mode: run.mode,
      accepted: time(run.accepted_at),
      sent: time(run.sent_at),
      started: time(run.started_at),
      finished: time(run.finished_at),
      duration: elapsed(run.duration_ms),
      error: run.error && `${run.error.code}: ${run.error.message}`,
      asks: run.asks && (run.asks.join(" | ") || "a question"),
      links: run.links?.map(({ title, url }) => `${title} ${url}`).join("\n"),
      "denied permissions": run.denied?.join(", "),
      model: run.usage?.model,
      tokens: tokensText(run.usage),
      cost: run.usage?.cost_usd === undefined ? undefined : `$${run.usage.cost_usd}`,
      session: run.session_id
    }),
    ...(Object.keys(run.variables).length === 0 ? [] : [section("Variables", JSON.stringify(run.variables, null, 2))]),
    section("Prompt", run.conversation.prompt),
    ...(run.conversation.response === undefined ? [] : [section("Response", run.conversation.response)])
  ].join("\n")

const id = Args.text({ name: "run-id" }).pipe(Args.withDescription("The `run_id` in the response to a trigger"))

const notFound = (id: string) => `No run has the id ${JSON.stringify(id)}; see webhook-trigger run list`

/** Reports an invalid id like an unknown one. */
const runIdOf = (text: string): Effect.Effect<RunId, Failure> =>
  Schema.is(RunId)(text)
    ? Effect.succeed(text)
    : Effect.fail(new Failure({ exit: exitCodes.refused, title: notFound(text) }))

const showOne = Command.make("show", { id, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const path = { run_id: options.id }
    const { replays, run } = yield* call(
      options,
      (client) =>
        Effect.gen(function* () {
          const run = yield* client.runs.show({ path })
          // The JSON output is the API's record, without replays.
          return { run, replays: options.json ? [] : (yield* client.runs.replays({ path })).data }
        }),
      notFound(options.id)
    )
    yield* show(options, Run, run, (run) => describe(run, replays))
  })
).pipe(Command.withDescription("Show one run with its prompt and answer"))

const ids = Args.text({ name: "run-id" }).pipe(
  Args.withDescription("The `run_id` in the response to a trigger; may be repeated"),
  Args.atLeast(1)
)

const cancel = Command.make("cancel", { ids, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const [run_id, ...others] = options.ids
    if (others.length > 0) {
      const run_ids = yield* Effect.forEach(options.ids, runIdOf)
      const result = yield* call(options, (client) =>
        Effect.forEach(Array.chunksOf(run_ids, pageSize.maximum), (run_ids) =>
          client.runs.cancelSome({ payload: { run_ids } })
        )
      )
      const cancelled = result.reduce((sum, { cancelled }) => sum + cancelled, 0)
      return yield* show(options, Cancelled, { cancelled }, () => `${cancelled} of ${run_ids.length} cancelled.`)
    }
    const run = yield* call(options, (client) => client.runs.cancel({ path: { run_id } }), notFound(run_id))
    yield* show(options, Run, run, ({ released_at, status }) =>
      status !== "cancelled"
        ? "Retry cancelled. The run stays failed."
        : released_at === undefined
          ? "Cancelled. The prompt was already sent; the leader is asked to stop."
          : "Cancelled. The prompt will not be sent."
    )
  })
).pipe(
  Command.withDescription(
    about("Cancel unfinished runs and chat messages, or the retries of failed runs", {
      details:
        "With several ids, runs that have already ended are skipped. To cancel all queued runs, use webhook cancel-queued or team cancel-queued.",
      examples: [
        "webhook-trigger run list --search canary --json | jq -r '.data[].run_id' | xargs webhook-trigger run cancel"
      ]
    })
  )
)

const format = Options.choiceWithValue("format", [
  ["csv", exportPaths.csv],
  ["jsonl", exportPaths.jsonl]
]).pipe(
  Options.withPseudoName("format"),
  Options.withDescription("csv, or jsonl (one JSON object per line); default: jsonl"),
  Options.withDefault(exportPaths.jsonl)
)
const output = Options.text("output").pipe(
  Options.withAlias("o"),
  Options.withPseudoName("file"),
  Options.withDescription("The output file; default: standard output"),
  Options.optional
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

export const runs: Group = {
  name: "run",
  about: "Runs and their outcomes.",
  commands: [list, showOne, cancel, replayOne, exportAll]
}
