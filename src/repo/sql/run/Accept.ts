import { Effect, Either } from "effect"
import { IdempotencyKeyReused, NotFound, RateLimited, TooManyQueued, type Unavailable } from "../../../domain/Errors.ts"
import { budgetExceeded } from "../../../domain/webhook/Budget.ts"
import type { Change } from "../../ChangeFeed.ts"
import { type Acceptance, type AcceptanceRefused, type NewRun, WebhookEdited } from "../../run/RunStore.ts"
import { unavailable } from "../database/Database.ts"
import type { NotifySoon } from "../database/NotifySoon.ts"
import { makeCoalesce, makeFindDelivered } from "./Coalesce.ts"
import { type EarlierRun, makeKeys } from "./IdempotencyKeys.ts"
import type { Inserted } from "./Insert.ts"

type Answer = Either.Either<Acceptance, AcceptanceRefused>

const accepted: Answer = Either.right({ _tag: "Accepted" })

/** Why a run does not fit, unless it repeats an earlier one. */
const limitOf = (
  { outcome, retry_after_ms, used_of_day }: Inserted,
  { accepted_at, webhook }: NewRun,
  maxQueued: number
): Answer | undefined => {
  const used = used_of_day ?? 0
  switch (outcome) {
    case "full":
      return Either.left(new TooManyQueued({ of: "server", limit: maxQueued }))
    case "webhook full":
      return Either.left(new TooManyQueued({ of: "webhook", limit: webhook!.max_queued! }))
    case "rate":
      return Either.left(new RateLimited({ rate: webhook!.rate!, retry_after_ms: retry_after_ms! }))
    case "budget of runs":
      return Either.left(budgetExceeded("runs", { limit: webhook!.budget!.runs!, used }, accepted_at))
    case "budget of cost":
      return Either.left(budgetExceeded("cost", { limit: webhook!.budget!.cost_usd!, used }, accepted_at))
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
export type InsertRuns = (runs: ReadonlyArray<NewRun>) => Effect.Effect<ReadonlyArray<Inserted>, Unavailable>

/** Accepts runs: one statement checks and writes them, in one commit. */
export const makeAccept = Effect.fnUntraced(function* (notifySoon: NotifySoon) {
  const { findEarlier, free } = yield* makeKeys
  const coalesce = yield* makeCoalesce
  const findDelivered = yield* makeFindDelivered

  return Effect.fnUntraced(function* (runs: ReadonlyArray<NewRun>, maxQueued: number, insert: InsertRuns) {
    const answers = new Map<NewRun, Answer>()
    let open = runs
    let hasInserted = false
    const step = <A>(effect: Effect.Effect<A, Unavailable>) =>
      hasInserted ? Effect.mapError(effect, partlyDone) : effect
    for (let attempt = 0; open.length > 0; attempt++) {
      if (attempt === attempts) return yield* unavailable("The idempotency key, or the window, is in dispute.")
      const joining = yield* step(coalesce(open))
      for (const [run, answer] of joining) answers.set(run, answer)
      if (joining.size > 0) notifySoon(joinedOf(joining.values()))
      open = open.filter((run) => !answers.has(run))
      if (open.length === 0) break
      const heads = firstOfEachKey(open)
      const rows = yield* step(insert([...heads.values()]))
      hasInserted = true
      const outcomeOf = new Map([...heads].map(([key, head], ord) => [key, { head, inserted: rows[ord]! }]))
      const limitFor = (run: NewRun) => limitOf(outcomeOf.get(keyOf(run))!.inserted, run, maxQueued)

      const doubtful = open.filter((run) => {
        const { head, inserted } = outcomeOf.get(keyOf(run))!
        const { outcome } = inserted
        const limit = run.idempotency === undefined ? limitFor(run) : undefined
        if (outcome === "unknown") answers.set(run, Either.left(new NotFound()))
        else if (outcome === "edited") answers.set(run, Either.left(new WebhookEdited()))
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

/** Some of the runs are inserted, even if a later statement failed. */
const partlyDone = ({ detail }: Unavailable): Unavailable => unavailable(detail)

/** The runs that triggers have joined. */
const joinedOf = (answers: Iterable<Answer>): ReadonlyArray<Change> =>
  Array.from(answers).flatMap((answer) =>
    Either.isRight(answer) && answer.right._tag === "Coalesced" && !answer.right.repeated
      ? { _tag: "RunChanged", run_id: answer.right.run_id }
      : []
  )

const acceptedOf = (answers: ReadonlyMap<NewRun, Answer>, runs: ReadonlyArray<NewRun>): ReadonlyArray<Change> =>
  runs.flatMap((run) => (answers.get(run) === accepted ? [{ _tag: "RunAccepted", team: run.team }] : []))

/** Runs with the same idempotency key or window are one run until their result is known. */
const firstOfEachKey = (runs: ReadonlyArray<NewRun>): ReadonlyMap<string, NewRun> => {
  const heads = new Map<string, NewRun>()
  for (const run of runs) if (!heads.has(keyOf(run))) heads.set(keyOf(run), run)
  return heads
}

const keyOf = ({ run_id, webhook, team, idempotency, coalesce }: NewRun): string => {
  if ((idempotency ?? coalesce) === undefined) return run_id
  if (webhook === undefined) return `message ${team} ${idempotency!.key}`
  const by = `${webhook.id} ${Buffer.from(webhook.token_hash).toString("hex")}`
  return coalesce === undefined ? `${by} ${idempotency!.key}` : `${by} ${team} ${coalesce.key}`
}

const isFree = ({ expired, run }: EarlierRun, { idempotency }: NewRun): boolean =>
  expired || (idempotency?.renewsCancelled === true && run.status === "cancelled")

const repeated = ({ request_hash, run, deadline_at }: EarlierRun, { idempotency }: NewRun): Answer =>
  idempotency && Buffer.from(request_hash).equals(idempotency.request_hash)
    ? Either.right({ _tag: "Repeated", run, ...(deadline_at && { deadline_at }) })
    : Either.left(new IdempotencyKeyReused())
