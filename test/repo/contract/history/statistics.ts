import { expect } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { v7 } from "uuid"
import { RunId } from "../../../../src/domain/Id.ts"
import type { AgentUsage } from "../../../../src/domain/run/AgentReport.ts"
import type { Outcome } from "../../../../src/domain/run/Run.ts"
import { finalStatuses } from "../../../../src/domain/run/RunStatus.ts"
import type { TeamName } from "../../../../src/domain/Team.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptOne,
  admitOne,
  at,
  createWebhook,
  endOne,
  epoch,
  failure,
  minute,
  newMessage,
  newRun,
  ops,
  sentOne,
  startedOne,
  success,
  type Target,
  team,
  timeout
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

/** No runs at all, in any state. */
const none = Object.fromEntries([...finalStatuses, "live"].map((state) => [state, 0]))

const minuteMs = Duration.toMillis(minute)
const hour = Duration.hours(1)
const hourMs = Duration.toMillis(hour)

/** When the hour of `epoch` begins. */
const begin = Math.floor(epoch / hourMs) * hourMs - epoch

/** Accepted at this time, which its id carries too. */
const acceptedAt = (ms: number): Pick<NewRun, "run_id" | "accepted_at"> => ({
  run_id: RunId.make(v7({ msecs: epoch + ms })),
  accepted_at: at(ms)
})

const queueAt = Effect.fnUntraced(function* (target: Target, ms: number) {
  const run = yield* newRun(target, acceptedAt(ms))
  yield* acceptOne(run)
  return run.run_id
})

export const statistics = (test: Test): void => {
  test("counts how runs ended, by the time of their acceptance", function* () {
    const repo = yield* Repo
    const [webhook, other] = [yield* createWebhook(), yield* createWebhook()]
    const run = Effect.fnUntraced(function* (ms: number, took: number, outcome = success("ok")) {
      const id = yield* queueAt(webhook, ms)
      yield* admitOne(id)
      yield* sentOne(id, ms + 10)
      yield* startedOne(id, ms + 20)
      yield* endOne(id, outcome, ms + 20 + took)
    })
    yield* run(begin - 1, 5)
    for (const took of [100, 400, 200]) yield* run(begin, took)
    yield* run(begin + hourMs - 1, 9_000, failure("no"))
    yield* run(begin + hourMs, 50, timeout)
    yield* queueAt(webhook, begin + hourMs)
    yield* queueAt(other, begin)

    const counted = yield* repo.statistics(webhook.id, at(begin), hour)
    expect([...counted].sort((a, b) => a.bucket - b.bucket)).toEqual([
      { ...none, bucket: 0, success: 3, error: 1, median_ms: 200, slowest_ms: 400 },
      { ...none, bucket: 1, timeout: 1, live: 1 }
    ])
    const elsewhere = (yield* createWebhook({ team: team("elsewhere") })).team
    const ofTeams = (...teams: ReadonlyArray<TeamName>) =>
      Effect.map(repo.totals(teams, at(begin), hour), (all) => all.toSorted((a, b) => a.bucket - b.bucket))
    const both = [
      { ...none, bucket: 0, success: 3, error: 1, live: 1, median_ms: 200, slowest_ms: 400 },
      { ...none, bucket: 1, timeout: 1, live: 1 }
    ]
    expect(yield* ofTeams(ops, elsewhere)).toEqual(both)
    expect(yield* ofTeams(elsewhere)).toEqual([])
    const all = yield* repo.totals(undefined, at(begin), Duration.times(hour, 2))
    expect(all).toEqual([{ ...both[0], timeout: 1, live: 2 }])
    const activity = yield* repo.activity(at(begin), Duration.times(hour, 2))
    expect(activity).toHaveLength(2)
    expect(activity).toContainEqual({
      ...none,
      ...{ webhook_id: webhook.id, bucket: 0, success: 3, error: 1, timeout: 1, live: 1 }
    })
    expect(activity).toContainEqual({ ...none, webhook_id: other.id, bucket: 0, live: 1 })
  })

  test("adds up what runs used, also reported late, without a 0 for what none reported", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const run = Effect.fnUntraced(function* (ms: number, outcome: Outcome, took = 5) {
      const id = yield* queueAt(webhook, ms)
      yield* admitOne(id)
      yield* endOne(id, outcome, ms + took)
      return id
    })
    const done = (usage: AgentUsage): Outcome => ({ status: "success", response: "ok", report: { usage } })
    const usage = Effect.gen(function* () {
      const read = Effect.gen(function* () {
        const buckets = yield* repo.statistics(webhook.id, at(begin), hour)
        expect(yield* repo.activity(at(begin), hour)).toEqual(
          buckets.map(({ median_ms, slowest_ms, ...counts }) => ({ ...counts, webhook_id: webhook.id }))
        )
        return buckets.map(({ usage }) => usage)
      })
      const before = yield* read
      yield* Effect.repeat(repo.rollUp(at(0), Duration.zero), { while: (more) => more })
      expect(yield* read).toEqual(before)
      return before
    })

    yield* run(begin, success("ok"))
    expect(yield* usage).toEqual([undefined])
    yield* run(begin + 1, done({ cost_usd: 0.25, model: "a model" }))
    yield* run(begin + 1, done({ cost_usd: 0.5 }))
    expect(yield* usage).toEqual([{ reported: 2, cost_usd: 0.75 }])
    yield* run(begin + 2, done({ input_tokens: 50, output_tokens: 0 }), minuteMs)
    const late = yield* run(begin + 3, timeout, minuteMs)
    yield* endOne(late, done({ input_tokens: 7, cached_input_tokens: 6 }), begin + 10)
    yield* endOne(late, done({ input_tokens: 7, cached_input_tokens: 6 }), begin + 11)
    const tokens = { input_tokens: 57, cached_input_tokens: 6, output_tokens: 0 }
    expect(yield* usage).toEqual([{ reported: 4, cost_usd: 0.75, ...tokens }])
  })

  test("counts slots in use and runs that wait apart", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* queueAt(webhook, 0)
    yield* queueAt(webhook, 1)
    expect(yield* repo.slots(webhook.id)).toEqual({ slots_in_use: 0, queued: 2 })
    yield* admitOne(first)
    expect(yield* repo.slots(webhook.id)).toEqual({ slots_in_use: 1, queued: 1 })
    yield* sentOne(first, 5)
    expect(yield* repo.slots(webhook.id)).toEqual({ slots_in_use: 1, queued: 1 })
    yield* endOne(first, success("ok"), 6)
    expect(yield* repo.slots(webhook.id)).toEqual({ slots_in_use: 0, queued: 1 })
  })

  test("knows what a queued run waits for: the runs ahead of it, up to a limit, what its team has out, a pause, a leader, a slot", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const elsewhere = yield* createWebhook({ team: team("elsewhere") })
    const first = yield* queueAt(webhook, 0)
    const message = yield* newMessage(acceptedAt(1))
    yield* acceptOne(message)
    const alone = yield* newRun(elsewhere, { ...acceptedAt(2), mode: "async", deadline_at: at(100) })
    yield* acceptOne(alone)
    const last = yield* queueAt(webhook, 3)
    const facts = (id: RunId, most = 100) => repo.queuedFacts(id, most)
    const next = { is_admitted: false, needs_leader: false, is_paused: false, ahead: 0, webhook_is_full: false }
    const ahead = Effect.forEach([first, message.run_id, last], (id) => Effect.map(facts(id), (facts) => facts?.ahead))
    expect(yield* facts(first)).toEqual(next)
    expect(yield* facts(alone.run_id)).toEqual({ ...next, needs_leader: true })
    expect(yield* ahead).toEqual([0, 1, 2])
    expect(yield* facts(last, 1)).toMatchObject({ ahead: 1 })
    yield* admitOne(first)
    expect(yield* facts(first)).toMatchObject({ is_admitted: true })
    expect(yield* facts(last)).toEqual({ ...next, ahead: 1, out: "queued" })
    expect(yield* facts(message.run_id)).toEqual({ ...next, out: "queued" })
    yield* sentOne(first, 4)
    expect(yield* facts(first)).toBeUndefined()
    yield* endOne(first, timeout, 5)
    expect(yield* facts(last)).toMatchObject({ ahead: 1, out: "timeout" })
    yield* endOne(message.run_id, timeout, 10)
    yield* repo.pauseTeam(team("elsewhere"), at(10))
    expect(yield* facts(last)).toMatchObject({ ahead: 0, is_paused: false })
    expect(yield* facts(alone.run_id)).toMatchObject({ is_paused: true })
    const limited = yield* createWebhook({ team: team("limited"), max_concurrent: 1 })
    yield* admitOne(yield* queueAt(limited, 20))
    expect(yield* facts(yield* queueAt(limited, 21))).toMatchObject({ out: "queued", webhook_is_full: true })
  })

  test("reads what each team has now, and what its agent last reported", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const message = yield* newMessage({ team: team("elsewhere") })
    yield* createWebhook({ team: team("elsewhere") })
    yield* acceptOne(message)
    const [first] = [yield* queueAt(webhook, 0), yield* queueAt(webhook, 1)]
    expect(yield* repo.work([ops])).toEqual([])
    yield* admitOne(first, 5)
    yield* sentOne(first, 6)
    yield* startedOne(first, 7)
    const done = { run_id: first, first_seq: 0, seq: 0, activity: "Read a.ts" }
    yield* repo.addProgress([done])
    yield* repo.addProgress([{ ...done, first_seq: 1, seq: 1, activity: "Edit a.ts" }])
    const ofWebhook = { run_id: first, team: ops, webhook_id: webhook.id, since: at(7), activity: "Edit a.ts" }
    expect(yield* repo.work(undefined)).toEqual([
      { run_id: message.run_id, team: "elsewhere", since: at(0) },
      ofWebhook
    ])
    expect(yield* repo.work([ops])).toEqual([ofWebhook])
    yield* endOne(first, success("ok"), 8)
    expect(yield* repo.work([ops])).toEqual([])
  })

  test("reads a team's runs, of its webhooks and of chat, newest first", function* () {
    const repo = yield* Repo
    const [webhook, elsewhere] = [yield* createWebhook(), yield* createWebhook({ team: team("elsewhere") })]
    const first = yield* queueAt(webhook, 0)
    const message = yield* newMessage(acceptedAt(1))
    yield* acceptOne(message)
    yield* queueAt(elsewhere, 2)
    const last = yield* queueAt(webhook, 3)
    const ids = (limit: number) =>
      Effect.map(repo.teamRuns(webhook.team, limit), (runs) => runs.map((run) => run.run_id))
    expect(yield* ids(10)).toEqual([last, message.run_id, first])
    expect(yield* ids(2)).toEqual([last, message.run_id])
  })

  test("reads a team's runs of a webhook that other teams had before", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const before = yield* queueAt(webhook, 0)
    const there = team("there")
    yield* repo.createTeam(there, at(0))
    yield* repo.updateWebhook(webhook.id, { team: there, updated_at: at(1) })
    const moved = { ...webhook, team: there, version: webhook.version + 1 }
    const after = yield* queueAt(moved, 1)
    const ids = (name: typeof there) => Effect.map(repo.teamRuns(name, 10), (runs) => runs.map((run) => run.run_id))
    expect(yield* ids(there)).toEqual([after])
    yield* repo.updateWebhook(webhook.id, { team: webhook.team, updated_at: at(2) })
    expect(yield* ids(webhook.team)).toEqual([before])
  })

  test("reads the runs of a stretch of time", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const days = [0, 1, 2, 3].map((day) => day * 24 * 60 * minuteMs)
    const ids: Array<RunId> = []
    for (const day of days) ids.push(yield* queueAt(webhook, day))
    const read = (from?: number, to?: number) =>
      Effect.map(
        repo.runs({
          webhook_id: webhook.id,
          limit: 10,
          ...(from !== undefined && { from: at(from) }),
          ...(to !== undefined && { to: at(to) })
        }),
        ({ data }) => data.map((run) => run.run_id)
      )
    expect(yield* read(days[1])).toEqual([ids[3], ids[2], ids[1]])
    expect(yield* read(days[1]! + 1)).toEqual([ids[3], ids[2]])
    expect(yield* read(undefined, days[2])).toEqual([ids[1], ids[0]])
    expect(yield* read(days[1], days[3])).toEqual([ids[2], ids[1]])
    expect(yield* read(days[3]! + 1)).toEqual([])
  })
}
