import { Context, type DateTime, Effect, Layer, Result } from "effect"
import {
  type BudgetExceeded,
  NotFound,
  type RateLimited,
  TooManyQueued,
  Unavailable,
  type WebhookPaused
} from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import type { AcceptedOrEnded } from "../../domain/run/Submitted.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { HistoryStore, type ReplayableQuery, type WholeRun } from "../../repo/history/HistoryStore.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import type { Skipped, WebhookEdited } from "../../repo/run/RunStore.ts"
import { InputChecks } from "../prompt/InputChecks.ts"
import type { Renderer } from "../prompt/Renderer.ts"
import { Settings } from "../Settings.ts"
import type { Candidate } from "../trigger/Candidates.ts"
import { HandOver, type HandOverRefused } from "../trigger/HandOver.ts"
import * as ReplayCandidates from "./ReplayCandidates.ts"
import { keyOf, type ReplayRefused, type ReplayRequest } from "./ReplayCandidates.ts"
import { webhooksOf } from "./WebhooksOfRuns.ts"

/** A run, and the one that repeats it, or why there is none. */
export interface Replayed {
  readonly run_id: RunId
  readonly result: Result.Result<RunId, ReplayRefused>
}

/** The ended runs to be repeated: those of `HistoryStore.replayable`. */
export type ReplayFilter = Omit<ReplayableQuery, "limit" | "except">

/** Runs in one step. Each may have more than a megabyte of text. */
const portion = 50

/** How often a webhook may be edited while a run of it is repeated. */
const attempts = 5

/**
 * Repeating runs: as new runs of their webhook, which stand at the end of its team's lane, in the order of the runs that they
 * repeat. The webhook's team, limits and timeout are those of now, but for its `rate`, which is for its callers. A message
 * becomes a new message to its team.
 */
export class Replay extends Context.Service<
  Replay,
  {
    /** Repeats one run in any state, and returns the new one. `Invalid`: the request does not fit such a run. */
    readonly replay: (id: RunId, request: ReplayRequest) => Effect.Effect<RunId, ReplayRefused | Unavailable>
    /** The same, and waits for the end of the new one, as a caller of the webhook may; `received_at`: since when. */
    readonly replayAndWait: (
      id: RunId,
      request: ReplayRequest,
      received_at: DateTime.Utc
    ) => Effect.Effect<AcceptedOrEnded, ReplayRefused | Unavailable>
    /**
     * Repeats these runs, in this order. What is refused for a full queue is refused for all that come after it, of the
     * same webhook or of all.
     */
    readonly replayRuns: (
      ids: ReadonlyArray<RunId>,
      request: Omit<ReplayRequest, "message" | "variables">
    ) => Effect.Effect<ReadonlyArray<Replayed>, Unavailable>
    /**
     * Ended runs that no other run repeats, oldest first; `more`: there are others. What this request has repeated does not
     * count: so the same request finds the same runs again.
     */
    readonly matching: (
      filter: ReplayFilter,
      options: { readonly limit: number; readonly idempotency?: ReplayRequest["idempotency"] }
    ) => Effect.Effect<{ readonly ids: ReadonlyArray<RunId>; readonly more: boolean }, NotFound | Unavailable>
    /** The runs that repeat this one, newest first; up to a hundred. With `owners`, only those of these teams. */
    readonly replaysOf: (
      id: RunId,
      owners?: ReadonlyArray<TeamName>
    ) => Effect.Effect<ReadonlyArray<RunSummary>, NotFound | Unavailable>
  }
>()("webhook-trigger/Replay") {
  static readonly layer: Layer.Layer<
    Replay,
    never,
    HandOver | HistoryStore | InputChecks | Renderer | Settings | TeamStore | WebhookStore
  > = Layer.effect(
    Replay,
    Effect.gen(function* () {
      const history = yield* HistoryStore
      const teams = yield* TeamStore
      const webhooks = yield* WebhookStore
      const handOver = yield* HandOver
      const candidates = yield* ReplayCandidates.make

      /** Adds to `results`, and returns the runs whose webhook was edited. */
      const replayOnce = (
        runs: ReadonlyArray<WholeRun>,
        request: ReplayRequest,
        results: Map<RunId, Replayed["result"]>
      ): Effect.Effect<ReadonlyArray<WholeRun>, Unavailable> =>
        Effect.gen(function* () {
          const known = yield* webhooksOf(webhooks, runs)
          const open: Array<{ readonly run: WholeRun; readonly candidate: Candidate }> = []
          for (const run of runs) {
            const candidate = yield* Effect.result(
              run.webhook_id === undefined
                ? candidates.ofMessage(run, request)
                : Effect.flatMap(webhookIn(known, run.webhook_id), (webhook) => candidates.ofRun(run, webhook, request))
            )
            if (Result.isSuccess(candidate)) open.push({ run, candidate: candidate.success })
            else if (candidate.failure instanceof Unavailable) return yield* candidate.failure
            else results.set(run.run_id, Result.fail(candidate.failure))
          }
          const answers = open.length === 0 ? [] : yield* handOver.acceptAll(open.map(({ candidate }) => candidate))
          const again: Array<WholeRun> = []
          for (const [index, { run, candidate }] of open.entries()) {
            const answer = answers[index]!
            if (Result.isSuccess(answer)) {
              const { success } = answer
              const { run_id } = success._tag === "Repeated" ? success.run : candidate.run
              results.set(run.run_id, Result.succeed(run_id))
            } else {
              const refusal = finalRefusal(run, answer.failure)
              if (refusal === undefined) again.push(run)
              else results.set(run.run_id, Result.fail(refusal))
            }
          }
          return again
        })

      const replaySome = (
        runs: ReadonlyArray<WholeRun>,
        request: ReplayRequest
      ): Effect.Effect<ReadonlyMap<RunId, Replayed["result"]>, Unavailable> =>
        Effect.suspend(() => {
          const results = new Map<RunId, Replayed["result"]>()
          let left = runs
          return untilNotEdited(
            Effect.map(
              Effect.suspend(() => replayOnce(left, request, results)),
              (again) => {
                left = again
                return again.length === 0 ? results : undefined
              }
            )
          )
        })

      const replay = Effect.fn("Replay.replay")(function* (id: RunId, request: ReplayRequest) {
        const runs = yield* history.runsByIds([id])
        const result = (yield* replaySome(runs, request)).get(id) ?? Result.fail(new NotFound())
        return yield* Effect.fromResult(result)
      })

      const replayAndWait = (
        id: RunId,
        request: ReplayRequest,
        received_at: DateTime.Utc
      ): Effect.Effect<AcceptedOrEnded, ReplayRefused | Unavailable> =>
        untilNotEdited(
          Effect.gen(function* () {
            const [run] = yield* history.runsByIds([id])
            if (run === undefined) return yield* new NotFound()
            const candidate =
              run.webhook_id === undefined
                ? yield* candidates.ofMessage(run, request, received_at)
                : yield* candidates.ofRun(run, yield* webhooks.webhookRow(run.webhook_id), request, received_at)
            return yield* Effect.catch(handOver.submit(candidate), (error) => {
              const refusal = error._tag === "Unavailable" ? error : finalRefusal(run, error)
              return refusal === undefined ? Effect.succeed(undefined) : Effect.fail(refusal)
            })
          })
        )

      const replayRuns = Effect.fn("Replay.replayRuns")(function* (
        ids: ReadonlyArray<RunId>,
        request: Omit<ReplayRequest, "message" | "variables">
      ) {
        const full = new Map<WebhookId | "server", TooManyQueued>()
        const all = [...new Set(ids)]
        const replayed: Array<Replayed> = []
        for (let from = 0; from < all.length; from += portion) {
          const asked = all.slice(from, from + portion)
          const runs = new Map((yield* history.runsByIds(asked)).map((run) => [run.run_id, run]))
          const fullFor = ({ webhook_id }: Run) => full.get("server") ?? (webhook_id && full.get(webhook_id))
          const found = asked.flatMap((id) => runs.get(id) ?? [])
          const results = yield* replaySome(
            found.filter((run) => !fullFor(run)),
            request
          )
          for (const run_id of asked) {
            const run = runs.get(run_id)
            const refused = run ? fullFor(run) : new NotFound()
            const result = results.get(run_id) ?? Result.fail(refused ?? new NotFound())
            replayed.push({ run_id, result })
            if (run?.webhook_id && Result.isFailure(result) && result.failure instanceof TooManyQueued) {
              full.set(result.failure.of === "server" ? "server" : run.webhook_id, result.failure)
            }
          }
        }
        return replayed
      })

      const matching = Effect.fn("Replay.matching")(function* (
        filter: ReplayFilter,
        { idempotency, limit }: { readonly limit: number; readonly idempotency?: ReplayRequest["idempotency"] }
      ) {
        const except = idempotency && {
          except: { keyPrefix: keyOf(idempotency.key), request_hash: idempotency.request_hash }
        }
        const ids = yield* history.replayable({ ...filter, ...except, limit: limit + 1 })
        const { of } = filter
        if (ids.length === 0) yield* "team" in of ? teams.team(of.team) : webhooks.webhookRow(of.webhook_id)
        return { ids: ids.slice(0, limit), more: ids.length > limit }
      })

      return Replay.of({
        replay,
        replayAndWait,
        replayRuns,
        matching,
        replaysOf: (id, owners) =>
          Effect.flatMap(history.replays(id, 100, owners), (replays) =>
            replays.length > 0 ? Effect.succeed(replays) : Effect.as(history.run(id), replays)
          )
      })
    })
  )
}

/** None after an edit conflict, or when the token was replaced: the replay is tried again. */
const finalRefusal = (
  { webhook_id }: WholeRun,
  refusal: HandOverRefused
): Exclude<HandOverRefused, WebhookEdited | BudgetExceeded | RateLimited | Skipped | WebhookPaused> | undefined => {
  switch (refusal._tag) {
    case "IdempotencyKeyReused":
    case "TeamNotRunning":
    case "TooManyQueued":
      return refusal
    case "NotFound":
      return webhook_id === undefined ? refusal : undefined
    case "WebhookEdited":
    // These do not occur: a replay takes nothing of its webhook's rate or budget.
    case "BudgetExceeded":
    case "RateLimited":
    // Nor is it refused while its webhook is paused: it shows whether runs succeed again.
    case "WebhookPaused":
    // It stands alone.
    case "Skipped":
      return undefined
  }
}

const webhookIn = (known: ReadonlyMap<WebhookId, WebhookRow>, id: WebhookId): Effect.Effect<WebhookRow, NotFound> => {
  const webhook = known.get(id)
  return webhook === undefined ? new NotFound() : Effect.succeed(webhook)
}

/** Repeats an attempt that gives `undefined`: the webhook was edited, or its token was replaced. */
const untilNotEdited = <A, E>(
  attempt: Effect.Effect<A | undefined, E>,
  left = attempts
): Effect.Effect<A, E | Unavailable> =>
  Effect.flatMap(attempt, (result): Effect.Effect<A, E | Unavailable> => {
    if (result !== undefined) return Effect.succeed(result)
    return left === 0 ? editedAllTheTime : untilNotEdited(attempt, left - 1)
  })

const editedAllTheTime = new Unavailable({ what: "server", detail: "The webhook is edited all the time." })
