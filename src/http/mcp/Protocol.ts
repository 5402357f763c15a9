/** The protocol's requests, answered by the tools. A server lives for one request: nothing is kept between requests. */
import type { CallToolResult, ClientCapabilities, McpServerFactory, ServerContext } from "@modelcontextprotocol/server"
import { Cause, Effect, Exit, Schema } from "effect"
import type { Run } from "../../domain/run/Run.ts"
import * as Problems from "../request/Problems.ts"
import { idempotencyMeta } from "./QuestionReplies.ts"
import * as RunResult from "./RunResult.ts"
import { type Caller, type Extra, type OnProgress, type Runs, UnknownTool } from "./Runs.ts"
import * as RunTools from "./RunTools.ts"
import * as Tool from "./Tool.ts"

type Sdk = typeof import("@modelcontextprotocol/server")

const instructions =
  "Each tool starts a run of a team of AI agents, which may take minutes. A call waits up to 50 seconds for the answer, or up to 25 without a progress token. " +
  "After that, it returns the run's ID, and `get_run` returns the answer."

/** The abilities of this request's client. Clients of 2025 do not repeat them in each request. */
const capabilitiesOf = (sdk: Sdk, { mcpReq: { envelope } }: ServerContext) => {
  const said = envelope as { readonly [name: string]: unknown } | undefined
  const { elicitation, extensions } = (said?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities
  return { canAsk: elicitation !== undefined, hasTasks: extensions?.[RunResult.tasksExtension] !== undefined }
}

const TaskId = Schema.Struct({ taskId: Schema.String })

/** The user's reply among the responses to a question. */
const replyIn = (sdk: Sdk, responses: Readonly<Record<string, unknown>> | undefined): string | undefined => {
  const reply = sdk.acceptedContent(responses && { ...responses }, RunResult.replyName)?.[RunResult.replyName]
  return typeof reply === "string" && reply !== "" ? reply : undefined
}

/** Refusals are results: the assistant reads them, and may call again in another way. */
const refusalsAsResults = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.catch(call, (error) =>
    Problems.isRefusal(error) ? Effect.succeed(RunResult.ofRefusal(error)) : Effect.fail(error)
  )

export interface Parts {
  readonly sdk: Sdk
  readonly runs: Runs
  readonly caller: Caller
  readonly version: string
  /** Whether the client takes events. */
  readonly hearsProgress: boolean
  /** Runs an effect until the signal aborts it. */
  readonly exitOf: <A, E>(
    effect: Effect.Effect<A, E, Effect.Services<ReturnType<Runs["start"]>>>,
    signal: AbortSignal
  ) => Promise<Exit.Exit<A, E>>
}

export const make =
  ({ caller, exitOf, hearsProgress, runs, sdk, version }: Parts): McpServerFactory =>
  () => {
    const capabilities = { tools: {}, extensions: { [RunResult.tasksExtension]: {} } }
    const server = new sdk.Server({ name: "webhook-trigger", version }, { capabilities, instructions })
    const runTools = RunTools.handlers(runs)

    const run: <A, E>(effect: Parameters<typeof exitOf<A, E>>[0], context: ServerContext) => Promise<A> = async (
      effect,
      { mcpReq: { signal } }
    ) => {
      const exit = await exitOf(effect, signal)
      if (Exit.isSuccess(exit)) return exit.value
      const error = Cause.squash(exit.cause)
      const { InternalError, InvalidParams } = sdk.ProtocolErrorCode
      if (error instanceof UnknownTool) throw new sdk.ProtocolError(InvalidParams, `Unknown tool: ${error.name}`)
      if (Problems.isRefusal(error)) throw new sdk.ProtocolError(InvalidParams, Problems.of(error).detail)
      throw new sdk.ProtocolError(InternalError, "Internal error")
    }

    /** Tells the client; undefined: it does not want to know. */
    const progressTo = ({ mcpReq: { _meta, notify } }: ServerContext): OnProgress | undefined => {
      const progressToken = _meta?.progressToken
      if (progressToken === undefined || !hearsProgress) return undefined
      let progress = 0
      return (message: string) => {
        progress++
        notify({ method: "notifications/progress", params: { progressToken, progress, message } }).catch(
          () => undefined
        )
      }
    }

    const extraOf = (context: ServerContext): Extra => {
      const { [idempotencyMeta]: idempotency_key } = context.mcpReq._meta ?? {}
      const onProgress = progressTo(context)
      return { ...(onProgress && { onProgress }), ...(idempotency_key !== undefined && { idempotency_key }) }
    }

    /** A run that was waited for, or its agent's question to the user. */
    const resultOf = (ended: Run, canAsk: boolean): object =>
      canAsk && ended.status === "success" && ended.asks !== undefined
        ? sdk.inputRequired({
            inputRequests: { [RunResult.replyName]: sdk.inputRequired.elicit(RunResult.questionOf(ended)) },
            // No secret, and nothing to forge: the run must be the caller's own.
            requestState: ended.run_id
          })
        : RunTools.resultOf(ended)

    const waited = (run_id: string, context: ServerContext) =>
      Effect.map(runs.wait(caller, run_id, progressTo(context)), (ended) =>
        resultOf(ended, capabilitiesOf(sdk, context).canAsk)
      )

    const start = (name: string, args: Readonly<Record<string, unknown>>, context: ServerContext) =>
      Effect.flatMap(runs.start(caller, name, args, extraOf(context)), (run_id) => {
        if (run_id === undefined) {
          return Effect.succeed<object>(
            RunResult.textResult("The webhook's filter ignores these arguments. No run was started.")
          )
        }
        if (!capabilitiesOf(sdk, context).hasTasks) return waited(run_id, context)
        return Effect.map(runs.own(caller, run_id), (run): object => RunResult.ofNewTask(run))
      })

    /** The call again, with the user's reply to the agent's question. */
    const goOn = (run_id: string, context: ServerContext) => {
      const reply = replyIn(sdk, context.mcpReq.inputResponses)
      return reply === undefined
        ? Effect.map(runs.own(caller, run_id), RunTools.resultOf)
        : Effect.flatMap(runs.reply(caller, run_id, reply, extraOf(context)), (id) => waited(id, context))
    }

    const task = (taskId: string) =>
      Effect.flatMap(runs.own(caller, taskId), (first) =>
        Effect.map(runs.latest(caller, first), (latest) => ({ first, latest }))
      )

    server.setRequestHandler("tools/list", (_, context) =>
      run(
        Effect.map(runs.tools(caller), (tools) => ({
          tools: [...Array.from(tools, ([name, webhook]) => Tool.describe(name, webhook)), ...RunTools.runTools]
        })),
        context
      )
    )
    server.setRequestHandler("tools/call", ({ params: { arguments: args = {}, name } }, context) => {
      const state = context.mcpReq.requestState()
      const call: Effect.Effect<unknown, any, any> = Object.hasOwn(runTools, name)
        ? runTools[name as keyof typeof runTools](caller, args, extraOf(context))
        : typeof state === "string"
          ? goOn(state, context)
          : start(name, args, context)
      return run(refusalsAsResults(call), context) as Promise<CallToolResult>
    })
    server.setRequestHandler("tasks/get", { params: Schema.toStandardSchemaV1(TaskId) }, ({ taskId }, context) =>
      run(
        Effect.map(task(taskId), ({ first, latest }) =>
          RunResult.ofTask(first, latest, capabilitiesOf(sdk, context).canAsk)
        ),
        context
      )
    )
    server.setRequestHandler("tasks/update", { params: Schema.toStandardSchemaV1(TaskId) }, ({ taskId }, context) =>
      run(
        Effect.flatMap(task(taskId), ({ latest }) => {
          const reply = replyIn(sdk, context.mcpReq.inputResponses)
          return reply === undefined
            ? Effect.succeed({})
            : Effect.as(runs.reply(caller, latest.run_id, reply, extraOf(context)), {})
        }),
        context
      )
    )
    server.setRequestHandler("tasks/cancel", { params: Schema.toStandardSchemaV1(TaskId) }, ({ taskId }, context) =>
      run(
        Effect.flatMap(task(taskId), ({ latest }) => Effect.as(runs.cancel(caller, latest.run_id), {})),
        context
      )
    )
    return server
  }
