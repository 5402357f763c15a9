import { expect } from "@effect/vitest"
import { DateTime, Duration, Effect, Result, Stream } from "effect"
import { Invalid, NotFound } from "../../../../src/domain/Errors.ts"
import { makeDestinationId, makeWebhookId, type RunId } from "../../../../src/domain/Id.ts"
import { TeamName } from "../../../../src/domain/Team.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import type { FaultBeside } from "../../../../src/repo/delivery/DestinationStore.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, createWebhook, endOne, outcomes, queueRun, sendRun, success, together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"
import { attemptAt, claim, deliveriesOf, endRun, failedAt, newDestination, recorded } from "./fixtures.ts"

export const deliveryStore = (test: Test): void => {
  test("writes a delivery for each end of a run that a destination wants, with the end, and notifies", function* () {
    const changes = yield* subscribe(yield* Repo)
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const all = yield* newDestination(webhook.id)
    const failures = yield* newDestination(webhook.id, { events: ["run.failed", "run.timed_out"] })
    yield* newDestination(webhook.id, { enabled: false })
    yield* endRun(other, 10)
    const ids = yield* Effect.forEach(Object.values(outcomes), (outcome) => endRun(webhook, 100, outcome))
    const found = yield* deliveriesOf(webhook.id)
    const events = (id: string) =>
      ids.map((run) => found.find((one) => one.run_id === run && one.destination_id === id)?.event)
    expect(events(all.id)).toEqual(["run.succeeded", "run.failed", "run.timed_out", "run.cancelled"])
    expect(events(failures.id)).toEqual([undefined, "run.failed", "run.timed_out", undefined])
    expect(found).toHaveLength(6)
    expect(found[0]).toMatchObject({
      webhook_id: webhook.id,
      status: "pending",
      created_at: at(100),
      next_attempt_at: at(100),
      attempts: []
    })
    expect(yield* deliveriesOf(other.id)).toEqual([])
    yield* Stream.fromQueue(changes).pipe(
      Stream.filter(({ _tag }) => _tag === "DeliveryDue"),
      Stream.runHead
    )
  })

  test("writes a delivery whatever ends the run, and one for each destination", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* newDestination(webhook.id, {
      events: ["run.cancelled", "run.succeeded", "run.timed_out", "run.cancelled"]
    })
    const eventsOf = (id: RunId) =>
      Effect.map(deliveriesOf(webhook.id), (all) => all.flatMap(({ event, run_id }) => (run_id === id ? event : [])))
    const late = yield* queueRun(webhook, { mode: "wait", deadline_at: at(100) })
    yield* repo.expire(at(100))
    const answered = yield* sendRun(webhook, 1)
    yield* endOne(answered, success("Done"), 200)
    const waiting = yield* queueRun(webhook)
    yield* repo.cancelQueued({ webhook_id: webhook.id }, { at: at(300), by: "host" })
    expect(yield* eventsOf(late)).toEqual(["run.timed_out"])
    expect(yield* eventsOf(answered)).toEqual(["run.succeeded"])
    expect(yield* eventsOf(waiting)).toEqual(["run.cancelled"])
  })

  test("lists deliveries newest first, in pages, by destination, run and status", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id)
    const runs = yield* Effect.forEach(count(5), (n) => endRun(webhook, 100 + n))
    const query = { owner: webhook.id, limit: 2 }
    const first = yield* repo.deliveries(query)
    const second = yield* repo.deliveries({ ...query, cursor: first.next_cursor! })
    const third = yield* repo.deliveries({ ...query, cursor: second.next_cursor! })
    expect([first, second, third].flatMap(({ data }) => data.map(({ run_id }) => run_id))).toEqual(runs.toReversed())
    expect(third.next_cursor).toBeNull()
    const [due] = yield* claim(1_000, { limitOfEach: 1 })
    yield* recorded(due!, attemptAt(1_000), "delivered")
    const ids = (page: { readonly data: ReadonlyArray<{ readonly run_id?: string }> }) =>
      page.data.map(({ run_id }) => run_id)
    expect(ids(yield* repo.deliveries({ ...query, status: "delivered" }))).toEqual([runs[0]])
    expect(ids(yield* repo.deliveries({ ...query, run_id: runs[3]! }))).toEqual([runs[3]])
    const other = yield* makeDestinationId
    expect(ids(yield* repo.deliveries({ ...query, destination_id: other }))).toEqual([])
    expect(ids(yield* repo.deliveries({ ...query, destination_id: destination.id }))).toHaveLength(2)
  })

  test("stores the newest attempts, keeps runs until their deliveries are over, and deletes these with run or destination", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id)
    const run_id = yield* endRun(webhook, 100)
    for (const n of count(25)) {
      const [due] = yield* claim(100_000 * (n + 1))
      yield* recorded(due!, failedAt(n), { next_attempt_at: at(0) })
    }
    const [kept] = yield* deliveriesOf(webhook.id)
    expect(kept!.attempts.map(({ at }) => at)).toEqual(count(20).map((n) => at(n + 5)))
    const later = DateTime.addDuration(at(100), Duration.days(1))
    expect(yield* repo.purge(later)).toBe(0)
    expect((yield* repo.run(run_id)).status).toBe("success")
    const [due] = yield* claim(9_000_000)
    yield* recorded(due!, attemptAt(9_000_000), "delivered")
    expect(yield* repo.purge(later)).toBe(1)
    expect(yield* deliveriesOf(webhook.id)).toEqual([])
    yield* endRun(webhook, 200)
    yield* repo.deleteDestination(webhook.id, destination.id)
    expect(yield* deliveriesOf(webhook.id)).toEqual([])
    expect((yield* Effect.result(repo.destinationRow(webhook.id, destination.id)))._tag).toBe("Failure")
  })

  test("a run says so while one of its deliveries has failed", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [one, other] = [yield* newDestination(webhook.id), yield* newDestination(webhook.id)]
    const run_id = yield* endRun(webhook, 100)
    const isShown = Effect.map(
      Effect.all([repo.run(run_id), repo.runs({ webhook_id: webhook.id, limit: 1 })]),
      (found) => [found[0].delivery_failed, found[1].data[0]!.delivery_failed]
    )
    const all = yield* claim(1_000)
    const toOne = all.find(({ destination }) => destination.id === one.id)!
    const toOther = all.find(({ destination }) => destination.id === other.id)!
    yield* recorded(toOne, failedAt(1_000), { next_attempt_at: at(2_000) })
    expect(yield* isShown).toEqual([undefined, undefined])
    yield* recorded(toOther, failedAt(1_000), "failed")
    expect(yield* isShown).toEqual([true, true])
    yield* recorded(toOne, attemptAt(2_000), "delivered")
    expect(yield* isShown).toEqual([true, true])
    yield* repo.resend({ owner: webhook.id, id: toOther.id }, at(3_000))
    expect(yield* isShown).toEqual([undefined, undefined])
    yield* repo.updateDestination(webhook.id, other.id, { enabled: false, updated_at: at(4_000) })
    expect(yield* isShown).toEqual([true, true])
    yield* repo.deleteDestination(webhook.id, other.id)
    expect(yield* isShown).toEqual([undefined, undefined])
  })

  test("asks about the other destinations of the same owner, and then lets no other change come between", function* () {
    const repo = yield* Repo
    const refusal = (detail: string) => new Invalid({ faults: [{ pointer: "", detail }] })
    /** Of several at the same time, in order. */
    const answers = <E>(effects: ReadonlyArray<Effect.Effect<object, E, Repo>>) =>
      Effect.map(Effect.all(effects.map(Effect.result), together), (all) =>
        all.map((one) => (Result.isSuccess(one) ? "done" : one.failure)).toSorted()
      )
    const [webhook, other] = [yield* createWebhook(), yield* createWebhook()]
    yield* newDestination(other.id)
    for (const owner of [webhook.id, undefined]) {
      const [full, used] = [refusal("full"), refusal("used")]
      const add = newDestination(owner, {}, { faultBeside: ({ length }) => (length < 3 ? undefined : full) })
      expect(yield* answers(count(6).map(() => add))).toEqual(["done", "done", "done", full, full, full].toSorted())
      const all = yield* repo.destinations(owner ?? null)
      expect(all).toHaveLength(3)
      const faultBeside: FaultBeside = (others) => (others.some(({ target }) => target === "one") ? used : undefined)
      const change = { target: "one", updated_at: at(1) }
      const edits = all.map(({ id }) => repo.updateDestination(owner ?? null, id, change, { faultBeside }))
      expect(yield* answers(edits)).toEqual(["done", used, used].toSorted())
    }
    const ofNone = newDestination(yield* makeWebhookId, {}, { faultBeside: () => refusal("full") })
    expect(yield* Effect.flip(ofNone)).toEqual(new NotFound())
  })

  test("knows who writes for a team, and that alone", function* () {
    const repo = yield* Repo
    const [webhook, beside] = [yield* createWebhook(), yield* createWebhook()]
    const other = yield* createWebhook({ team: TeamName.make("other") })
    const { id } = yield* newDestination(webhook.id, { kind: "slack-message", authors: ["slack B1"] })
    yield* newDestination(other.id, { kind: "slack", authors: ["slack B2"] })
    yield* newDestination(undefined, { kind: "slack", authors: ["slack B3"] })
    const wrote = (of: typeof webhook, ids: ReadonlyArray<string>, isSameApp = false) =>
      repo.isAuthor(of, { ids, isSameApp })
    for (const of of [webhook, beside]) expect(yield* wrote(of, ["slack A1", "slack B1"])).toBe(true)
    for (const author of ["slack B2", "slack B3", "discord B1"]) expect(yield* wrote(webhook, [author])).toBe(false)
    expect(yield* wrote(other, ["slack B1"])).toBe(false)
    expect(yield* Effect.all([wrote(webhook, [], true), wrote(beside, [], true), wrote(other, [], true)])).toEqual([
      ...[true, false, true]
    ])
    yield* repo.rememberAuthors(id, ["slack B4", "slack B1"])
    expect(yield* wrote(webhook, ["slack B4"])).toBe(true)
    yield* repo.updateDestination(webhook.id, id, { enabled: false, updated_at: at(1) })
    expect(yield* Effect.all([wrote(webhook, [], true), wrote(webhook, ["slack B4"])])).toEqual([false, true])
  })

  test("remembers the comment of each target", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [one, other] = [yield* newDestination(webhook.id), yield* newDestination(webhook.id)]
    const known = Effect.all([
      repo.comment(one.id, "a/b#1"),
      repo.comment(one.id, "a/b#2"),
      repo.comment(other.id, "a/b#1")
    ])
    expect(yield* known).toEqual([undefined, undefined, undefined])
    yield* repo.rememberComment(one.id, "a/b#1", "4711")
    yield* repo.rememberComment(one.id, "a/b#2", "4712")
    yield* repo.rememberComment(one.id, "a/b#1", "4713")
    expect(yield* known).toEqual(["4713", "4712", undefined])
    yield* repo.deleteDestination(webhook.id, one.id)
    yield* repo.rememberComment(one.id, "a/b#1", "4714")
  })

  test("replaces what is encrypted, unless it was edited in the meantime", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const { id } = yield* newDestination(webhook.id, { header_names: ["x-key"], sealed_headers: "headers" })
    const before = yield* repo.destinationRow(webhook.id, id)
    expect(yield* repo.sealAgain(before, { sealed_headers: "headers again", sealed_secret: "again" })).toBe(true)
    const after = yield* repo.destinationRow(webhook.id, id)
    expect(after).toEqual({ ...before, sealed_headers: "headers again", sealed_secret: "again" })
    expect(yield* repo.sealAgain(before, { sealed_secret: "too late" })).toBe(false)
    yield* repo.updateDestination(webhook.id, id, { sealed_headers: null, updated_at: at(1) })
    expect(yield* repo.sealAgain(after, { sealed_secret: "too late" })).toBe(false)
    expect((yield* repo.destinationRow(webhook.id, id)).sealed_secret).toBe("again")
  })
}
