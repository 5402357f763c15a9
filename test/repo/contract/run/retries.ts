import { expect } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { RunId } from "../../../../src/domain/Id.ts"
import { noLeaderInTime } from "../../../../src/domain/run/Run.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptAll,
  acceptOne,
  admitOne,
  at,
  count,
  createWebhook,
  endAll,
  endOne,
  laneTeams,
  newRun,
  outcomes,
  queueRun,
  type Target,
  team,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const again = { attempt: 1, max_attempts: 3, retry_after_seconds: 60 }

/** A run that failed at `ms`, with a retry due a minute later. */
const failedRun = (webhook: Target, ms = 0, fields: object = {}) =>
  Effect.tap(queueRun(webhook, { ...again, ...fields }), (id) => endOne(id, outcomes.error, ms))

const nextAttempt = (webhook: Target, replay_of: RunId) => newRun(webhook, { ...again, attempt: 2, replay_of })

const due = (ms: number, options: object = {}) =>
  Effect.flatMap(Repo, (repo) => repo.retriesDue(at(ms), { limit: 9, except: [], ...options }))

const refused = (run: Effect.Success<ReturnType<typeof nextAttempt>>) =>
  Effect.map(Effect.flip(acceptOne(run)), ({ _tag }) => _tag)

export const retries = (test: Test): void => {
  test("retriesDue: failed runs that are to be tried again by then, the one that has waited longest first", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const late = yield* failedRun(webhook, 0, { retry_after_seconds: 90 })
    const early = yield* failedRun(webhook, 1_000)
    const last = yield* failedRun(other, 31_000)
    for (const end of [outcomes.success, outcomes.timeout, outcomes.cancelled]) {
      yield* endOne(yield* queueRun(webhook, again), end, 0)
    }
    yield* endOne(yield* queueRun(webhook, again), { status: "error", error: noLeaderInTime }, 0)
    for (const code of ["budget_exceeded", "answer_too_large"] as const) {
      yield* endOne(yield* queueRun(webhook, again), { status: "error", error: { code, message: "no" } }, 0)
    }
    yield* endOne(yield* queueRun(webhook, { attempt: 1, max_attempts: 1 }), outcomes.error, 0)
    yield* queueRun(webhook, again)
    expect(yield* due(60_999)).toEqual([])
    expect(yield* due(61_000)).toEqual([early])
    expect(yield* due(91_000)).toEqual([early, late, last])
    expect(yield* due(91_000, { limit: 2 })).toEqual([early, late])
    expect(yield* due(91_000, { except: [webhook.id] })).toEqual([last])
    expect(yield* due(91_000, { except: [webhook.id, other.id] })).toEqual([])
    const run = yield* repo.run(early)
    expect(run).toMatchObject({ attempt: 1, max_attempts: 3, retry_at: at(61_000) })
    expect(run).not.toHaveProperty("retry_after_seconds")
  })

  test("a run that waits to be tried again is not repeated with others that have failed, and not purged", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const waiting = yield* failedRun(webhook)
    const failed = yield* Effect.tap(queueRun(webhook), (id) => endOne(id, outcomes.error, 0))
    const query = { of: { webhook_id: webhook.id }, statuses: ["error"], limit: 9 } as const
    expect(yield* repo.replayable(query)).toEqual([failed])
    expect(yield* repo.purge(at(100_000))).toBe(1)
    expect(yield* due(60_000)).toEqual([waiting])
    yield* repo.callOffRetries([waiting])
    expect(yield* repo.replayable(query)).toEqual([waiting])
    expect(yield* repo.purge(at(100_000))).toBe(1)
  })

  test("accept: the next attempt of a failed run, once, while that waits for it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const failed = yield* failedRun(webhook)
    const second = yield* nextAttempt(webhook, failed)
    const plain = yield* newRun(webhook)
    const answers = yield* acceptAll([plain, second], { maxQueued: 9 })
    expect(answers.map(Result.isSuccess)).toEqual([true, true])
    const { retried_by, retry_at, status } = yield* repo.run(failed)
    expect({ retried_by, retry_at, status }).toEqual({
      retried_by: second.run_id,
      retry_at: undefined,
      status: "error"
    })
    expect(yield* repo.run(second.run_id)).toMatchObject({ attempt: 2, max_attempts: 3, retry_of: failed })
    expect(yield* due(60_000)).toEqual([])
    expect(yield* refused(yield* nextAttempt(webhook, failed))).toBe("NotFound")
    expect(yield* refused(yield* nextAttempt(webhook, plain.run_id))).toBe("NotFound")
    // Its attempts continue to count.
    yield* endOne(second.run_id, outcomes.error, 70_000)
    expect(yield* due(130_000)).toEqual([second.run_id])
  })

  test("accept: of several next attempts at once there is one; one that does not fit leaves the failed run waiting", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const failed = yield* failedRun(webhook)
    expect(Result.isFailure((yield* acceptAll([yield* nextAttempt(webhook, failed)], { maxQueued: 0 }))[0]!)).toBe(true)
    expect(yield* due(60_000)).toEqual([failed])
    const answers = yield* Effect.forEach(
      count(4),
      () => Effect.flatMap(nextAttempt(webhook, failed), (run) => Effect.result(Effect.as(acceptOne(run), run.run_id))),
      together
    )
    const accepted = answers.flatMap((answer) => (Result.isSuccess(answer) ? [answer.success] : []))
    expect(accepted).toEqual([(yield* repo.run(failed)).retried_by])
  })

  test("callOffRetries: those that waited; against an acceptance at the same time one of the two wins", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const ids = yield* Effect.forEach(count(4), (n) => failedRun(webhook, n))
    const plain = yield* queueRun(webhook)
    expect(yield* repo.callOffRetries([])).toEqual(new Set())
    expect(yield* repo.callOffRetries([ids[0]!, plain, ids[0]!], "caller")).toEqual(new Set([ids[0]]))
    expect(yield* repo.callOffRetries([ids[0]!], "session")).toEqual(new Set())
    expect(yield* repo.run(ids[0]!)).toMatchObject({ status: "error", cancelled_by: "caller" })
    expect(yield* repo.run(ids[0]!)).not.toHaveProperty("retry_at")
    expect(yield* refused(yield* nextAttempt(webhook, ids[0]!))).toBe("NotFound")
    for (const id of ids.slice(1)) {
      const run = yield* nextAttempt(webhook, id)
      const [calledOff, accepted] = yield* Effect.all(
        [Effect.map(repo.callOffRetries([id]), (ids) => ids.has(id)), Effect.isSuccess(acceptOne(run))],
        together
      )
      expect(calledOff).toBe(!accepted)
    }
  })

  test("callOffRetriesOf: those of a webhook, or of all that point at a team now, as many as countRetries counts", function* () {
    const repo = yield* Repo
    const webhooks = [yield* createWebhook(), yield* createWebhook(), yield* createWebhook({ team: team("other") })]
    const ids = yield* Effect.forEach(webhooks, (webhook) => Effect.all([failedRun(webhook), failedRun(webhook)]))
    yield* queueRun(webhooks[0]!)
    const of = { webhook_id: webhooks[0]!.id }
    const inTeam = { team: team("ops") }
    expect(yield* repo.countRetries(of)).toBe(2)
    expect(yield* repo.countRetries(inTeam)).toBe(4)
    expect(yield* repo.callOffRetriesOf(of, "host")).toBe(2)
    expect(yield* repo.callOffRetriesOf(of, "host")).toBe(0)
    expect(yield* repo.run(ids[0]![0]!)).not.toHaveProperty("retry_at")
    expect(yield* refused(yield* nextAttempt(webhooks[0]!, ids[0]![0]!))).toBe("NotFound")
    yield* repo.updateWebhook(webhooks[2]!.id, { team: team("ops"), updated_at: at(1) })
    expect(yield* repo.callOffRetriesOf({ team: team("other") }, "host")).toBe(0)
    expect(yield* repo.countRetries(inTeam)).toBe(4)
    expect(yield* repo.callOffRetriesOf(inTeam, "host")).toBe(4)
    expect(yield* repo.countRetries(inTeam)).toBe(0)
    expect(yield* due(90_000)).toEqual([])
  })

  test("callOffRetriesOf thousands in portions", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const runs = yield* Effect.forEach(count(1_100), () => newRun(webhook, again))
    yield* acceptAll(runs)
    yield* endAll(runs.map(({ run_id }) => ({ run_id, outcome: outcomes.error, at: at(0) })))
    expect(yield* repo.callOffRetriesOf({ webhook_id: webhook.id }, "host")).toBe(1_100)
    expect(yield* due(60_000)).toEqual([])
  })

  test("accept: the next attempt goes to a lane like any run, and keeps the version that its prompt was made from", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const failed = yield* failedRun(webhook)
    yield* repo.updateWebhook(webhook.id, { prompt_template: "other", updated_at: at(1) })
    const run = yield* nextAttempt({ ...webhook, version: 2 }, failed)
    yield* acceptOne({ ...run, webhook_version: 1 })
    expect((yield* repo.run(run.run_id)).webhook_version).toBe(1)
    expect(yield* laneTeams).toEqual([team("ops")])
    expect(yield* admitOne(run.run_id)).toBe(true)
  })
}
