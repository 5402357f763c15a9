import { Effect, Result } from "effect"
import { IdempotencyKeyReused, NotFound, RateLimited, TooManyQueued, type Unavailable } from "../../domain/Errors.ts"
import { staysCancelled } from "../../domain/run/Canceller.ts"
import { budgetExceeded } from "../../domain/webhook/Budget.ts"
import type { Change } from "../ChangeFeed.ts"
import { unavailable } from "../database/Database.ts"
import type { NotifySoon } from "../database/NotifySoon.ts"
import type { RunResult } from "./AcceptInput.ts"
import { makeCoalesce, makeFindDelivered } from "./Coalesce.ts"
import { type EarlierRun, makeKeys } from "./IdempotencyKeys.ts"
import { type Acceptance, type AcceptanceRefused, type NewRun, Skipped, WebhookEdited } from "./RunStore.ts"

type Answer = Result.Result<Acceptance, AcceptanceRefused>

const accepted: Answer = Result.succeed({ _tag: "Accepted" })

/** Why a run does not fit, unless it repeats an earlier one. */
const limitOf = (
  { outcome, retry_after_ms, skipped_for, used_of_day }: RunResult,
  { accepted_at, webhook }: NewRun,
  maxQueued: number
): Answer | undefined => {
  const used = used_of_day ?? 0
  switch (outcome) {
    case "full":
      return Result.fail(new TooManyQueued({ of: "server", limit: maxQueued }))
    case "webhook full":
      return Result.fail(new TooManyQueued({ of: "webhook", limit: webhook!.max_queued! }))
    case "rate":
      return Result.fail(new RateLimited({ rate: webhook!.rate!, retry_after_ms: retry_after_ms! }))
    case "budget of runs":
      return Result.fail(budgetExceeded("runs", { limit: webhook!.budget!.runs!, used }, accepted_at))
    case "budget of cost":
      return Result.fail(budgetExceeded("cost", { limit: webhook!.budget!.cost_usd!, used }, accepted_at))
    case "skipped":
      return Result.fail(new Skipped({ run_id: skipped_for! }))
    case "accepted":
    case "unknown":
    case "edited":
    case "repeats":
      return undefined
  }
}

/** How often an idempotency key may turn out to be taken and then to be free again, in one call. */
const attempts = 5

/** Performs the statement of a step that writes these runs, and returns the result for each. */
type WriteRuns = (runs: ReadonlyArray<NewRun>) => Effect.Effect<ReadonlyArray<RunResult>, Unavailable>

/** Accepts runs: one statement checks and writes them, in one commit. */
export const makeAccept = Effect.fnUntraced(function* (notifySoon: NotifySoon) {
  const { findEarlier, free } = yield* makeKeys
  const coalesce = yield* makeCoalesce
  const findDelivered = yield* makeFindDelivered

  return Effect.fnUntraced(function* (runs: ReadonlyArray<NewRun>, maxQueued: number, write: WriteRuns) {
    const answers = new Map<NewRun, Answer>()
    let open = runs
    let hasWritten = false
    const step = <A>(effect: Effect.Effect<A, Unavailable>) =>
      hasWritten ? Effect.mapError(effect, partlyDone) : effect
    for (let attempt = 0; open.length > 0; attempt++) {
      if (attempt === attempts) return yield* unavailable("The idempotency key, or the window, is in dispute.")
      const joining = yield* step(coalesce(open))
      for (const [run, answer] of joining) answers.set(run, answer)
      if (joining.size > 0) notifySoon(joinedOf(joining.values()))
      open = open.filter((run) => !answers.has(run))
      if (open.length === 0) break
      const headOf = headsOf(open)
      const heads = [...new Set(headOf.values())]
      const results = yield* step(write(heads))
      hasWritten = true
      const resultOf = new Map(heads.map((head, ord) => [head, results[ord]!]))
      const limitFor = (run: NewRun) => {
        const head = headOf.get(run)!
        const result = resultOf.get(head)!
        const isOther = result.outcome === "skipped" && run.singleton?.key !== head.singleton?.key
        return isOther ? undefined : limitOf(result, run, maxQueued)
      }

      const doubtful = open.filter((run) => {
        const head = headOf.get(run)!
        const { outcome } = resultOf.get(head)!
        const limit = run.idempotency === undefined ? limitFor(run) : undefined
        if (outcome === "unknown" && hasSameToken(run, head)) answers.set(run, Result.fail(new NotFound()))
        else if (outcome === "edited") answers.set(run, Result.fail(new WebhookEdited()))
        else if (outcome === "accepted" && run === head) answers.set(run, accepted)
        else if (limit !== undefined) answers.set(run, limit)
        return !answers.has(run)
      })
      notifySoon(acceptedOf(answers, open))
      if (doubtful.length === 0) break

      // The runs that these keys named before, in an earlier call or in this one.
      const found = yield* step(findEarlier(doubtful))
      const earlierOf = new Map(found.map((earlier) => [doubtful[earlier.ord]!, earlier]))
      const others = doubtful.filter((run) => run.idempotency !== undefined && !earlierOf.has(run))
      if (others.length > 0) for (const [run, answer] of yield* step(findDelivered(others))) answers.set(run, answer)
      open = doubtful.filter((run) => {
        const earlier = earlierOf.get(run)
        const limit = earlier === undefined && !answers.has(run) ? limitFor(run) : undefined
        if (earlier && !isFree(earlier, run)) answers.set(run, repeated(earlier, run))
        else if (limit !== undefined) answers.set(run, limit)
        return !answers.has(run)
      })
      const freed = found.filter((earlier) => isFree(earlier, doubtful[earlier.ord]!))
      if (freed.length > 0) yield* step(free(freed))
    }
    return runs.map((run) => answers.get(run)!)
  })
})

/** Some of the runs are written, even if a later statement failed. */
const partlyDone = ({ detail }: Unavailable): Unavailable => unavailable(detail)

/** The runs that triggers have joined. */
const joinedOf = (answers: Iterable<Answer>): ReadonlyArray<Change> =>
  Array.from(answers).flatMap((answer) =>
    Result.isSuccess(answer) && answer.success._tag === "Coalesced" && !answer.success.repeated
      ? { _tag: "RunChanged", run_id: answer.success.run_id }
      : []
  )

const acceptedOf = (answers: ReadonlyMap<NewRun, Answer>, runs: ReadonlyArray<NewRun>): ReadonlyArray<Change> =>
  runs.flatMap((run) => (answers.get(run) === accepted ? [{ _tag: "RunAccepted", team: run.team }] : []))

/**
 * The first run with the same idempotency key or window, or with the same key of a `singleton` that skips. The result of the
 * others depends on its.
 */
const headsOf = (runs: ReadonlyArray<NewRun>): ReadonlyMap<NewRun, NewRun> => {
  const firstOf = new Map<string, NewRun>()
  return new Map(
    runs.map((run) => {
      const keys = keysOf(run)
      const head = keys.map((key) => firstOf.get(key)).find((first) => first !== undefined) ?? run
      for (const key of keys) if (!firstOf.has(key)) firstOf.set(key, head)
      return [run, head]
    })
  )
}

const keysOf = ({ webhook, team, idempotency, coalesce, singleton }: NewRun): ReadonlyArray<string> => {
  if (webhook === undefined) return idempotency === undefined ? [] : [`message ${team} ${idempotency.key}`]
  const { id } = webhook
  const by = `${id} ${Buffer.from(webhook.token_hash).toString("hex")}`
  const own = coalesce === undefined ? idempotency && `${by} ${idempotency.key}` : `${by} ${team} ${coalesce.key}`
  return [
    ...(own === undefined ? [] : [own]),
    ...(singleton?.on_new === "skip" ? [`${id} ${team} only ${singleton.key}`] : [])
  ]
}

const hasSameToken = (one: NewRun, other: NewRun): boolean =>
  one === other || one.webhook === undefined || Buffer.compare(one.webhook.token_hash, other.webhook!.token_hash) === 0

const isFree = ({ expired, run }: EarlierRun, { idempotency }: NewRun): boolean =>
  expired ||
  (idempotency?.renewsCancelled === true &&
    run.status === "cancelled" &&
    !staysCancelled.some((by) => by === run.cancelled_by))

const repeated = ({ request_hash, run, deadline_at }: EarlierRun, { idempotency }: NewRun): Answer =>
  idempotency && Buffer.from(request_hash).equals(idempotency.request_hash)
    ? Result.succeed({ _tag: "Repeated", run, ...(deadline_at && { deadline_at }) })
    : Result.fail(new IdempotencyKeyReused())
