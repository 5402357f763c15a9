import { Array, DateTime, Effect, identity, Result, Schema, Stream, Struct } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Actor } from "../../api/access/Auth.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { mostReplayed, ReplayBody, ReplayManyBody } from "../../api/run/Replays.ts"
import { RunFilterParameters } from "../../api/run/RunPage.ts"
import { Approval, RunIds } from "../../api/run/Runs.ts"
import { mayDo } from "../../domain/access/Roles.ts"
import { NotFound } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { runIdOf } from "../../domain/ParsedId.ts"
import { mayStartEarly } from "../../domain/run/Held.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { RunFile } from "../../domain/run/RunFile.ts"
import { phaseOf } from "../../domain/run/RunStatus.ts"
import { validate } from "../../domain/Validation.ts"
import * as Audit from "../../engine/access/Audit.ts"
import * as ReadAudit from "../../engine/access/ReadAudit.ts"
import { Approvals } from "../../engine/manage/Approvals.ts"
import { Cancellation } from "../../engine/manage/Cancellation.ts"
import { Overview } from "../../engine/manage/Overview.ts"
import type { RunUpdate } from "../../engine/progress/RunUpdate.ts"
import { RunWatch } from "../../engine/progress/RunWatch.ts"
import { Replay, type Replayed } from "../../engine/replay/Replay.ts"
import { Settings } from "../../engine/Settings.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import type { RunFilter } from "../../repo/history/RunQuery.ts"
import { FileStore } from "../../repo/run/FileStore.ts"
import { ProgressStore } from "../../repo/run/ProgressStore.ts"
import * as ActorStreams from "../access/ActorStreams.ts"
import * as Auth from "../access/Auth.ts"
import * as TeamScope from "../access/TeamScope.ts"
import { RunEvents } from "../events/RunEvents.ts"
import { withoutSteps } from "../events/RunEventText.ts"
import * as Body from "../request/Body.ts"
import { refusing } from "../request/Handlers.ts"
import * as Problems from "../request/Problems.ts"
import * as RunAnswer from "../trigger/RunAnswer.ts"
import { csv } from "./export/RunCsv.ts"
import * as RunExport from "./export/RunExport.ts"
import { withLocation } from "./Location.ts"
import * as ReplayRequests from "./ReplayRequests.ts"

const decodeReplay = validate(ReplayBody)
const decodeReplayMany = validate(ReplayManyBody)

/** Ids are stored in lower case, and accepted in either case. */
const lowerCase = <Id extends string>(id: Id): Id => id.toLowerCase() as Id

/** The parameters of a request that are present. */
const filterOf = ({ asks, status, thread_id, webhook_id, ...rest }: typeof RunFilterParameters.Type): RunFilter => ({
  ...(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as RunFilter),
  ...(asks && { asks: true }),
  ...(status !== undefined && { statuses: status }),
  ...(thread_id !== undefined && { thread_id: lowerCase(thread_id) }),
  ...(webhook_id !== undefined && { webhook_id: lowerCase(webhook_id) })
})

/** The filter conditions as they are in the request. */
const encodeFilter = Schema.encodeSync(RunFilterParameters)

const decodeApproval = validate(Approval)
const decodeIds = validate(RunIds)

const notFound = (run_id: RunId): Replayed => ({ run_id, result: Result.fail(new NotFound()) })

/** Whatever its type, a browser only stores it. */
const asAttachment = ({ name }: RunFile, bytes: Uint8Array) =>
  HttpServerResponse.uint8Array(bytes, {
    contentType: "application/octet-stream",
    headers: {
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)}`,
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin"
    }
  })

export const layer = HttpApiBuilder.group(Api, "runs", (handlers) =>
  Effect.gen(function* () {
    const history = yield* HistoryStore
    const progress = yield* ProgressStore
    const stored = yield* FileStore
    const overview = yield* Overview
    const { cancel } = yield* Cancellation
    const { decide, refusal, startEarly } = yield* Approvals
    const replays = yield* Replay
    const { maxBody } = yield* Settings
    const cancelOne = (id: RunId) => Audit.recordDone<Run>("run.cancelled", id)(cancel(id))
    const scope = yield* TeamScope.make
    const cancelSome = Effect.fnUntraced(function* (given: ReadonlyArray<RunId>) {
      const ids = Array.dedupe(given.map(lowerCase))
      const isAllowed = yield* scope.isAllowed(ids)
      const results = yield* Effect.forEach(
        ids,
        (run_id) =>
          (isAllowed(run_id) ? cancelOne(run_id) : new NotFound()).pipe(
            Effect.as(Result.succeed(run_id)),
            Effect.catchTag(["NotFound", "RunEnded"], (refusal) => {
              const { code, detail } = Problems.bodyOf(refusal)
              return Effect.succeed(Result.fail({ run_id, code, detail }))
            })
          ),
        { concurrency: 20 }
      )
      const [cancelled, refused] = Array.separate(results)
      return { cancelled, refused }
    })
    const exports = yield* RunExport.RunExport
    const recordRead = ReadAudit.make()
    const watch = yield* RunWatch
    const runEvents = yield* RunEvents
    const streams = yield* ActorStreams.make
    const starterOf = yield* Auth.makeStarter
    /** The filter for the matching runs that the actor may see. */
    const ownFilter = (conditions: typeof RunFilterParameters.Type) =>
      Effect.gen(function* () {
        const filter: RunFilter = { ...filterOf(conditions), ...(yield* TeamScope.ofActor) }
        yield* scope.check(Struct.pick(filter, ["webhook_id"]))
        return filter
      })
    const exported = (
      request: HttpServerRequest.HttpServerRequest,
      conditions: typeof RunFilterParameters.Type,
      format: RunExport.Format
    ) =>
      ownFilter(conditions).pipe(
        Effect.zip(streams(request)),
        Effect.flatMap(([filter, { stillSignedIn }]) => exports.respond(request, filter, format, stillSignedIn)),
        Audit.recordDone("runs.exported", conditions.webhook_id && lowerCase(conditions.webhook_id), () => ({
          ...encodeFilter(conditions),
          file: format.file
        }))
      )
    return refusing(handlers)
      .handle("list", ({ query: { limit = pageSize.default, cursor, ...filter } }) =>
        ownFilter(filter).pipe(
          Effect.flatMap((filter) => history.runs({ ...filter, limit, ...(cursor !== undefined && { cursor }) }))
        )
      )
      .handleRaw("exportCsv", ({ request, query }) => exported(request, query, csv))
      .handleRaw("exportJsonLines", ({ request, query }) => exported(request, query, RunExport.jsonLines))
      .handle("usage", ({ query }) => ownFilter(query).pipe(Effect.flatMap(history.usage)))
      .handleRaw("cancelSome", ({ request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap(decodeIds),
          Effect.flatMap(({ run_ids }) => cancelSome(run_ids))
        )
      )
      .handle("show", ({ params }) =>
        Effect.gen(function* () {
          const run = yield* overview.run(params.run_id)
          yield* recordRead(run.run_id)
          if (phaseOf(run) !== "waits for approval") return run
          const decision_refusal = yield* refusal(run, starterOf(yield* Actor))
          return { ...run, ...(decision_refusal !== undefined && { decision_refusal }) }
        })
      )
      .handleRaw("events", ({ params, request }) =>
        Effect.gen(function* () {
          const run_id = yield* runIdOf(params.run_id)
          const { owner, whileSignedIn } = yield* streams(request)
          const actor = yield* Actor
          const shown = mayDo(actor.grant.role, "read") ? identity<RunUpdate> : withoutSteps
          // The run's webhook may be moved to another team in the meantime.
          const isAllowed = scope.isAllowed([run_id]).pipe(
            Effect.map((isAllowed) => isAllowed(run_id)),
            Effect.orElseSucceed(() => false),
            Effect.provideService(Actor, actor)
          )
          const read = Effect.tap(history.run(run_id), () => recordRead(run_id))
          return yield* runEvents.answer(request, owner, (received) =>
            Effect.map(watch.follow(run_id, { received, read }), (updates) =>
              Stream.map(whileSignedIn(ActorStreams.whileTrue(updates, isAllowed)), shown)
            )
          )
        })
      )
      .handle("steps", ({ params }) =>
        runIdOf(params.run_id).pipe(
          Effect.flatMap(history.run),
          Effect.tap(({ run_id }) => recordRead(run_id)),
          Effect.flatMap(({ run_id }) => Effect.map(progress.stepsOf([run_id]), (steps) => steps.get(run_id) ?? [])),
          asWhole
        )
      )
      .handle("files", ({ params }) =>
        runIdOf(params.run_id).pipe(
          Effect.flatMap(history.run),
          Effect.tap(({ run_id }) => recordRead(run_id)),
          Effect.map(({ files = [] }) => files),
          asWhole
        )
      )
      .handleRaw("file", ({ params }) =>
        runIdOf(params.run_id).pipe(
          Effect.flatMap(history.run),
          Effect.tap(({ run_id }) => recordRead(run_id)),
          Effect.flatMap(({ files = [], run_id }) => {
            const file = files.find(({ id }) => id === params.file_id)
            return file === undefined
              ? new NotFound()
              : Effect.map(stored.fileBytes(run_id, file.id), (bytes) => asAttachment(file, bytes))
          })
        )
      )
      .handle("cancel", ({ params }) => runIdOf(params.run_id).pipe(Effect.flatMap(cancelOne)))
      .handleRaw("decide", ({ params, request }) =>
        Effect.gen(function* () {
          const id = yield* runIdOf(params.run_id)
          const { decision } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeApproval)
          return yield* Audit.recordDecision(decision, id)(decide(id, decision, starterOf(yield* Actor)))
        })
      )
      .handle("start", ({ params }) =>
        Effect.flatMap(Effect.flatMap(runIdOf(params.run_id), history.run), (run) =>
          mayStartEarly(run)
            ? Audit.recordDone<Run>("run.started_early", run.run_id)(startEarly(run.run_id))
            : Effect.succeed(run)
        )
      )
      .handle("replays", ({ params }) =>
        Effect.all([runIdOf(params.run_id), TeamScope.ofActor]).pipe(
          Effect.flatMap(([id, { owners }]) => replays.replaysOf(id, owners)),
          asWhole
        )
      )
      .handleRaw("replay", ({ params, request, query }) =>
        Effect.gen(function* () {
          const received_at = yield* DateTime.now
          const id = yield* runIdOf(params.run_id)
          const body = yield* Effect.flatMap(Body.readOptionalObject(request, maxBody), decodeReplay)
          const how = { ...(yield* ReplayRequests.one(request, body)), by: starterOf(yield* Actor) }
          const started =
            query.wait === true
              ? replays.replayAndWait(id, how, received_at)
              : Effect.map(replays.replay(id, how), (run_id) => ({ _tag: "Accepted", run_id }) as const)
          const submitted = yield* Audit.recordStart("run.replayed", id)(started)
          return yield* withLocation(request, RunAnswer.ofRun(request, submitted), submitted)
        })
      )
      .handleRaw("replayMany", ({ request }) =>
        Effect.gen(function* () {
          const body = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeReplayMany)
          const { how, isDry, which } = yield* ReplayRequests.many(request, body)
          yield* scope.check(body)
          const { ids, more } =
            which._tag === "These"
              ? { ids: which.ids, more: false }
              : yield* replays.matching(
                  { ...which.filter, ...(yield* TeamScope.ofActor) },
                  { limit: mostReplayed, idempotency: how.idempotency }
                )
          if (isDry || ids.length === 0) return ReplayRequests.answer(which, ids, more, [])
          const isAllowed = yield* scope.isAllowed(ids)
          const refused = ids.filter((id) => !isAllowed(id))
          return yield* replays.replayRuns(ids.filter(isAllowed), { ...how, by: starterOf(yield* Actor) }).pipe(
            Effect.map((results) => [...results, ...refused.map(notFound)]),
            Effect.map((results) => ReplayRequests.answer(which, ids, more, results)),
            Audit.recordDone("runs.replayed", body.webhook_id ?? body.team, ({ refused, replayed }) => ({
              replayed: replayed.length,
              refused: refused.length
            }))
          )
        })
      )
  })
)
