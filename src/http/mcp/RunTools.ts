/** The tools for runs, beside those of webhooks. */
import type { CallToolResult, Tool } from "@modelcontextprotocol/server"
import { Effect, Schema } from "effect"
import type { Run, Variables } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { validate } from "../../domain/Validation.ts"
import * as RunResult from "./RunResult.ts"
import type { Caller, Extra, Runs } from "./Runs.ts"

const run_id = { type: "string", description: "The run's ID." }
const ofRun: Tool["inputSchema"] = { type: "object", properties: { run_id }, required: ["run_id"] }

export const runTools: ReadonlyArray<Tool> = [
  {
    name: "get_run",
    title: "Get a run",
    description: "Returns the answer of a run. Waits up to 50 seconds for one that is still in progress.",
    inputSchema: ofRun,
    annotations: { readOnlyHint: true }
  },
  {
    name: "reply_to_run",
    title: "Reply to a run",
    description:
      "Answers the question of a run's agent, in the same conversation, and returns the agent's next answer.",
    inputSchema: {
      type: "object",
      properties: { run_id, message: { type: "string", description: "The reply." } },
      required: ["run_id", "message"]
    }
  },
  {
    name: "cancel_run",
    title: "Cancel a run",
    description: "Cancels a run that is waiting or in progress.",
    inputSchema: ofRun,
    annotations: { destructiveHint: true, idempotentHint: true }
  },
  {
    name: "list_runs",
    title: "List runs",
    description: "Lists the runs that were started with this key, newest first.",
    inputSchema: { type: "object", properties: { limit: { type: "integer", minimum: 1, maximum: 100 } } },
    annotations: { readOnlyHint: true }
  }
]

const listLength = 20

const OfRun = Schema.Struct({ run_id: Schema.String })
const Reply = Schema.Struct({ run_id: Schema.String, message: Schema.String.pipe(Schema.check(Schema.isMinLength(1))) })
const List = Schema.Struct({
  limit: Schema.optional(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 1, maximum: 100 }))))
})

const decodeOfRun = validate(OfRun)
const decodeReply = validate(Reply)
const decodeList = validate(List)

/** A run after the wait for it. */
export const resultOf = (run: Run): CallToolResult =>
  isFinal(run.status) ? RunResult.ofEnded(run) : RunResult.ofUnfinished(run)

/** The handlers of `runTools`, by name. */
export const handlers = (runs: Runs) => {
  const handle = <E, R>(call: (caller: Caller, args: Variables, extra: Extra) => Effect.Effect<CallToolResult, E, R>) =>
    call
  return {
    get_run: handle((caller, args, { onProgress }) =>
      decodeOfRun(args).pipe(
        Effect.flatMap(({ run_id }) => runs.wait(caller, run_id, onProgress)),
        Effect.map(resultOf)
      )
    ),
    reply_to_run: handle((caller, args, extra) =>
      decodeReply(args).pipe(
        Effect.flatMap(({ message, run_id }) => runs.reply(caller, run_id, message, extra)),
        Effect.flatMap((id) => runs.wait(caller, id, extra.onProgress)),
        Effect.map(resultOf)
      )
    ),
    cancel_run: handle((caller, args) =>
      decodeOfRun(args).pipe(
        Effect.flatMap(({ run_id }) => runs.cancel(caller, run_id)),
        Effect.as(RunResult.textResult("The run is cancelled."))
      )
    ),
    list_runs: handle((caller, args) =>
      decodeList(args).pipe(
        Effect.flatMap(({ limit = listLength }) => runs.list(caller, limit)),
        Effect.map(RunResult.listed)
      )
    )
  }
}
