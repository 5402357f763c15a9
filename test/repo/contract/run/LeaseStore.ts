import { expect } from "@effect/vitest"
import { Duration, Effect, Option, Schedule } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import { LeaseLost } from "../../../../src/repo/run/LeaseStore.ts"
import {
  acquireTerm,
  admitAll,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  minute,
  newRun,
  ops,
  queueRun,
  sendRun,
  statusOf,
  team,
  timeout,
  together,
  unlimited
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const leaseStore = (test: Test): void => {
  test(
    "gives the lease to one of many that request it at once",
    Effect.gen(function* () {
      const repo = yield* Repo
      const terms = yield* Effect.forEach(count(20), (i) => repo.acquireLease(`holder ${i}`, minute), together)
      expect(Option.reduceCompact(terms, 0, (n) => n + 1)).toBe(1)
    })
  )

  test(
    "gives the lease again immediately when it is released, with a higher term",
    Effect.gen(function* () {
      const repo = yield* Repo
      const first = yield* acquireTerm
      expect(yield* repo.acquireLease("b", minute)).toEqual(Option.none())
      yield* repo.releaseLease(first)
      const second = yield* repo.acquireLease("b", minute)
      expect(second).toEqual(Option.some(first + 1))
      // The previous holder cannot release another's lease.
      yield* repo.releaseLease(first)
      expect(yield* repo.acquireLease("c", minute)).toEqual(Option.none())
    })
  )

  test(
    "lets the lease run out unless it is renewed",
    Effect.gen(function* () {
      const repo = yield* Repo
      const term = Option.getOrThrow(yield* repo.acquireLease("a", Duration.millis(1)))
      const successor = yield* repo
        .acquireLease("b", minute)
        .pipe(Effect.flatten, Effect.retry(Schedule.spaced("1 millis")))
      expect(successor).toBe(term + 1)
      expect(yield* Effect.flip(repo.renewLease(term, minute))).toBeInstanceOf(LeaseLost)
      yield* repo.renewLease(successor, minute)
      expect(yield* repo.acquireLease("c", minute)).toEqual(Option.none())
    })
  )

  test(
    "leaves the lease to a holder for as long as it holds its lock",
    Effect.gen(function* () {
      const repo = yield* Repo
      const term = yield* acquireTerm
      yield* Effect.gen(function* () {
        yield* repo.renewLease(term, minute, yield* repo.lockForProcess(term))
        expect(yield* repo.acquireLease("b", minute)).toEqual(Option.none())
      }).pipe(Effect.scoped)
      yield* repo.renewLease(term, minute)
      expect(yield* repo.acquireLease("b", minute)).toEqual(Option.none())
    })
  )

  test(
    "begins its holder's next term, after which nothing is admitted in the previous one",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const queued = yield* queueRun(webhook)
      const first = yield* acquireTerm
      const second = yield* repo.nextTerm(first)
      expect(second).toBe(first + 1)
      expect(yield* Effect.flip(admitOne(queued, first))).toBeInstanceOf(LeaseLost)
      const calm = yield* newRun(yield* createWebhook({ team: team("calm") }))
      const admission = { term: first, run_ids: new Set([calm.run_id]), at: at(0) }
      yield* repo.accept([calm], { ...unlimited, admission })
      expect(yield* repo.inFlight).toEqual([])
      expect(yield* Effect.flip(repo.nextTerm(first))).toBeInstanceOf(LeaseLost)
      expect(yield* repo.acquireLease("another", minute)).toEqual(Option.none())
      expect(yield* admitOne(queued, second)).toBe(true)
      expect(yield* repo.acquireLease("test", minute)).toEqual(Option.some(second + 1))
    })
  )

  test(
    "leaves an offered lease with its holder until another takes it, and not to those who wait for longer",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const queued = yield* queueRun(webhook)
      const term = yield* acquireTerm
      yield* repo.offerLease(term)
      expect(yield* repo.acquireLease("b", minute, minute)).toEqual(Option.none())
      expect(yield* admitOne(queued, term)).toBe(true)
      yield* repo.renewLease(term, minute)
      expect(yield* repo.acquireLease("b", minute)).toEqual(Option.none())
      yield* repo.offerLease(term)
      expect(yield* repo.acquireLease("b", minute)).toEqual(Option.some(term + 1))
      expect(yield* Effect.flip(repo.offerLease(term))).toBeInstanceOf(LeaseLost)
      expect(yield* repo.acquireLease("c", minute)).toEqual(Option.none())
    })
  )

  test(
    "lets its holder admit several runs in one call, and none of those that cannot be sent",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const [first, second, ended] = [yield* queueRun(webhook), yield* queueRun(webhook), yield* queueRun(webhook)]
      yield* endOne(ended, timeout, 1)
      const term = yield* acquireTerm
      expect(yield* admitAll([first, second, ended], term, 1)).toEqual(new Set([first, second]))
      expect((yield* repo.inFlight).map((run) => run.run_id)).toEqual([first, second])
    })
  )

  test(
    "lets no one but its holder admit",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const queued = yield* queueRun(webhook)
      const old = yield* acquireTerm
      const sent = yield* sendRun(webhook, old, 1)
      yield* repo.releaseLease(old)
      const refused = Effect.gen(function* () {
        expect(yield* Effect.flip(admitOne(queued, old))).toBeInstanceOf(LeaseLost)
        expect((yield* repo.lane(ops, 9)).map((run) => run.run_id)).toEqual([queued])
        expect(yield* statusOf(sent)).toBe("running")
      })
      yield* refused
      const term = yield* acquireTerm
      yield* refused
      const [ours, theirs] = yield* Effect.all([admitOne(queued, term), Effect.flip(admitOne(queued, old))], together)
      expect(ours).toBe(true)
      expect(theirs).toBeInstanceOf(LeaseLost)
    })
  )

  test(
    "shows its new holder everything that the one before has admitted",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      for (const _ of count(20)) {
        const id = yield* queueRun(webhook)
        const old = yield* acquireTerm
        const [admitted, seen] = yield* Effect.all(
          [
            Effect.either(admitOne(id, old)),
            Effect.gen(function* () {
              yield* repo.releaseLease(old)
              const term = yield* acquireTerm
              const inFlight = (yield* repo.inFlight).some((run) => run.run_id === id)
              yield* repo.releaseLease(term)
              return inFlight
            })
          ],
          together
        )
        expect(seen).toBe(admitted._tag === "Right")
        yield* endOne(id, timeout, 1)
      }
    })
  )
}
