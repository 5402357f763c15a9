import { Args, Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { pageSize } from "../api/PageSize.ts"
import { RunPage } from "../api/Webhooks.ts"
import { Run, RunStatus } from "../domain/Run.ts"
import type { Group } from "./Commands.ts"
import { adminOptions, call, show } from "./Connection.ts"
import { about } from "./Help.ts"
import { elapsed, fields, section, table, time } from "./Output.ts"
import { validated, wholeNumber } from "./Validated.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

const states = RunStatus.literals.join(", ")
const status = Options.text("status").pipe(
  Options.withPseudoName("state"),
  Options.withDescription(`Only runs in this state: ${states}`),
  Options.mapTryCatch(
    ...validated(
      "--status",
      RunStatus.annotations({ message: () => ({ message: `must be one of ${states}`, override: true }) })
    )
  ),
  Options.optional
)
const limit = Options.text("limit").pipe(
  Options.withPseudoName("count"),
  Options.withDescription(
    `Runs on a page, ${pageSize.minimum} to ${pageSize.maximum}; ${pageSize.default} when not given`
  ),
  Options.mapTryCatch(...validated("--limit", wholeNumber(pageSize.minimum, pageSize.maximum))),
  Options.withDefault(pageSize.default)
)
const cursor = Options.text("cursor").pipe(
  Options.withDescription("Where the previous page ended: its `next_cursor`"),
  Options.optional
)

const list = Command.make("list", { webhook, status, limit, cursor, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const page = yield* callOnWebhook(options, (client, { id }) =>
      client.webhooks.runs({
        path: { id },
        urlParams: {
          limit: options.limit,
          status: Option.getOrUndefined(options.status),
          cursor: Option.getOrUndefined(options.cursor)
        }
      })
    )
    yield* show(options, RunPage, page, ({ data, next_cursor }) =>
      data.length === 0
        ? "No runs."
        : table(
            ["RUN", "STATUS", "MODE", "ACCEPTED", "DURATION", "ERROR"],
            data.map((run) => [
              run.run_id,
              run.status,
              run.mode,
              time(run.accepted_at),
              elapsed(run.duration_ms),
              run.error?.code ?? ""
            ])
          ) + (next_cursor === null ? "" : `\n\nOlder runs: --cursor ${next_cursor}`)
    )
  })
).pipe(
  Command.withDescription(
    about("List a webhook's runs, newest first", {
      examples: [
        "webhook-trigger run list review --status error",
        "webhook-trigger run list review --json | jq -r '.data[].run_id'"
      ]
    })
  )
)

const describe = (run: Run) =>
  [
    fields({
      run: run.run_id,
      status: run.status,
      source: run.source,
      webhook: run.webhook_id,
      team: run.team,
      mode: run.mode,
      accepted: time(run.accepted_at),
      sent: time(run.sent_at),
      started: time(run.started_at),
      finished: time(run.finished_at),
      duration: elapsed(run.duration_ms),
      error: run.error && `${run.error.code}: ${run.error.message}`
    }),
    ...(Object.keys(run.variables).length === 0 ? [] : [section("Variables", JSON.stringify(run.variables, null, 2))]),
    section("Prompt", run.conversation.prompt),
    ...(run.conversation.response === undefined ? [] : [section("Response", run.conversation.response)])
  ].join("\n")

const id = Args.text({ name: "run-id" }).pipe(Args.withDescription("The `run_id` that a trigger answers with"))

const showOne = Command.make("show", { id, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const run = yield* call(
      options,
      (client) => client.runs.show({ path: { run_id: options.id } }),
      `No run has the id ${JSON.stringify(options.id)}; see webhook-trigger run list <webhook>`
    )
    yield* show(options, Run, run, describe)
  })
).pipe(Command.withDescription("Show one run with its prompt and answer"))

const cancelOne = Command.make("cancel", { id, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const run = yield* call(
      options,
      (client) => client.runs.cancel({ path: { run_id: options.id } }),
      `No run has the id ${JSON.stringify(options.id)}; see webhook-trigger run list <webhook>`
    )
    yield* show(options, Run, run, ({ released_at }) =>
      released_at === undefined
        ? "Cancelled. The team has the prompt; its leader is asked to stop."
        : "Cancelled. The prompt is not sent."
    )
  })
).pipe(
  Command.withDescription(
    about("Cancel a run that has not ended, or a chat message", {
      details: "What waits for a whole webhook or team: webhook cancel-queued, team cancel-queued."
    })
  )
)

export const runs: Group = {
  name: "run",
  about: "Runs: what was triggered, and the outcome.",
  commands: [list, showOne, cancelOne]
}
