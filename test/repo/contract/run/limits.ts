import { expect } from "@effect/vitest"
import { Clock, Effect, Result } from "effect"
import { RateLimited, TooManyQueued } from "../../../../src/domain/Errors.ts"
import type { WebhookId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptAll,
  acceptOne,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  newMessage,
  newRun,
  step,
  type Target,
  team,
  timeout,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const newRuns = (webhook: Target, runs: number) => Effect.forEach(count(runs), () => newRun(webhook))
const keyed = (webhook: Target, key: string) =>
  newRun(webhook, { idempotency: { key, request_hash: new Uint8Array(32), expires_at: at(1_000) } })

const isAccepted = (answer: Result.Result<unknown, unknown>): boolean => Result.isSuccess(answer)
const accepts = (run: NewRun) => Effect.map(Effect.result(acceptOne(run)), isAccepted)

/** How many runs a webhook accepts of this many at once, in separate calls. */
const takenOf = Effect.fnUntraced(function* (webhook: Target, runs: number) {
  const taken = yield* Effect.forEach(yield* newRuns(webhook, runs), accepts, together)
  return taken.filter((accepted) => accepted).length
})

const edited = Effect.fnUntraced(function* (webhook: Target, change: { readonly rate: string | null }) {
  const { updateWebhook, webhookRow } = yield* Repo
  yield* updateWebhook(webhook.id, { ...change, updated_at: at(1) })
  return yield* webhookRow(webhook.id)
})

export const limits = (test: Test): void => {
  test("takes exactly as many as may wait of the webhook, and of others as many as before", function* () {
    const repo = yield* Repo
    const small = yield* createWebhook({ max_queued: 3 })
    const other = yield* createWebhook()
    const full = Result.fail(new TooManyQueued({ of: "webhook", limit: 3 }))
    const runs = yield* Effect.forEach(count(20), (i) => newRun(i % 2 === 0 ? small : other))
    const answers = yield* acceptAll(runs)
    expect(answers.map(isAccepted)).toEqual(count(20).map((i) => i % 2 === 1 || i < 6))
    expect(answers[6]).toEqual(full)
    expect(yield* acceptAll([yield* newRun(small), yield* newRun(other)])).toMatchObject([
      full,
      { success: { _tag: "Accepted" } }
    ])
    const waits = yield* repo.queued(100, [small.id, other.id])
    expect(waits).toEqual({
      all: 14,
      webhooks: new Map([
        [small.id, 3],
        [other.id, 11]
      ])
    })

    yield* admitOne(runs[0]!.run_id)
    yield* endOne(runs[2]!.run_id, timeout, 9)
    expect(yield* acceptAll(yield* newRuns(small, 3))).toMatchObject([
      { success: { _tag: "Accepted" } },
      { success: { _tag: "Accepted" } },
      full
    ])
  })

  test("counts what waits of the webhook in another team, and not the run that its team begins with", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ max_queued: 2 })
    const { accepted } = yield* step({ accepts: yield* newRuns(webhook, 5) })
    expect(accepted.map(isAccepted)).toEqual([true, true, true, false, false])
    const elsewhere = team("elsewhere")
    yield* repo.createTeam(elsewhere, at(0))
    yield* repo.updateWebhook(webhook.id, { team: elsewhere, updated_at: at(1) })
    const moved = { ...webhook, team: elsewhere, version: 2 }
    expect(yield* accepts(yield* newRun(moved))).toBe(false)
  })

  test("counts what waits of a webhook only when it is asked to", function* () {
    const webhook = yield* createWebhook({ max_queued: 1 })
    const accept = (countQueuedOf: ReadonlySet<WebhookId>) =>
      Effect.flatMap(newRuns(webhook, 2), (runs) => acceptAll(runs, { countQueuedOf }))
    expect((yield* accept(new Set())).map(isAccepted)).toEqual([true, true])
    expect((yield* accept(new Set([webhook.id]))).map(isAccepted)).toEqual([false, false])
  })

  test("keeps what one webhook is refused for the others, when no more may wait of all", function* () {
    const small = yield* createWebhook({ max_queued: 1 })
    const other = yield* createWebhook()
    const runs = [...(yield* newRuns(small, 10)), ...(yield* newRuns(other, 5)), yield* newMessage()]
    const answers = yield* acceptAll(runs, { maxQueued: 4 })
    expect(answers.map(isAccepted)).toEqual(runs.map((_, i) => i === 0 || (i >= 10 && i < 13)))
    expect(answers.at(-1)).toEqual(Result.fail(new TooManyQueued({ of: "server", limit: 4 })))
  })

  test("accepts as many as the webhook's rate at once, of one call or of many, and says when the next one may come", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ rate: "5/day" })
    const other = yield* createWebhook({ rate: "5/day" })
    const plain = yield* createWebhook()
    const runs = yield* Effect.forEach(count(20), (i) => newRun(i % 2 === 0 ? webhook : plain))
    const answers = yield* acceptAll(runs)
    expect(answers.map(isAccepted)).toEqual(count(20).map((i) => i % 2 === 1 || i < 10))
    expect(yield* takenOf(other, 20)).toBe(5)
    for (const target of [webhook, other]) {
      const error = yield* Effect.flip(acceptOne(yield* newRun(target)))
      expect(error).toMatchObject({ _tag: "RateLimited", rate: "5/day" })
      const { retry_after_ms } = error as RateLimited
      expect(retry_after_ms).toBeLessThanOrEqual(86_400_000 / 5)
      expect(retry_after_ms).toBeGreaterThan(86_400_000 / 5 - 60_000)
    }
    expect((yield* repo.queued(99)).all).toBe(20)
  })

  test("takes nothing from the rate for what is not accepted", function* () {
    const webhook = yield* createWebhook({ rate: "2/day", max_queued: 2 })
    expect((yield* acceptAll(yield* newRuns(webhook, 2), { maxQueued: 0 })).map(isAccepted)).toEqual([false, false])
    yield* Effect.flip(acceptOne(yield* newRun({ ...webhook, version: 7 })))
    const first = yield* keyed(webhook, "k")
    yield* acceptOne(first)
    for (const repeat of yield* Effect.forEach(count(5), () => keyed(webhook, "k"))) {
      expect(yield* acceptOne(repeat)).toMatchObject({ _tag: "Repeated", run: { run_id: first.run_id } })
    }
    expect((yield* acceptAll(yield* newRuns(webhook, 3))).map(isAccepted)).toEqual([true, false, false])
    // Repeats are answered even when nothing new is accepted.
    expect(yield* acceptOne(yield* keyed(webhook, "k"))).toMatchObject({ _tag: "Repeated" })
    expect((yield* Effect.flip(acceptOne(yield* keyed(webhook, "new"))))._tag).toBe("TooManyQueued")
    yield* endOne(first.run_id, timeout, 9)
    expect((yield* Effect.flip(acceptOne(yield* keyed(webhook, "new"))))._tag).toBe("RateLimited")
  })

  test("counts one run of the rate for a key that many calls name at once", function* () {
    const webhook = yield* createWebhook({ rate: "3/day" })
    const runs = yield* Effect.forEach(count(30), () => keyed(webhook, "k"))
    const answers = yield* Effect.forEach(runs, (run) => acceptOne(run), together)
    expect(answers.filter(({ _tag }) => _tag === "Accepted")).toHaveLength(1)
    expect(yield* takenOf(webhook, 10)).toBe(2)
  })

  test("goes on from what was accepted when the rate is changed, and forgets nothing when it is taken away for a while", function* () {
    const webhook = yield* createWebhook()
    expect(yield* takenOf(webhook, 10)).toBe(10)
    const slow = yield* edited(webhook, { rate: "2/day" })
    expect(yield* takenOf({ ...webhook, ...slow }, 10)).toBe(2)
    const faster = yield* edited(webhook, { rate: "5/day" })
    expect(yield* takenOf({ ...webhook, ...faster }, 10)).toBe(3)
    const { rate: _, ...free } = yield* edited(webhook, { rate: null })
    const { rate: __, ...without } = { ...webhook, ...free }
    expect(yield* takenOf(without, 10)).toBe(10)
    const again = yield* edited(webhook, { rate: "1/day" })
    expect(yield* takenOf({ ...webhook, ...again }, 10)).toBe(0)
  })

  test("accepts again as time goes on, never more than the rate", function* () {
    const webhook = yield* createWebhook({ rate: "50/sec" })
    const begin = yield* Clock.currentTimeMillis
    let taken = (yield* acceptAll(yield* newRuns(webhook, 100))).filter(isAccepted).length
    expect(taken).toBeGreaterThanOrEqual(50)
    for (let more = 0; more < 5; ) {
      if (yield* accepts(yield* newRun(webhook))) more++
    }
    taken += 5
    const took = (yield* Clock.currentTimeMillis) - begin
    expect(taken).toBeLessThanOrEqual(50 + took / 20 + 1)
  })

  test("forgets the rate of a webhook with the webhook", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ rate: "1/day" })
    yield* acceptOne(yield* newRun(webhook))
    yield* repo.deleteWebhook(webhook.id)
    expect((yield* Effect.flip(acceptOne(yield* newRun(webhook))))._tag).toBe("NotFound")
    expect(yield* takenOf(yield* createWebhook({ id: webhook.id, rate: "1/day" }), 3)).toBe(1)
  })
}
