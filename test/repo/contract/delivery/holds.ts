import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, createWebhook, together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"
import { attemptAt, claim, deliveriesOf, endRun, newDestination, recorded } from "./fixtures.ts"

/** Deliveries that wait: for others to the same comment, or until their destination is resumed. */
export const heldDeliveries = (test: Test): void => {
  test("makes one delivery at a time where runs share a comment, over all servers, in the order of their ends", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* newDestination(webhook.id, { kind: "github", target: "acme/shop#7" })
    const ids = yield* Effect.forEach(count(6), () => endRun(webhook, 100))
    const made: Array<unknown> = []
    const only = Effect.gen(function* () {
      const claims = yield* Effect.all(
        count(4).map(() => claim(1_000)),
        together
      )
      const [one, ...more] = claims.flat()
      expect([one === undefined, more, yield* claim(1_000)]).toEqual([false, [], []])
      return one!
    })
    while (made.length < ids.length - 1) {
      const one = yield* only
      made.push(one.run.run_id)
      yield* recorded(one, attemptAt(1_000), "delivered")
    }
    const last = yield* only
    expect([...made, last.run.run_id]).toEqual(ids)
    yield* repo.releaseClaims([last.id])
    expect((yield* only).id).toBe(last.id)
    // Its server has crashed.
    expect(yield* claim(60_999)).toEqual([])
    expect((yield* claim(61_000)).map(({ id }) => id)).toEqual([last.id])
  })

  test("keeps what is due for a destination that is paused, as long as its run, and gives it once it is resumed", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const { id } = yield* newDestination(webhook.id)
    yield* endRun(webhook, 100)
    yield* repo.updateDestination(webhook.id, id, { paused: true, updated_at: at(200) })
    const last = yield* endRun(webhook, 300)
    expect(yield* claim(1_000)).toEqual([])
    expect((yield* deliveriesOf(webhook.id)).map(({ status }) => status)).toEqual(["pending", "pending"])
    expect(yield* repo.purge(at(200))).toBe(1)
    yield* repo.updateDestination(webhook.id, id, { paused: false, updated_at: at(1_000) })
    expect((yield* claim(1_000)).map(({ run }) => run.run_id)).toEqual([last])
    expect(yield* repo.purge(at(400))).toBe(0)
  })
}
