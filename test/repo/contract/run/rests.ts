import { expect } from "@effect/vitest"
import { DateTime, Duration, Effect, Stream } from "effect"
import { v4 } from "uuid"
import { type LeaderId, makeLeaderKeyId, type RunId } from "../../../../src/domain/Id.ts"
import { type Change, subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { LimitedRun } from "../../../../src/repo/run/RunStore.ts"
import {
  admitNext,
  admitOne,
  at,
  count,
  createWebhook,
  drain,
  endOne,
  laneTeams,
  newMessage,
  noSlots,
  ops,
  outcomes,
  outIds,
  outRuns,
  queueRun,
  sendRun,
  sentOne,
  startedOne,
  step,
  success,
  team,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const reason = "You've hit your limit · resets 2pm"
const minutes = (n: number) => n * 60_000

const restOf = (run_id: RunId, ms: number, more: Partial<LimitedRun> = {}) =>
  Effect.flatMap(Repo, (repo) => repo.rest([{ run_id, at: at(ms), reason, ...more }]))

/** Until when the team rests, in milliseconds from the epoch of the tests. */
const restsUntil = Effect.map(
  Effect.flatMap(Repo, (repo) => repo.team(ops)),
  ({ resting_until }) => resting_until && Duration.toMillis(DateTime.distance(at(0), resting_until))
)

const wake = (ms: number) => Effect.flatMap(Repo, (repo) => repo.wakeTeams(at(ms)))

export const rests = (test: Test): void => {
  test("takes a run back to the head of its lane, and admits nothing of its team until the limit ends", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const elsewhere = yield* createWebhook({ team: team("other") })
    const first = yield* sendRun(webhook, 10)
    yield* startedOne(first, 20)
    const ids = [first, yield* queueRun(webhook), yield* queueRun(webhook)]
    const other = yield* queueRun(elsewhere)
    const changes = yield* subscribe(repo)

    const until = at(minutes(90))
    expect(yield* restOf(first, 100, { until })).toEqual({ rested: [{ run_id: first, team: ops, until }], ended: [] })
    const isSaid = (change: Change) => change._tag === "RunChanged" && change.run_id === first
    yield* Stream.runHead(Stream.filter(Stream.fromQueue(changes), isSaid))
    const run = yield* repo.run(first)
    expect(run).toMatchObject({ status: "queued", rests: 1 })
    for (const field of ["sent_at", "started_at", "finished_at"]) expect(run).not.toHaveProperty(field)
    expect(yield* outIds).toEqual([])
    expect(yield* repo.team(ops)).toEqual({
      ...{ team: "ops", queued: 3, created_at: at(0) },
      ...{ resting_since: at(100), resting_until: until, resting_reason: reason }
    })

    const message = yield* newMessage()
    expect((yield* step({ accepts: [message] }, { limits: noSlots })).admitted).toEqual([])
    expect(yield* laneTeams).toEqual(["other"])
    expect(yield* admitNext([ops, team("other")], {}, 200)).toEqual([other])
    expect(yield* wake(minutes(90) - 1)).toEqual([])
    expect(yield* admitNext([ops], {}, minutes(90) - 1)).toEqual([])

    const woken = yield* subscribe(repo)
    expect(yield* wake(minutes(90))).toEqual([ops])
    expect(yield* wake(minutes(90))).toEqual([])
    const wakes = (change: Change) => change._tag === "RunAccepted" && change.team === ops
    yield* Stream.runHead(Stream.filter(Stream.fromQueue(woken), wakes))
    expect(yield* repo.team(ops)).toEqual({ team: "ops", queued: 4, created_at: at(0) })
    expect(yield* drain()).toEqual([...ids, message.run_id])
  })

  test("counts the time of an asynchronous run from its next start, and leaves the deadline of a waiting caller", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const run = yield* sendRun(webhook, 10)
    yield* restOf(run, 50_000)
    expect(yield* repo.expire(at(minutes(200)))).toEqual([])
    yield* repo.resumeTeam(ops, at(minutes(200)))
    expect(yield* admitOne(run, minutes(200))).toBe(true)
    expect((yield* outRuns)[0]).toMatchObject({ status: "queued", deadline_at: at(minutes(201)), rests: 1 })
    yield* sentOne(run, minutes(200) + 10)
    expect(yield* repo.expire(at(minutes(201)))).toEqual([])
    expect((yield* repo.expire(at(minutes(201) + 10))).map(({ run_id }) => run_id)).toEqual([run])

    const other = yield* createWebhook({ team: team("other") })
    const waits = yield* queueRun(other, { mode: "wait", deadline_at: at(30_000) })
    yield* admitOne(waits, 100)
    yield* sentOne(waits, 110)
    yield* restOf(waits, 120)
    expect(yield* repo.expire(at(29_999))).toEqual([])
    expect(yield* repo.expire(at(30_000))).toMatchObject([
      { run_id: waits, status: "timeout", released_at: at(30_000) }
    ])
  })

  test("lets a run of a webhook that queues wait for a leader again, from the end of the rest", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ when_team_stopped: "queue", queue_for_seconds: 10 })
    const run = yield* sendRun(webhook, 10, { deadline_at: at(10_000) })
    yield* restOf(run, 100, { until: at(60_000) })
    expect(yield* repo.expire(at(59_000), { stopped: [ops] })).toEqual([])
    yield* wake(60_000)
    expect((yield* step({ teams: [ops] })).needLeader).toEqual([ops])
    expect(yield* repo.expire(at(69_999), { stopped: [ops] })).toEqual([])
    expect(yield* repo.expire(at(70_000), { stopped: [ops] })).toMatchObject([
      { run_id: run, error: { code: "team_not_running" } }
    ])
  })

  test("rests for a minute if no end is known, twice as long with each limit in a row up to an hour, and anew after an answer", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const run = yield* queueRun(webhook)
    let now = 0
    const limit = (more: (now: number) => Partial<LimitedRun> = () => ({})) =>
      Effect.gen(function* () {
        expect(yield* admitOne(run, now)).toBe(true)
        now += 1_000
        yield* restOf(run, now, more(now))
        const until = (yield* restsUntil)!
        const rest = until - now
        expect(yield* wake(until - 1)).toEqual([])
        expect(yield* wake(until)).toEqual([ops])
        now = until
        return rest / minutes(1)
      })
    const pauses = []
    for (const _ of count(9)) pauses.push(yield* limit())
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
    // A time in the past says nothing, and one that is near is not tried ever again.
    expect(yield* limit((now) => ({ until: at(now - 1) }))).toBe(60)
    expect(yield* limit((now) => ({ until: at(now + 500) }))).toBe(1)
    expect(yield* limit((now) => ({ until: at(now + minutes(300)) }))).toBe(300)
    expect(yield* limit((now) => ({ until: at(now + minutes(60 * 24 * 365)) }))).toBe(60 * 24 * 31)
    expect((yield* repo.run(run)).rests).toBe(13)

    yield* admitOne(run, now)
    yield* endOne(run, success("done"), now + 10)
    const next = yield* queueRun(webhook)
    yield* admitOne(next, now + 20)
    yield* restOf(next, now + 1_000)
    expect(yield* restsUntil).toBe(now + 1_000 + minutes(1))
    expect((yield* repo.team(ops)).resting_since).toEqual(at(now + 1_000))
  })

  test("says since when there is one limit after the other", function* () {
    const repo = yield* Repo
    const run = yield* queueRun(yield* createWebhook())
    yield* admitOne(run, 0)
    yield* restOf(run, 100, { until: at(5_000) })
    yield* wake(5_000)
    expect(yield* repo.team(ops)).not.toHaveProperty("resting_since")
    yield* admitOne(run, 5_000)
    yield* restOf(run, 6_000, { until: at(minutes(5)) })
    expect(yield* repo.team(ops)).toMatchObject({ resting_since: at(100), resting_until: at(minutes(5)) })
  })

  test("changes nothing when a reply is repeated: neither while the team rests, nor when the run is out again", function* () {
    const repo = yield* Repo
    const run = yield* sendRun(yield* createWebhook(), 10)
    yield* restOf(run, 100, { rests: 0 })
    const before = yield* repo.team(ops)
    expect(yield* restOf(run, 200, { rests: 0 })).toEqual({ rested: [], ended: [] })
    expect(yield* restOf(run, 200)).toEqual({ rested: [], ended: [] })
    expect(yield* repo.team(ops)).toEqual(before)

    yield* repo.resumeTeam(ops, at(300))
    yield* admitOne(run, 300)
    yield* sentOne(run, 310)
    expect(yield* restOf(run, 400, { rests: 0 })).toEqual({ rested: [], ended: [] })
    expect(yield* outIds).toEqual([run])
    expect(yield* repo.team(ops)).not.toHaveProperty("resting_until")
    expect((yield* restOf(run, 500, { rests: 1 })).rested).toHaveLength(1)
    expect((yield* repo.run(run)).rests).toBe(2)
    // Both servers that took it over, at the same time.
    yield* repo.resumeTeam(ops, at(600))
    yield* admitOne(run, 600)
    const both = yield* Effect.all([restOf(run, 700, { rests: 2 }), restOf(run, 701, { rests: 2 })], together)
    expect(both.flatMap(({ rested }) => rested)).toHaveLength(1)
    expect((yield* repo.run(run)).rests).toBe(3)
  })

  test("leaves ended runs as they are, and lets the team of one that is still out rest once", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const cancelled = yield* sendRun(webhook, 10)
    yield* endOne(cancelled, outcomes.cancelled, 50)
    expect(yield* restOf(cancelled, 100)).toEqual({ rested: [], ended: [cancelled] })
    expect(yield* repo.run(cancelled)).toMatchObject({ status: "cancelled" })
    expect(yield* outIds).toEqual([cancelled])
    expect(yield* restsUntil).toBe(100 + minutes(1))
    yield* restOf(cancelled, 200)
    expect(yield* restsUntil).toBe(100 + minutes(1))

    const done = yield* sendRun(yield* createWebhook({ team: team("other") }), 10)
    yield* endOne(done, success("done"), 50)
    expect(yield* restOf(done, 100)).toEqual({ rested: [], ended: [done] })
    expect(yield* repo.team(team("other"))).not.toHaveProperty("resting_until")
  })

  test("ends a rest when the team is resumed, and keeps a pause and a rest apart", function* () {
    const repo = yield* Repo
    const run = yield* sendRun(yield* createWebhook(), 10)
    yield* repo.pauseTeam(ops, at(50))
    yield* restOf(run, 100, { until: at(5_000) })
    yield* wake(5_000)
    expect(yield* repo.team(ops)).toEqual({ team: "ops", queued: 1, created_at: at(0), paused_at: at(50) })
    expect(yield* admitNext([ops], {}, 5_000)).toEqual([])
    yield* repo.resumeTeam(ops, at(6_000))
    expect(yield* admitNext([ops], {}, 6_000)).toEqual([run])

    yield* restOf(run, 6_500)
    const resumed = yield* repo.resumeTeam(ops, at(7_000))
    expect(resumed).toEqual({ team: "ops", queued: 1, created_at: at(0) })
    expect(yield* repo.resumeTeam(ops, at(7_100))).toEqual(resumed)
    expect(yield* admitNext([ops], {}, 7_100)).toEqual([run])
  })

  test("takes the run away from a leader over HTTP, which gets it again only when it is offered", function* () {
    const repo = yield* Repo
    const [leader, key_id] = [v4() as LeaderId, yield* makeLeaderKeyId]
    const run = yield* sendRun(yield* createWebhook(), 10)
    yield* repo.createLeaderKey({
      ...{ id: key_id, team: ops, name: "laptop", hint: "…abcd", key_hash: new Uint8Array(32), created_at: at(0) }
    })
    const ask = (ms: number) =>
      Effect.map(
        repo.askToLead([{ team: ops, leader, key_id, asked_at: at(ms) }], at(ms), { mayReplace: true }),
        (taken) => taken.map(({ run, redelivered }) => [run.run_id, redelivered])
      )
    yield* ask(20)
    yield* repo.offerRuns([{ team: ops, run_id: run, redelivered: false }])
    expect(yield* ask(30)).toEqual([[run, false]])
    yield* restOf(run, 100)
    expect(yield* repo.keepRuns([{ team: ops, leader, run_id: run }], at(200))).toEqual([])
    yield* repo.resumeTeam(ops, at(300))
    yield* admitOne(run, 300)
    expect(yield* ask(400)).toEqual([])
    yield* repo.offerRuns([{ team: ops, run_id: run, redelivered: false }])
    expect(yield* ask(500)).toEqual([[run, false]])
  })
}
