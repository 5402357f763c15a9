import { expect } from "@effect/vitest"
import { DateTime, Duration, Effect } from "effect"
import { v7 } from "uuid"
import { RunId, type WebhookId } from "../../../../src/domain/Id.ts"
import type { AgentReport } from "../../../../src/domain/run/AgentReport.ts"
import type { Outcome, Run } from "../../../../src/domain/run/Run.ts"
import { finalStatuses } from "../../../../src/domain/run/RunStatus.ts"
import type { Counts, RunBucket } from "../../../../src/domain/run/Statistics.ts"
import { addUsage, noUsage, usageOfOne } from "../../../../src/domain/run/UsageSum.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptOne,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  epoch,
  newMessage,
  newRun,
  ops,
  outcomes,
  startedOne,
  step,
  success,
  type Target,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const hourMs = Duration.toMillis(Duration.hours(1))
const dayMs = 24 * hourMs

/** The midnight before the first of these runs. */
const midnight = Math.floor(epoch / dayMs) * dayMs

/** How far below the exact time a median may be. */
const precision = 1 / 32

const allRuns = Effect.fnUntraced(function* (webhook_id: WebhookId) {
  const repo = yield* Repo
  const runs: Array<Run> = []
  let cursor: string | null | undefined
  do {
    const page = yield* repo.runs({ webhook_id, limit: 100, ...(cursor && { cursor }) })
    runs.push(...page.data)
    cursor = page.next_cursor
  } while (cursor)
  return runs
})

const usageOf = (runs: ReadonlyArray<Run>): Pick<RunBucket, "usage"> => {
  const { runs: _, ...usage } = runs.map((run) => usageOfOne(run.usage)).reduce(addUsage, noUsage)
  return usage.reported > 0 ? { usage } : {}
}

/** The counts that a scan of the runs gives, by steps from `midnight` on. */
const scanned = (runs: ReadonlyArray<Run>, step: number): ReadonlyArray<RunBucket> => {
  const buckets = new Map<number, Array<Run>>()
  for (const run of runs) {
    const bucket = Math.floor((DateTime.toEpochMillis(run.accepted_at) - midnight) / step)
    buckets.set(bucket, [...(buckets.get(bucket) ?? []), run])
  }
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .map(([bucket, runs]) => {
      const of = (status: string) => runs.filter((run) => run.status === status).length
      const took = runs
        .flatMap(({ duration_ms, status }) => (status === "success" ? (duration_ms ?? []) : []))
        .sort((a, b) => a - b)
      const middle = (took[Math.floor((took.length - 1) / 2)]! + took[Math.floor(took.length / 2)]!) / 2
      return {
        bucket,
        ...(Object.fromEntries(finalStatuses.map((status) => [status, of(status)])) as Omit<Counts, "live">),
        live: of("queued") + of("running"),
        ...(took.length > 0 && { median_ms: middle, slowest_ms: took.at(-1)! }),
        ...usageOf(runs)
      }
    })
}

const roundedDown = (counted: number | undefined, exact: number | undefined) => {
  if (exact === undefined) return expect(counted).toBeUndefined()
  expect(counted).toBeLessThanOrEqual(exact)
  expect(counted).toBeGreaterThanOrEqual(exact * (1 - precision))
}

/** The webhook's counts match its runs, by hours and by days. */
const countsAreThoseOf = Effect.fnUntraced(function* (id: WebhookId) {
  const repo = yield* Repo
  const runs = yield* allRuns(id)
  for (const step of [hourMs, 6 * hourMs, dayMs]) {
    const expected = scanned(runs, step)
    const counted = [...(yield* repo.statistics(id, DateTime.makeUnsafe(midnight), Duration.millis(step)))]
    const withoutTimes = ({ median_ms, slowest_ms, ...counts }: RunBucket) => counts
    counted.sort((a, b) => a.bucket - b.bucket)
    expect(counted.map(withoutTimes)).toEqual(expected.map(withoutTimes))
    for (const [index, { median_ms, slowest_ms }] of expected.entries()) {
      roundedDown(counted[index]!.median_ms, median_ms)
      roundedDown(counted[index]!.slowest_ms, slowest_ms)
    }
    const activity = yield* repo.activity(DateTime.makeUnsafe(midnight), Duration.millis(step))
    const own = activity.filter(({ webhook_id }) => webhook_id === id).sort((a, b) => a.bucket - b.bucket)
    expect(own.map(({ webhook_id, ...counts }) => counts)).toEqual(expected.map(withoutTimes))
  }
  return runs.length
})

const rollUpAt = (ms: number) =>
  Effect.flatMap(Repo, (repo) => Effect.repeat(repo.rollUp(at(ms), Duration.zero), { while: (more) => more }))

/** The counts are right before and after rolling up. Returns how many runs were counted. */
const counted = Effect.fnUntraced(function* (id: WebhookId) {
  yield* countsAreThoseOf(id)
  yield* rollUpAt(3 * dayMs)
  return yield* countsAreThoseOf(id)
})

/** Costs that add up exactly. */
const reports: ReadonlyArray<AgentReport> = [
  { usage: { input_tokens: 1_000, cached_input_tokens: 10, output_tokens: 7, cost_usd: 0.25 } },
  { usage: { input_tokens: 300, output_tokens: 0 } },
  { usage: { model: "one of several" } },
  { session_id: "s-1" }
]
const everyOutcome: ReadonlyArray<Outcome> = [
  ...reports.map((report): Outcome => ({ status: "success", response: "a", report })),
  ...[success("b"), success("c"), ...Object.values(outcomes)],
  { ...outcomes.error, report: { usage: { cost_usd: 1.5 } } }
]

/** Runs of three days: some end in each way, one in five stays unfinished. */
const fill = Effect.fnUntraced(function* (target: Target, runs: number) {
  const ids: Array<RunId> = []
  for (const n of count(runs)) {
    const ms = Math.floor((n * 3 * dayMs) / runs)
    const run = yield* newRun(target, {
      run_id: RunId.make(v7({ msecs: epoch + ms })),
      accepted_at: at(ms),
      ...(n % 10 === 4 && { mode: "wait", deadline_at: at(ms + 1_000) })
    })
    yield* acceptOne(run)
    ids.push(run.run_id)
    if (n % 5 === 4) continue
    yield* admitOne(run.run_id)
    yield* startedOne(run.run_id, ms + 1)
    yield* endOne(run.run_id, everyOutcome[n % everyOutcome.length]!, ms + 1 + n ** 3)
  }
  return ids
})

export const rollUp = (test: Test): void => {
  test("counts what a scan of the runs counts: once accepted, ended, timed out, before and after they are rolled up", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const ids = yield* fill(webhook, 60)
    expect(yield* counted(webhook.id)).toBe(60)

    const expired = yield* repo.expire(at(2 * dayMs))
    expect(expired.length).toBeGreaterThan(0)
    expect(yield* counted(webhook.id)).toBe(60)

    // Neither counts twice: the first end wins, and a late answer changes no status.
    for (const id of ids.slice(0, 5)) {
      yield* admitOne(id)
      yield* endOne(id, success("late"), 3 * dayMs)
    }
    expect(yield* counted(webhook.id)).toBe(60)
  })

  test("counts a run that ends days after its acceptance once, in the hour of its acceptance, however often it is rolled up", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const late = yield* queueAt(webhook, 0)
    yield* endOne((yield* queueAt(webhook, 1)).run_id, success("soon"), 10)
    yield* endOne((yield* queueAt(webhook, dayMs)).run_id, success("the next day"), dayMs + 10)
    expect(yield* counted(webhook.id)).toBe(3)
    yield* admitOne(late.run_id)
    yield* endOne(late.run_id, success("late"), 2 * dayMs)
    const hours = Effect.map(
      repo.statistics(webhook.id, DateTime.startOf(at(0), "hour"), Duration.hours(1)),
      (buckets) => buckets.map(({ bucket, live, success }) => [bucket, success, live]).sort()
    )
    // Read at once, and after each time that it is rolled up.
    for (const _ of count(3)) {
      expect(yield* hours).toEqual([
        [0, 2, 0],
        [24, 1, 0]
      ])
      yield* rollUpAt(3 * dayMs)
    }
  })

  test("counts nothing of a webhook that was deleted, and the others as before", function* () {
    const repo = yield* Repo
    const [kept, deleted] = [yield* createWebhook(), yield* createWebhook({ team: team("elsewhere") })]
    yield* endOne((yield* queueAt(kept, 0)).run_id, success("ok"), 10)
    for (const ms of [0, 1, 2]) yield* endOne((yield* queueAt(deleted, ms)).run_id, success("ok"), ms + 10)
    yield* queueAt(deleted, 3)
    const webhooks = Effect.map(
      repo.activity(DateTime.makeUnsafe(midnight), Duration.days(1)),
      (activity) => new Set(activity.map(({ webhook_id }) => webhook_id))
    )
    expect(yield* counted(deleted.id)).toBe(4)
    yield* endOne((yield* queueAt(deleted, 4)).run_id, success("ok"), 10)
    yield* repo.deleteWebhook(deleted.id)
    expect(yield* webhooks).toEqual(new Set([kept.id]))
    yield* rollUpAt(3 * dayMs)
    expect(yield* webhooks).toEqual(new Set([kept.id]))
    expect(yield* counted(kept.id)).toBe(1)
  })

  test("counts no chat message, and a deleted team takes none of the counts with it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* endOne((yield* queueAt(webhook, 0)).run_id, success("ok"), 10)
    const chat = team("chat")
    yield* repo.createTeam(chat, at(0))
    for (const name of [ops, chat]) {
      const message = yield* newMessage({ team: name })
      yield* acceptOne(message)
      yield* endOne(message.run_id, success("hi"), 10)
    }
    yield* repo.deleteTeam(chat)
    expect(yield* counted(webhook.id)).toBe(1)
    expect(yield* repo.activity(DateTime.makeUnsafe(midnight), Duration.days(1))).toHaveLength(1)
  })

  test("counts what waits in the lanes: accepted, admitted, ended, deleted, before and after it is rolled up", function* () {
    const repo = yield* Repo
    const [first, second] = [yield* createWebhook(), yield* createWebhook()]
    const other = yield* createWebhook({ team: team("elsewhere") })
    const waits = Effect.gen(function* () {
      const teams = yield* repo.teams
      const slots = yield* Effect.forEach([first, second, other], ({ id }) => repo.slots(id))
      return {
        teams: teams.map(({ queued }) => queued),
        webhooks: slots.map(({ queued }) => queued),
        all: (yield* repo.queued(1_000)).all,
        few: (yield* repo.queued(2)).all
      }
    })
    const expectWaiting = Effect.fnUntraced(function* (teams: [number, number], webhooks: [number, number, number]) {
      const all = teams[0] + teams[1]
      const expected = { teams: teams.toReversed(), webhooks, all, few: Math.min(all, 2) }
      expect(yield* waits).toEqual(expected)
      yield* rollUpAt(3 * dayMs)
      expect(yield* waits).toEqual(expected)
    })

    const ids = yield* Effect.forEach(count(6), (n) => queueAt([first, second][n % 2]!, n * hourMs))
    yield* queueAt(other, 0)
    yield* expectWaiting([6, 1], [3, 3, 1])

    yield* admitOne(ids[0]!.run_id)
    yield* acceptOne(yield* newMessage())
    yield* expectWaiting([6, 0], [2, 3, 0])
    yield* endOne(ids[0]!.run_id, success("ok"), dayMs)
    yield* endOne(ids[1]!.run_id, outcomes.timeout, dayMs)
    yield* expectWaiting([5, 0], [2, 2, 0])

    yield* repo.deleteWebhook(first.id)
    yield* step({ accepts: [yield* newRun(other)] })
    expect(yield* repo.team(ops)).toMatchObject({ queued: 2 })
    expect(yield* repo.team(other.team)).toMatchObject({ queued: 1 })
    yield* rollUpAt(3 * dayMs)
    expect(yield* repo.team(ops)).toMatchObject({ queued: 2 })
    expect(yield* Effect.flip(repo.deleteTeam(ops))).toMatchObject({ webhooks: 1, live_runs: 3 })
  })

  test("keeps hours for a week, and days for a month", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* endOne((yield* queueAt(webhook, 0)).run_id, success("ok"), 10)
    const successes = (step: number) =>
      Effect.map(
        repo.statistics(webhook.id, DateTime.makeUnsafe(midnight), Duration.millis(step)),
        ([bucket]) => bucket?.success
      )
    yield* rollUpAt(7 * dayMs)
    expect([yield* successes(hourMs), yield* successes(dayMs)]).toEqual([1, 1])
    yield* rollUpAt(30 * dayMs)
    expect(yield* successes(dayMs)).toBe(1)
  })
}

const queueAt = Effect.fnUntraced(function* (target: Target, ms: number) {
  const run = yield* newRun(target, { run_id: RunId.make(v7({ msecs: epoch + ms })), accepted_at: at(ms) })
  yield* acceptOne(run)
  return run
})
