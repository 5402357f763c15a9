import { expect } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { RunId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { type NewRun, Skipped } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptAll,
  acceptOne,
  admitNext,
  at,
  count,
  createWebhook,
  drain,
  endOne,
  minute,
  newRun,
  noSlots,
  ops,
  outcomes,
  releaseOne,
  sendRun,
  startedOne,
  step,
  success,
  type Target,
  team,
  together,
  withKey
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

type OnNew = NonNullable<NewRun["singleton"]>["on_new"]

const keyed = (webhook: Target, on_new: OnNew, fields: Partial<NewRun> = {}, key = "a") =>
  newRun(webhook, { singleton: { key, on_new }, ...fields })

const noSlot = { limits: noSlots }
const asking = { hold: { for: "approval", until: at(1_000_000) }, needs_approval: true } as const
const again = { attempt: 1, max_attempts: 3, retry_after_seconds: 60 }

/** A failed run with a pending retry. */
const failedRun = (webhook: Target, on_new: OnNew) =>
  Effect.gen(function* () {
    const run = yield* keyed(webhook, on_new, again)
    yield* acceptOne(run)
    yield* endOne(run.run_id, outcomes.error, 0)
    return run.run_id
  })

const nextAttempt = (webhook: Target, replay_of: RunId) => keyed(webhook, "queue", { ...again, attempt: 2, replay_of })

const shown = (id: RunId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.run(id)),
    ({ cancelled_by, retry_at, status, superseded_by }) => ({ cancelled_by, retry_at, status, superseded_by })
  )

const supersededBy = (superseded_by: RunId, status = "cancelled") => ({
  cancelled_by: "superseded",
  retry_at: undefined,
  status,
  superseded_by
})

/** It supersedes when it starts. */
const onStart: Partial<NewRun> = { singleton: { key: "a", on_new: "supersede", supersede_when: "started" } }

/** It waits for its approval. */
const asked = (webhook: Target, fields: Partial<NewRun> = {}) => keyed(webhook, "supersede", { ...asking, ...fields })

/** The runs that it replaces. */
const decide = (run: NewRun, approves: boolean) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.decide(run.run_id, { approves, at: at(6_000), by: "Ann" })),
    (decided) => decided?.superseded.map(({ run_id }) => run_id) ?? []
  )

const skippedFor = (run_id: RunId) => new Skipped({ run_id })

const cancel = (webhook: Target, received: number, event: Pick<NewRun, "idempotency"> = {}) =>
  Effect.flatMap(Repo, (repo) =>
    repo.cancelSingletons(
      { webhook_id: webhook.id, team: webhook.team, key: "a" },
      { received_at: at(received), at: at(9_000), ...event }
    )
  )

export const singletons = (test: Test): void => {
  test("ends a run no earlier than it has started, also if its cancellation began before", function* () {
    const webhook = yield* createWebhook()
    const late = yield* sendRun(webhook, 1, { singleton: { key: "a", on_new: "queue" } })
    yield* startedOne(late, 12_000)
    expect(yield* cancel(webhook, 100)).toMatchObject([
      { run_id: late, started_at: at(12_000), finished_at: at(12_000) }
    ])
  })
  test("supersedes the key's runs: in progress, queued, collecting and waiting for a retry; no others", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const others = yield* Effect.all([
      keyed(webhook, "supersede", {}, "b"),
      keyed(yield* createWebhook({ name: "other" }), "supersede"),
      newRun(webhook),
      keyed(webhook, "queue", { team: team("moved") })
    ])
    yield* Effect.ignore(repo.createTeam(team("moved"), at(0)))
    const running = yield* sendRun(webhook, 1, { singleton: { key: "a", on_new: "queue" } })
    yield* acceptAll(others)
    const failed = yield* failedRun(webhook, "queue")
    const ended = yield* keyed(webhook, "queue")
    yield* acceptOne(ended)
    yield* endOne(ended.run_id, success("done"), 2)
    const queued = yield* keyed(webhook, "queue")
    const collecting = yield* keyed(webhook, "queue", { coalesce: { key: "w", until: at(30_000) } })
    yield* acceptAll([queued, collecting])

    const newer = yield* keyed(webhook, "supersede")
    const { accepted, superseded } = yield* step({ accepts: [newer] }, noSlot, 5_000)
    expect(accepted).toEqual([Result.succeed({ _tag: "Accepted" })])
    const gone = [running, failed, queued.run_id, collecting.run_id]
    expect(superseded.map(({ run_id }) => run_id).sort()).toEqual(gone.sort())
    expect(yield* shown(running)).toEqual(supersededBy(newer.run_id))
    expect(yield* shown(queued.run_id)).toEqual(supersededBy(newer.run_id))
    expect(yield* shown(collecting.run_id)).toEqual(supersededBy(newer.run_id))
    expect(yield* shown(failed)).toEqual(supersededBy(newer.run_id, "error"))
    // Its leader must stop first.
    expect(yield* repo.run(running)).toMatchObject({ stop_at: at(5_000), finished_at: at(5_000), started_at: at(1) })
    expect(yield* repo.run(queued.run_id)).toMatchObject({ released_at: at(5_000) })
    yield* step({ releases: [{ run_id: running, at: at(6_000) }] }, noSlot)
    yield* repo.endHolds(at(30_000))
    expect(yield* drain()).toEqual([...others.slice(0, 3).map(({ run_id }) => run_id), newer.run_id])
  })

  test("has the agent of a run that timed out stopped, by a newer run and by an event", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const timedOut = Effect.gen(function* () {
      const id = yield* sendRun(webhook, 1, { singleton: { key: "a", on_new: "queue" }, max_work: minute })
      yield* endOne(id, outcomes.timeout, 2)
      return id
    })
    const stopped = { status: "timeout", finished_at: at(2) }
    const first = yield* timedOut
    const newer = yield* keyed(webhook, "supersede")
    const { superseded } = yield* step({ accepts: [newer] }, noSlot, 5_000)
    expect(superseded).toMatchObject([{ run_id: first, ...stopped, stop_at: at(5_000) }])
    expect(yield* shown(first)).toEqual(supersededBy(newer.run_id, "timeout"))
    expect((yield* cancel(webhook, 100)).map(({ run_id }) => run_id)).toEqual([newer.run_id])
    yield* step({ releases: [{ run_id: first, at: at(6_000) }] }, noSlot)
    const second = yield* timedOut
    expect(yield* cancel(webhook, 100)).toMatchObject([{ run_id: second, ...stopped, stop_at: at(9_000) }])
    expect(yield* repo.run(second)).toMatchObject({ cancelled_by: "event" })
  })

  test("replaces by a run that waits for its approval only others that do, and the rest when it is approved", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const running = yield* sendRun(webhook, 1, { singleton: { key: "a", on_new: "supersede" } })
    const failed = yield* failedRun(webhook, "queue")
    const queued = yield* keyed(webhook, "queue")
    const collecting = yield* keyed(webhook, "queue", { coalesce: { key: "w", until: at(30_000) }, ...asking })
    yield* acceptAll([queued, collecting])
    const [first, denied, approved] = yield* Effect.all([asked(webhook), asked(webhook), asked(webhook)])
    const replacedBy = (run: NewRun) =>
      Effect.map(step({ accepts: [run] }, noSlot, 5_000), ({ superseded }) => superseded.map(({ run_id }) => run_id))
    expect(yield* replacedBy(first)).toEqual([collecting.run_id])
    expect(yield* replacedBy(denied)).toEqual([first.run_id])
    expect(yield* decide(denied, false)).toEqual([])
    expect(yield* replacedBy(approved)).toEqual([])
    expect(yield* shown(running)).toMatchObject({ status: "running" })
    // Accepted since then, and not by a webhook that supersedes.
    const newer = yield* keyed(webhook, "queue", asking)
    yield* acceptOne(newer)
    // A retry is of an older request, wherever it stands.
    const retry = yield* nextAttempt(webhook, failed)
    yield* acceptOne(retry)
    const gone = [running, queued.run_id, retry.run_id]
    expect((yield* decide(approved, true)).sort()).toEqual(gone.toSorted())
    for (const id of gone) expect(yield* shown(id)).toEqual(supersededBy(approved.run_id))
    expect(yield* repo.run(running)).toMatchObject({ stop_at: at(6_000) })
    expect(yield* shown(newer.run_id)).toMatchObject({ status: "queued" })
    yield* step({ releases: [{ run_id: running, at: at(7_000) }] }, noSlot)
    expect(yield* drain()).toEqual([approved.run_id])
  })

  test("leaves the run in progress until the newer one starts (`started`), and does not retry it", function* () {
    const webhook = yield* createWebhook()
    const running = yield* sendRun(webhook, 1, { ...again, singleton: { key: "a", on_new: "queue" } })
    const failed = yield* failedRun(webhook, "queue")
    const queued = yield* keyed(webhook, "queue")
    const collecting = yield* keyed(webhook, "queue", { coalesce: { key: "w", until: at(30_000) } })
    const pending = yield* keyed(webhook, "queue", asking)
    yield* acceptAll([queued, collecting, pending])
    const gone = yield* keyed(webhook, "supersede", onStart)
    const { superseded } = yield* step({ accepts: [gone] }, noSlot)
    const waited = [failed, queued.run_id, collecting.run_id, pending.run_id]
    expect(superseded.map(({ run_id }) => run_id).sort()).toEqual(waited.toSorted())
    const newer = yield* keyed(webhook, "supersede", onStart)
    yield* acceptOne(newer)
    expect(yield* shown(gone.run_id)).toEqual(supersededBy(newer.run_id))
    expect(yield* shown(running)).toMatchObject({ status: "running" })
    const result = yield* step({ ends: [{ run_id: running, outcome: outcomes.error, at: at(9) }] })
    expect(result.ended.map(({ run }) => run?.superseded_by)).toEqual([newer.run_id])
    expect(yield* shown(running)).toEqual(supersededBy(newer.run_id, "error"))
    expect(result.admitted.map(({ run_id }) => run_id)).toEqual([newer.run_id])
  })

  test("retries the run in progress if the newer one (`started`) was denied, cancelled, or has another key", function* () {
    const webhook = yield* createWebhook()
    const running = yield* sendRun(webhook, 1, { ...again, singleton: { key: "a", on_new: "queue" } })
    const pending = yield* asked(webhook, onStart)
    yield* acceptOne(yield* newRun(webhook, { singleton: { ...onStart.singleton!, key: "b" } }))
    yield* acceptOne(pending)
    yield* decide(pending, false)
    const cancelled = yield* keyed(webhook, "supersede", onStart)
    yield* acceptOne(cancelled)
    yield* endOne(cancelled.run_id, outcomes.cancelled, 7_000)
    yield* acceptOne(yield* asked(webhook, onStart))
    yield* endOne(running, outcomes.error, 9_000)
    expect(yield* shown(running)).toMatchObject({ cancelled_by: undefined, retry_at: at(69_000), status: "error" })
  })

  test("loses no run and retries none when the older one fails while the newer one is approved", function* () {
    const pairs = yield* Effect.forEach(count(30), (n) =>
      Effect.gen(function* () {
        const webhook = yield* createWebhook({ name: `hook ${n}`, team: team(`team-${n}`) })
        const older = yield* sendRun(webhook, 1, { ...again, singleton: { key: "a", on_new: "queue" } })
        const newer = yield* asked(webhook, n % 2 ? onStart : {})
        yield* acceptOne(newer)
        return { newer, older }
      })
    )
    const race = ({ newer, older }: (typeof pairs)[number]) =>
      Effect.all([endOne(older, outcomes.error, 6_000), decide(newer, true), decide(newer, true)], together)
    yield* Effect.forEach(pairs, race, together)
    for (const [n, { newer, older }] of pairs.entries()) {
      const { status, ...rest } = yield* shown(older)
      const { status: _, ...superseded } = supersededBy(newer.run_id)
      expect(rest).toEqual(superseded)
      expect(n % 2 ? ["error"] : ["error", "cancelled"]).toContain(status)
      yield* releaseOne(older, 7_000)
    }
    const started = yield* admitNext(pairs.map(({ newer }) => newer.team))
    expect(started.toSorted()).toEqual(pairs.map(({ newer }) => newer.run_id).toSorted())
  })

  test("leaves the last of several with a key in one group, and ends others' runs first", function* () {
    const webhook = yield* createWebhook()
    const out = yield* sendRun(webhook, 1)
    const failed = yield* failedRun(webhook, "supersede")
    const all = yield* Effect.forEach(count(3), () => keyed(webhook, "supersede"))
    const other = yield* keyed(webhook, "supersede", {}, "b")
    const retry = yield* nextAttempt(webhook, failed)
    const [first, second, last] = all as [NewRun, NewRun, NewRun]
    const result = yield* step({
      ends: [{ run_id: out, outcome: success("done"), at: at(2) }],
      // A retry is of an older request, wherever it stands.
      accepts: [first, other, second, last, retry]
    })
    expect(result.accepted.every(Result.isSuccess)).toBe(true)
    expect(result.ended.map(({ recorded }) => recorded)).toEqual([true])
    for (const { run_id } of [first, second, retry]) expect(yield* shown(run_id)).toEqual(supersededBy(last.run_id))
    expect(result.admitted.map(({ run_id }) => run_id)).toEqual([other.run_id])
    yield* endOne(other.run_id, success("done"), 3)
    expect(yield* drain()).toEqual([last.run_id])
  })

  test("supersedes nothing by what is not accepted: refused, edited or repeated", function* () {
    const webhook = yield* createWebhook()
    const first = yield* keyed(webhook, "supersede", withKey("delivery"))
    yield* acceptOne(first)
    const refused = (run: NewRun, options = {}) => Effect.map(Effect.flip(acceptOne(run, options)), ({ _tag }) => _tag)
    // A repeat only: nothing new is accepted.
    expect(yield* refused(yield* keyed(webhook, "supersede"), { maxQueued: 0 })).toBe("TooManyQueued")
    const limited = { ...webhook, budget: { runs: 0, unknown_cost_usd: 0 } }
    expect(yield* refused(yield* keyed(limited, "supersede"))).toBe("BudgetExceeded")
    expect(yield* refused(yield* keyed({ ...webhook, version: 2 }, "supersede"))).toBe("WebhookEdited")
    for (const on_new of ["supersede", "skip"] as const) {
      const repeat = yield* acceptOne(yield* keyed(webhook, on_new, withKey("delivery")))
      expect(repeat).toMatchObject({ _tag: "Repeated", run: { run_id: first.run_id } })
    }
    expect(yield* shown(first.run_id)).toMatchObject({ status: "queued" })
  })

  test("accepts a run that takes the place of a queued one, however long the queue is", function* () {
    const webhook = { ...(yield* createWebhook()), max_queued: 1 }
    yield* sendRun(webhook, 1)
    const first = yield* keyed(webhook, "supersede")
    const full = { _tag: "TooManyQueued" }
    yield* acceptOne(first)
    // One that waits for its approval takes the place of none yet.
    expect(yield* Effect.flip(acceptOne(yield* asked(webhook)))).toMatchObject(full)
    const [other, newer] = [yield* keyed(webhook, "supersede", {}, "b"), yield* keyed(webhook, "supersede")]
    expect(yield* acceptAll([other, newer])).toMatchObject([{ failure: full }, Result.succeed({ _tag: "Accepted" })])
    expect(yield* shown(first.run_id)).toEqual(supersededBy(newer.run_id))
    const last = yield* keyed({ ...webhook, max_queued: 9 }, "supersede")
    yield* acceptOne(last, { maxQueued: 1 })
    expect(yield* shown(newer.run_id)).toEqual(supersededBy(last.run_id))
    expect(yield* Effect.flip(acceptOne(other, { maxQueued: 1 }))).toMatchObject(full)
  })

  test("gives a late repeat of a superseded delivery its run, which does not start again", function* () {
    const webhook = yield* createWebhook()
    const renewing = (key: string) => {
      const { idempotency } = withKey(key)
      return keyed(webhook, "supersede", { idempotency: { ...idempotency, renewsCancelled: true } })
    }
    const [old, newer] = [yield* renewing("old"), yield* renewing("new")]
    yield* acceptOne(old)
    yield* acceptOne(newer)
    expect(yield* acceptOne(yield* renewing("old"))).toMatchObject({ run: { run_id: old.run_id } })
    expect(yield* shown(newer.run_id)).toMatchObject({ status: "queued" })
    // A person cancelled this one.
    yield* endOne(newer.run_id, outcomes.cancelled, 1)
    expect(yield* acceptOne(yield* renewing("new"))).toEqual({ _tag: "Accepted" })
  })

  test("skips a run while another with its key is on, also of the same group, and names that one", function* () {
    const webhook = yield* createWebhook()
    const group = yield* Effect.all([
      keyed(webhook, "skip"),
      keyed(webhook, "skip", withKey("one")),
      keyed(webhook, "skip", {}, "b"),
      keyed(webhook, "skip")
    ])
    const [first, , other] = group
    const skipped = Result.fail(skippedFor(first.run_id))
    const accepted = Result.succeed({ _tag: "Accepted" })
    expect(yield* acceptAll(group)).toEqual([accepted, skipped, accepted, skipped])
    expect(yield* drain()).toEqual([first.run_id, other.run_id])
    const failed = yield* failedRun(webhook, "skip")
    expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "skip")))).toEqual(skippedFor(failed))
    const retry = yield* nextAttempt(webhook, failed)
    expect(yield* acceptOne(retry)).toEqual({ _tag: "Accepted" })
    expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "skip")))).toEqual(skippedFor(retry.run_id))
    yield* endOne(retry.run_id, success("done"), 1)
    const pending = yield* keyed(webhook, "skip", { ...withKey("one"), ...asking })
    expect(yield* acceptOne(pending)).toEqual({ _tag: "Accepted" })
    expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "skip")))).toEqual(skippedFor(pending.run_id))
  })

  test("cancels the key's runs that were accepted before an event, with retries of older ones, and no newer one", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const failed = yield* failedRun(webhook, "queue")
    const retried = yield* failedRun(webhook, "queue")
    const retry = { ...(yield* nextAttempt(webhook, retried)), accepted_at: at(200) }
    const [older, newer] = [
      yield* keyed(webhook, "queue", { accepted_at: at(100) }),
      yield* keyed(webhook, "queue", { accepted_at: at(101) })
    ]
    const other = yield* keyed(webhook, "queue", {}, "b")
    yield* acceptAll([retry, older, newer, other])
    const gone = yield* cancel(webhook, 100)
    const ids = [failed, retry.run_id, older.run_id]
    expect(gone.map(({ run_id }) => run_id).sort()).toEqual(ids.toSorted())
    for (const id of ids) expect(yield* shown(id)).toMatchObject({ cancelled_by: "event", superseded_by: undefined })
    expect(yield* repo.retriesDue(at(100_000), { limit: 9, except: [] })).toEqual([])
    expect(yield* cancel(webhook, 100)).toEqual([])
    expect(yield* drain(ops)).toEqual([newer.run_id, other.run_id])
  })

  test("cancels by a repeated event what its first delivery would have cancelled, until its key expires", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const event = withKey("closed")
    expect(yield* cancel(webhook, 100, event)).toEqual([])
    const [older, newer] = [
      yield* keyed(webhook, "queue", { accepted_at: at(99) }),
      yield* keyed(webhook, "queue", { accepted_at: at(101) })
    ]
    yield* acceptAll([newer, older])
    expect((yield* cancel(webhook, 200, event)).map(({ run_id }) => run_id)).toEqual([older.run_id])
    yield* repo.endHolds(event.idempotency.expires_at)
    expect((yield* cancel(webhook, 300, event)).map(({ run_id }) => run_id)).toEqual([newer.run_id])
  })

  test("leaves one run of a key when acceptances, retries and events come from all sides at once", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const all: Array<RunId> = []
    yield* Effect.forEach(
      count(60),
      (n) =>
        Effect.gen(function* () {
          if (n % 10 === 9) return void (yield* cancel(webhook, 0))
          const run = yield* keyed(webhook, "supersede", { ...again, accepted_at: at(n) }, n % 2 ? "a" : "b")
          all.push(run.run_id)
          yield* acceptOne(run)
          if (n % 3 > 0) return
          yield* endOne(run.run_id, outcomes.error, n)
          const next = {
            ...(yield* nextAttempt(webhook, run.run_id)),
            singleton: { ...run.singleton!, on_new: "queue" as const }
          }
          all.push(next.run_id)
          yield* Effect.ignore(acceptOne(next))
        }),
      { concurrency: "unbounded" }
    )
    const last = yield* Effect.forEach(["a", "b"], (key) => keyed(webhook, "supersede", {}, key))
    const { superseded } = yield* step({ accepts: last }, noSlot)
    // At most one of each key was on, as each waits in the lane.
    expect(superseded.length).toBeLessThanOrEqual(2)
    expect(yield* drain()).toEqual(last.map(({ run_id }) => run_id))
    expect(yield* repo.retriesDue(at(1_000_000), { limit: 9, except: [] })).toEqual([])
  })
}
