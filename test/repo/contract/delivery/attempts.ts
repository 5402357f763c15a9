import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { DestinationRow } from "../../../../src/domain/delivery/Destination.ts"
import type { DestinationId } from "../../../../src/domain/Id.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { bucketOf } from "../../../../src/repo/delivery/CallerBucket.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, createWebhook, endOne, queueRun, success, team as teamOf, together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"
import {
  attemptAt,
  claim,
  deliveriesOf,
  endRun,
  failedAt,
  newDestination,
  type RunDelivery,
  recorded
} from "./fixtures.ts"

/** Claims of due deliveries, and what their attempts lead to. */
export const deliveryAttempts = (test: Test): void => {
  test("gives each due delivery to one claim at a time, and again when the claim has ended", function* () {
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id, { description: "CI" })
    const ids = yield* Effect.forEach(count(20), (n) => endRun(webhook, 100 + n))
    expect(yield* claim(99)).toEqual([])
    const claims = yield* Effect.all(
      count(4).map(() => claim(1_000, { limit: 5 })),
      together
    )
    const claimed = claims.flat()
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(claimed.length)
    const rest = yield* claim(1_000, { limitOfEach: 100 })
    expect(new Set([...claimed, ...rest].map(({ run }) => run.run_id))).toEqual(new Set(ids))
    const [one] = rest.concat(claimed)
    const { id, name } = webhook
    expect(one).toMatchObject({ event: "run.succeeded", made: 0, destination, webhook: { id, name } })
    expect(one!.run).toEqual(yield* (yield* Repo).run(one!.run.run_id))
    expect(yield* claim(60_999, { limitOfEach: 100 })).toEqual([])
    expect(yield* claim(61_000, { limitOfEach: 100 })).toHaveLength(20)
  })

  test("a failure of a run alone says nothing about the destination, also beside others", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id)
    for (const n of count(3)) yield* endRun(webhook, 100 + n)
    const [one, two, three] = yield* claim(1_000)
    yield* recorded(one!, failedAt(1_000), "failed", { isOfRun: true })
    const read = repo.destinationRow(webhook.id, destination.id)
    expect((yield* read).failing_since).toBeUndefined()
    expect((yield* repo.delivery(webhook.id, one!.id)).status).toBe("failed")
    yield* recorded(two!, failedAt(2_000), { next_attempt_at: at(9_000) })
    yield* recorded(three!, failedAt(3_000), "failed", { isOfRun: true })
    expect((yield* read).failing_since).toEqual(at(2_000))
  })

  test("gives the oldest of each destination, fewer of one that fails, and no more than are left", function* () {
    const webhook = yield* createWebhook()
    const [one, two] = [yield* newDestination(webhook.id), yield* newDestination(webhook.id)]
    const ids = yield* Effect.forEach(count(5), (n) => endRun(webhook, 100 + n))
    const first = yield* claim(1_000, { limitOfEach: 1 })
    expect(first.map(({ destination, run }) => [destination.id, run.run_id]).sort()).toEqual(
      [
        [one.id, ids[0]],
        [two.id, ids[0]]
      ].sort()
    )
    const ofOne = first.find(({ destination }) => destination.id === one.id)!
    yield* recorded(ofOne, failedAt(1_000), { next_attempt_at: at(6_000) })
    const more = yield* claim(1_000, { limitOfEach: 3 })
    expect(more.map(({ destination }) => destination.id).sort()).toEqual([one.id, two.id, two.id, two.id].sort())
    const inProgress = (attempts: number) => [
      { destination_id: one.id, bucket: 0, attempts: 1 },
      { destination_id: two.id, bucket: 0, attempts }
    ]
    expect(yield* claim(1_000, { limitOfEach: 3, inProgress: inProgress(4) })).toEqual([])
    const last = yield* claim(1_000, { limitOfEach: 3, inProgress: inProgress(2) })
    expect(last.map(({ destination }) => destination.id)).toEqual([two.id])
  })

  test("counts the callers of a destination by the text of their URLs after its own", function* () {
    const webhook = yield* createWebhook()
    const url = "https://ci.example.com/hooks/"
    const destination = yield* newDestination(webhook.id, { kind: "callback", url })
    const callers = ["b/1", "b/2", "b?3", "b", "a", "d/5?e", ""]
    for (const [n, caller] of callers.entries()) {
      const run_id = yield* queueRun(webhook, { callback_url: `${url}${caller}` })
      yield* endOne(run_id, success("Done"), 100 + n)
    }
    const namesOf = (claimed: ReadonlyArray<RunDelivery>) =>
      claimed.map(({ run }) => run.callback_url!.slice(url.length)).toSorted()
    const first = yield* claim(1_000, { limitOfEach: 100, limitOfCaller: 2 })
    expect(namesOf(first)).toEqual(["", "a", "b/1", "b/2", "d/5?e"])
    for (const { bucket, run } of first) expect(bucket).toBe(bucketOf(destination, run.callback_url))
    const { bucket } = first.find(({ run }) => run.callback_url === `${url}b/1`)!
    const inProgress = [{ destination_id: destination.id, bucket, attempts: 1 }]
    expect(namesOf(yield* claim(1_000, { inProgress }))).toEqual(["b?3"])
    expect(namesOf(yield* claim(1_000))).toEqual(["b"])
  })

  test("gives up to a limit of callbacks for each destination and for all together, and any number of other deliveries", function* () {
    const [webhook, other] = [yield* createWebhook(), yield* createWebhook()]
    const urls = ["https://one.example.com/", "https://two.example.com/"]
    const [one, two] = yield* Effect.forEach(urls, (url) => newDestination(webhook.id, { kind: "callback", url }))
    const configured = yield* newDestination(other.id)
    const callers = count(20).flatMap((n) => urls.map((url) => `${url}${n}/1`))
    for (const [n, callback_url] of callers.entries()) {
      const run_id = yield* queueRun(webhook, { callback_url })
      yield* endOne(run_id, success("Done"), 100 + n)
    }
    for (const n of count(10)) yield* endRun(other, 500 + n)
    const limits = { limitOfCallback: 6, limitOfCallbacks: 9 }
    const claimed = yield* claim(1_000, limits)
    const of = (all: ReadonlyArray<RunDelivery>, ...ids: ReadonlyArray<string>) =>
      all.filter(({ destination }) => ids.includes(destination.id)).length
    expect(of(claimed, configured.id)).toBe(10)
    expect(of(claimed, one!.id, two!.id)).toBe(9)
    expect(Math.max(of(claimed, one!.id), of(claimed, two!.id))).toBeLessThanOrEqual(6)
    yield* endRun(other, 600)
    // In buckets of their own, so that only the limits for all of a destination, and of all, count them.
    const busy = (id: DestinationId, ...attempts: ReadonlyArray<number>) =>
      attempts.map((some, n) => ({ destination_id: id, bucket: 100 + n, attempts: some }))
    const full = yield* claim(1_000, { ...limits, inProgress: [...busy(one!.id, 4, 2), ...busy(two!.id, 3)] })
    expect(full.map(({ destination }) => destination.id)).toEqual([configured.id])
    const more = yield* claim(1_000, { ...limits, inProgress: [...busy(one!.id, 4, 2), ...busy(two!.id, 1)] })
    expect(more.map(({ destination }) => destination.id)).toEqual([two!.id, two!.id])
    const others = { destination_id: configured.id, bucket: 0, attempts: 9 }
    const last = yield* claim(1_000, { ...limits, inProgress: [...busy(one!.id, 4), others] })
    expect(of(last, one!.id)).toBe(2)
    expect(of(last, two!.id)).toBe(3)
  })

  test("gives none of a destination that is paused, until the pause is over, an attempt succeeds, or people ask for one", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id)
    for (const ms of [100, 101, 102]) yield* endRun(webhook, ms)
    const [first, second] = yield* claim(1_000)
    const next = { next_attempt_at: at(1_000) }
    yield* recorded(first!, failedAt(1_000), next, { pausedUntil: at(9_000) })
    yield* recorded(second!, failedAt(1_000), next, { pausedUntil: at(7_000) })
    const paused = () => Effect.map(repo.destinationRow(webhook.id, destination.id), (row) => row.paused_until)
    expect(yield* paused()).toEqual(at(7_000))
    expect(yield* claim(6_999)).toEqual([])
    const [due] = yield* claim(7_000)
    yield* recorded(due!, failedAt(7_000), { next_attempt_at: at(7_000) }, { pausedUntil: at(19_000) })
    expect(yield* claim(18_999)).toEqual([])
    expect(yield* repo.resend({ owner: webhook.id, id: second!.id }, at(8_000))).toBe(1)
    const [again] = yield* claim(8_000)
    yield* recorded(again!, attemptAt(8_000), "delivered")
    expect(yield* paused()).toBeUndefined()
    expect(yield* claim(70_000)).toHaveLength(2)
  })

  test("gives a delivery again whose claim was released", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* newDestination(webhook.id)
    for (const ms of [100, 101]) yield* endRun(webhook, ms)
    const [first] = yield* claim(1_000)
    yield* repo.releaseClaims([first!.id])
    expect((yield* claim(1_001)).map(({ id }) => id)).toEqual([first!.id])
  })

  test("records attempts, and when the next one is due", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id)
    yield* endRun(webhook, 100)
    const [due] = yield* claim(200)
    yield* recorded(due!, failedAt(200), { next_attempt_at: at(5_000) })
    expect(yield* repo.delivery(webhook.id, due!.id)).toMatchObject({
      status: "pending",
      next_attempt_at: at(5_000),
      attempts: [failedAt(200)]
    })
    expect(yield* repo.destinationRow(webhook.id, destination.id)).toMatchObject({ failing_since: at(200) })
    expect(yield* claim(4_999)).toEqual([])
    const [again] = yield* claim(5_000)
    expect(again).toMatchObject({ id: due!.id, made: 1 })
    yield* recorded(again!, attemptAt(5_000), "delivered")
    const delivered = yield* repo.delivery(webhook.id, due!.id)
    expect(delivered).toMatchObject({ status: "delivered", finished_at: at(5_000) })
    expect(delivered.attempts).toEqual([failedAt(200), attemptAt(5_000)])
    expect(Object.keys(delivered)).not.toContain("next_attempt_at")
    expect(Object.keys(yield* repo.destinationRow(webhook.id, destination.id))).not.toContain("failing_since")
    // A server whose claim had ended reports late.
    yield* recorded(again!, failedAt(9_000), "failed")
    expect(yield* repo.delivery(webhook.id, due!.id)).toEqual(delivered)
  })

  test("switches a destination off that is gone, and gives up what is pending; pauses one that has failed for too long, and keeps it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [gone, failing, working] = [
      yield* newDestination(webhook.id),
      yield* newDestination(webhook.id),
      yield* newDestination(webhook.id)
    ]
    yield* endRun(webhook, 100)
    yield* endRun(webhook, 101)
    const claimed = yield* claim(200, { limitOfEach: 1 })
    const of = ({ id }: DestinationRow) => claimed.find(({ destination }) => destination.id === id)!
    const day = (n: number) => n * 86_400_000
    expect(yield* recorded(of(gone), failedAt(200), "failed", { isGone: true })).toEqual([gone.id])
    yield* recorded(of(failing), failedAt(200), { next_attempt_at: at(day(6)) })
    yield* recorded(of(working), attemptAt(200), "delivered")
    const [late] = yield* claim(day(6), { limitOfEach: 0 })
    const result = {
      id: late!.id,
      destination_id: failing.id,
      attempt: failedAt(day(6)),
      next: { next_attempt_at: at(day(7)) },
      isGone: false
    }
    expect(yield* repo.recordAttempts([result], at(day(1)))).toEqual([failing.id])
    const found = yield* repo.destinations(webhook.id)
    const stateOf = (of: DestinationRow) => {
      const { disabled_reason, enabled, paused } = found.find(({ id }) => id === of.id)!
      return [enabled, paused, disabled_reason]
    }
    expect([gone, failing, working].map(stateOf)).toEqual([
      [false, undefined, "gone"],
      [true, true, "failing"],
      [true, undefined, undefined]
    ])
    const statesOf = (of: DestinationRow) =>
      Effect.map(deliveriesOf(webhook.id), (all) =>
        all.flatMap(({ destination_id, status }) => (destination_id === of.id ? [status] : []))
      )
    expect(yield* statesOf(gone)).toEqual(["failed", "failed"])
    expect(yield* statesOf(failing)).toEqual(["pending", "pending"])
    // It is reported once.
    expect(yield* repo.recordAttempts([result], at(day(1)))).toEqual([])
    expect((yield* claim(day(9))).map(({ destination }) => destination.id)).toEqual([working.id])
    yield* endRun(webhook, 300)
    expect(yield* deliveriesOf(webhook.id)).toHaveLength(8)
    yield* repo.updateDestination(webhook.id, failing.id, { enabled: true, updated_at: at(400) })
    const kept = (yield* claim(day(10))).filter(({ destination }) => destination.id === failing.id)
    expect(kept).toHaveLength(3)
    const back = yield* repo.destinationRow(webhook.id, failing.id)
    expect(Object.keys(back)).not.toContain("disabled_reason")
    expect(Object.keys(back)).not.toContain("failing_since")
    expect(Object.keys(back)).not.toContain("paused")
  })

  test("sends again what it is asked for, from the beginning of the schedule", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id)
    for (const ms of [100, 200, 300]) yield* endRun(webhook, ms)
    const claimed = yield* claim(1_000)
    const ends = [1_000, 2_000, 3_000]
    for (const [n, due] of claimed.entries()) yield* recorded(due, failedAt(ends[n]!), "failed")
    const failedSince = { owner: webhook.id, destination_id: destination.id, failedSince: at(2_000) }
    const changes = yield* subscribe(repo)
    expect(yield* repo.resend(failedSince, at(5_000))).toBe(2)
    yield* Stream.fromQueue(changes).pipe(
      Stream.filter(({ _tag }) => _tag === "DeliveryDue"),
      Stream.runHead
    )
    const again = yield* claim(5_000, { limitOfFailing: 10 })
    expect(again.map(({ id, made }) => [id, made])).toEqual(
      expect.arrayContaining([
        [claimed[1]!.id, 0],
        [claimed[2]!.id, 0]
      ])
    )
    expect(again).toHaveLength(2)
    expect(yield* repo.resend({ owner: webhook.id, id: claimed[0]!.id }, at(6_000))).toBe(1)
    expect(yield* repo.delivery(webhook.id, claimed[0]!.id)).toMatchObject({
      status: "pending",
      next_attempt_at: at(6_000),
      attempts: [failedAt(1_000)]
    })
    yield* repo.updateDestination(webhook.id, destination.id, { enabled: false, updated_at: at(7_000) })
    expect(yield* repo.resend({ owner: webhook.id, id: claimed[0]!.id }, at(8_000))).toBe(0)
    expect((yield* repo.delivery(webhook.id, claimed[0]!.id)).status).toBe("failed")
  })

  test("sends nothing again of runs that a webhook had in another team", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id)
    yield* endRun(webhook, 100)
    const [due] = yield* claim(1_000)
    yield* recorded(due!, failedAt(1_000), "failed")
    const { team } = yield* repo.createTeam(teamOf("deliveries-to"), at(0))
    const moveTo = (to: typeof team) => repo.updateWebhook(webhook.id, { team: to, updated_at: at(2_000) })
    const failedSince = { owner: webhook.id, destination_id: destination.id, failedSince: at(0) }
    yield* moveTo(team)
    expect(yield* repo.resend({ owner: webhook.id, id: due!.id }, at(3_000))).toBe(0)
    expect(yield* repo.resend(failedSince, at(3_000))).toBe(0)
    expect(yield* deliveriesOf(webhook.id)).toMatchObject([{ status: "failed" }])
    yield* moveTo(webhook.team)
    expect(yield* repo.resend(failedSince, at(4_000))).toBe(1)
  })

  test("gives up deliveries that are pending as their webhook moves to another team", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* newDestination(webhook.id)
    yield* endRun(webhook, 100)
    const { team } = yield* repo.createTeam(teamOf("deliveries-moved"), at(0))
    yield* repo.updateWebhook(webhook.id, { team, updated_at: at(200) })
    expect(yield* claim(1_000)).toEqual([])
    expect(yield* deliveriesOf(webhook.id)).toMatchObject([
      {
        ...{ status: "failed", finished_at: at(1_000) },
        attempts: [{ at: at(1_000), duration_ms: 0, error: "the webhook was moved to another team" }]
      }
    ])
  })

  test("of the kind callback get only runs whose caller named a URL below theirs", function* () {
    const webhook = yield* createWebhook()
    const url = "https://ci.example.com/hooks/"
    const destination = yield* newDestination(webhook.id, { kind: "callback", url })
    const queue = (callback_url?: string) =>
      Effect.tap(queueRun(webhook, callback_url === undefined ? {} : { callback_url }), (id) =>
        endOne(id, success("Done"), 100)
      )
    yield* queue()
    yield* queue("https://ci.example.com/other")
    const run = yield* queue(`${url}1`)
    const [due, ...more] = yield* claim(1_000)
    expect(more).toEqual([])
    expect(due).toMatchObject({ destination: { id: destination.id }, run: { run_id: run, callback_url: `${url}1` } })
  })
}
