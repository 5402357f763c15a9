import { expect } from "@effect/vitest"
import { Effect, Result } from "effect"
import { IdempotencyKeyReused, NotFound, TooManyQueued } from "../../../../src/domain/Errors.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptAll,
  acceptOne,
  at,
  count,
  createWebhook,
  drain,
  endOne,
  keyed,
  newMessage,
  newRun,
  newTokenHash,
  ops,
  outIds,
  sendRun,
  success,
  team,
  together,
  withKey
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const accepted = { _tag: "Accepted" } as const

export const idempotency = (test: Test): void => {
  test("takes one run for an idempotency key, of a hundred in one call or in many", function* () {
    const webhook = yield* createWebhook()
    const newRuns = (key: string) => Effect.forEach(count(100), () => keyed(webhook, key))
    const grouped = (yield* acceptAll(yield* newRuns("one call"))).map(Result.getOrThrow)
    const single = yield* Effect.forEach(yield* newRuns("many calls"), (run) => acceptOne(run), together)
    const lane = yield* drain()
    expect(lane).toHaveLength(2)
    for (const [i, answers] of [grouped, single].entries()) {
      const repeated = answers.flatMap((answer) => (answer._tag === "Repeated" ? answer.run.run_id : []))
      expect(repeated).toEqual(count(99).map(() => lane[i]))
    }
  })

  test("answers a repeated key with the run as it is now, also when no more may wait", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const one = { maxQueued: 1 }
    const first = yield* keyed(webhook, "k", 1, { mode: "wait", deadline_at: at(900) })
    yield* acceptOne(first, one)
    const repeat = acceptOne(yield* keyed(webhook, "k"), one)
    const run = yield* repo.run(first.run_id)
    expect(yield* repeat).toEqual({ _tag: "Repeated", run, deadline_at: at(900) })
    expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "other"), one))).toEqual(
      new TooManyQueued({ of: "server", limit: 1 })
    )
    yield* endOne(first.run_id, success("done"), 5)
    expect(yield* repeat).toMatchObject({ _tag: "Repeated", run: { status: "success" } })
  })

  test("refuses a key that came with another request", function* () {
    const webhook = yield* createWebhook()
    yield* acceptOne(yield* keyed(webhook, "k", 1))
    expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "k", 2)))).toEqual(new IdempotencyKeyReused())
    const runs = yield* Effect.forEach(count(20), (i) => keyed(webhook, "together", i % 2))
    const answers = yield* acceptAll(runs)
    expect(answers.map(Result.isSuccess)).toEqual(count(20).map((i) => i % 2 === 0))
  })

  test("treats the keys of two webhooks as different, and forgets a key after its time", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const first = yield* keyed(webhook, "k")
    yield* acceptOne(first)
    expect(yield* acceptOne(yield* keyed(other, "k"))).toEqual(accepted)
    const late = (ms: number) =>
      newRun(webhook, {
        idempotency: { key: "k", request_hash: new Uint8Array(32), expires_at: at(ms + 1_000) },
        accepted_at: at(ms)
      })
    const answers = yield* acceptAll(yield* Effect.forEach(count(5), () => late(1_000)))
    expect(answers.map((answer) => Result.getOrThrow(answer)._tag)).toEqual([
      "Accepted",
      ...count(4).map(() => "Repeated")
    ])
    expect((yield* repo.run(first.run_id)).status).toBe("queued")
    expect((yield* acceptOne(yield* late(1_999)))._tag).toBe("Repeated")
  })

  test("takes a new run for the key of a cancelled one, only if that is asked for, and one in many calls", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* keyed(webhook, "k")
    yield* acceptOne(first)
    yield* endOne(first.run_id, { status: "cancelled", cancelled_by: "host" }, 5)
    const renewing = Effect.map(keyed(webhook, "k"), (run) => ({
      ...run,
      idempotency: { ...run.idempotency!, renewsCancelled: true }
    }))
    expect(yield* acceptOne(yield* keyed(webhook, "k"))).toMatchObject({ run: { run_id: first.run_id } })
    const again = yield* Effect.forEach(yield* Effect.replicateEffect(renewing, 20), (run) => acceptOne(run), together)
    expect(again.map(({ _tag }) => _tag).sort()).toEqual(["Accepted", ...count(19).map(() => "Repeated")])
    expect((yield* repo.queued(10)).all).toBe(1)
    expect((yield* repo.run(first.run_id)).status).toBe("cancelled")
  })

  test("takes one message to a team for an idempotency key, apart from the keys of other teams and of webhooks", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = team("other")
    yield* repo.createTeam(other, at(0))
    const messages = Effect.forEach(count(30), () => newMessage(withKey("k")))
    const answers = yield* acceptAll([
      ...(yield* messages),
      yield* keyed(webhook, "k"),
      yield* newMessage({ team: other, ...withKey("k") })
    ])
    const tags = answers.map((answer) => Result.getOrThrow(answer)._tag)
    expect(tags).toEqual(["Accepted", ...count(29).map(() => "Repeated"), "Accepted", "Accepted"])
    const { run_id: first } = (yield* repo.out).find(({ team }) => team === ops)!
    const again = yield* Effect.forEach(yield* messages, (run) => acceptOne(run, { maxQueued: 1 }), together)
    for (const answer of again) expect(answer).toMatchObject({ _tag: "Repeated", run: { run_id: first } })
    expect(yield* Effect.flip(acceptOne(yield* newMessage(withKey("k", 2))))).toEqual(new IdempotencyKeyReused())
    // New ones, each in its own call.
    yield* Effect.forEach(
      yield* Effect.forEach(count(30), () => newMessage(withKey("new"))),
      (run) => acceptOne(run),
      together
    )
    expect(yield* outIds).toHaveLength(2)
    yield* endOne(first, success("done"), 1)
    expect([...(yield* outIds), ...(yield* drain())]).toHaveLength(3)
  })

  test("forgets a message's key after its time, and with its team", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    const message = yield* newMessage(withKey("k"))
    yield* acceptOne(message)
    const late = yield* newMessage({ ...withKey("k"), accepted_at: at(1_000) })
    expect(yield* acceptOne(late)).toEqual(accepted)
    for (const { run_id } of [message, late]) yield* endOne(run_id, success("done"), 5)
    yield* repo.deleteTeam(ops)
    expect(yield* Effect.flip(acceptOne(yield* newMessage(withKey("k"))))).toEqual(new NotFound())
    yield* repo.createTeam(ops, at(0))
    expect(yield* acceptOne(yield* newMessage(withKey("k")))).toEqual(accepted)
  })

  test("refuses a repeated key of a caller whose token was replaced", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* sendRun(webhook, 1, {
      idempotency: { key: "k", request_hash: new Uint8Array(1), expires_at: at(9) }
    })
    yield* repo.updateWebhook(webhook.id, { token_hash: yield* newTokenHash, updated_at: at(2) })
    expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "k")))).toEqual(new NotFound())
  })
}
