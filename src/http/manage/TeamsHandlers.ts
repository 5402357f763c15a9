/** Teams, their threads, and the chat messages to them. */
import { DateTime, Effect, Layer, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Actor } from "../../api/access/Auth.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { Message, Reply } from "../../api/run/Messages.ts"
import type { AuditAction } from "../../domain/access/AuditEvent.ts"
import { runIdOf, teamNameOf } from "../../domain/ParsedId.ts"
import type { AgentRequest } from "../../domain/run/AgentRequest.ts"
import type { TeamName } from "../../domain/Team.ts"
import { threadKeyOf } from "../../domain/Thread.ts"
import { validate } from "../../domain/Validation.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Cancellation, type CancelledCounts } from "../../engine/manage/Cancellation.ts"
import { Teams } from "../../engine/manage/Teams.ts"
import { Threads } from "../../engine/manage/Threads.ts"
import { Settings } from "../../engine/Settings.ts"
import { Trigger } from "../../engine/trigger/Trigger.ts"
import * as Auth from "../access/Auth.ts"
import { onlyOwned } from "../access/TeamScope.ts"
import * as Body from "../request/Body.ts"
import { refusing } from "../request/Handlers.ts"
import * as Idempotency from "../trigger/Idempotency.ts"
import * as RunAnswer from "../trigger/RunAnswer.ts"
import { withLocation } from "./Location.ts"

/** A chat message of a request. */
interface SentMessage {
  readonly team: TeamName
  readonly message: string
  readonly thread_key?: string | undefined
  readonly agent?: AgentRequest | undefined
  readonly received_at: DateTime.Utc
  /** As in the query. */
  readonly wait: boolean | undefined
  readonly audited: readonly [action: AuditAction, object: string]
}

const makeSendMessage = Effect.map(
  Trigger,
  (trigger) =>
    (
      request: HttpServerRequest.HttpServerRequest,
      { agent, audited, message, received_at, team, thread_key, wait }: SentMessage
    ) =>
      Effect.gen(function* () {
        const in_thread = thread_key === undefined ? {} : { thread_key }
        const idempotency = yield* Effect.fromResult(
          Idempotency.readWith(request, () => Result.succeed({ message, ...in_thread }))
        )
        const how = { received_at, wait: wait === true, ...in_thread, ...(agent && { agent }), ...idempotency }
        const sent = yield* Audit.recordStart(...audited)(trigger.message(team, message, how))
        return yield* withLocation(request, RunAnswer.ofMessage(request, sent), sent)
      })
)

const decodeMessage = validate(Message)

const teamsLayer = HttpApiBuilder.group(Api, "teams", (handlers) =>
  Effect.gen(function* () {
    const teams = yield* Teams
    const sendMessage = yield* makeSendMessage
    const { cancelQueuedOfTeam } = yield* Cancellation
    const { maxBody } = yield* Settings

    return refusing(handlers)
      .handle("list", () => asWhole(onlyOwned(teams.list)))
      .handleRaw("create", ({ request }) => Body.readObject(request, maxBody).pipe(Effect.flatMap(teams.create)))
      .handle("show", ({ params }) => teams.show(params.team))
      .handle("pause", ({ params }) => teams.pause(params.team))
      .handle("resume", ({ params }) => teams.resume(params.team))
      .handle("release", ({ params }) => teams.release(params.team))
      .handle("cancelQueued", ({ params, query: { dry_run } }) =>
        dry_run === "true"
          ? cancelQueuedOfTeam(params.team, { dryRun: true })
          : Audit.recordDone<CancelledCounts>("team.queue_cancelled", params.team, (counts) => ({ ...counts }))(
              cancelQueuedOfTeam(params.team)
            )
      )
      .handle("delete", ({ params }) => teams.remove(params.team))
      .handleRaw("message", ({ params, query, request }) =>
        Effect.gen(function* () {
          const received_at = yield* DateTime.now
          const team = yield* teamNameOf(params.team)
          const { message, thread = "" } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeMessage)
          const thread_key = threadKeyOf(thread)
          const audited = ["team.message_sent", team] as const
          return yield* sendMessage(request, { team, message, thread_key, received_at, wait: query.wait, audited })
        })
      )
  })
)

const decodeReply = validate(Reply)

const threadsLayer = HttpApiBuilder.group(Api, "threads", (handlers) =>
  Effect.gen(function* () {
    const threads = yield* Threads
    const sendMessage = yield* makeSendMessage
    const starterOf = yield* Auth.makeStarter
    const { maxBody } = yield* Settings

    return refusing(handlers)
      .handle("list", ({ params, query: { cursor, key = "", limit = pageSize.default } }) => {
        const only = threadKeyOf(key)
        const query = { limit, ...(only !== undefined && { key: only }), ...(cursor !== undefined && { cursor }) }
        return threads.list(params.team, query)
      })
      .handle("show", ({ params }) => threads.show(params.thread_id))
      .handle("reset", ({ params }) => threads.reset(params.thread_id))
      .handleRaw("reply", ({ params, request, query: { wait } }) =>
        Effect.gen(function* () {
          const received_at = yield* DateTime.now
          const id = yield* runIdOf(params.run_id)
          const { message } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeReply)
          const { agent, key, team } = yield* threads.ofOperatorsReply(id, starterOf(yield* Actor))
          const audited = ["run.replied", id] as const
          return yield* sendMessage(request, { team, message, thread_key: key, agent, received_at, wait, audited })
        })
      )
  })
)

export const layer = Layer.merge(teamsLayer, threadsLayer)
