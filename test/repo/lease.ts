import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Schedule } from "effect"
import { LeaseLost, Repo } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import { admit, at, makeHook, ops, queue, send, statusOf, takeTerm } from "./fixtures.ts"

export const lease = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo>) => it.live(name, () => withRepo(body))
  const minute = 60_000

  describe("the lease", () => {
    test(
      "goes to one of many that ask at once",
      Effect.gen(function* () {
        const repo = yield* Repo
        const terms = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, i) => `holder ${i}`),
          (holder) => repo.acquireLease(holder, minute),
          { concurrency: "unbounded" }
        )
        expect(Option.reduceCompact(terms, 0, (n) => n + 1)).toBe(1)
      })
    )

    test(
      "is free again at once when it is released, and its term grows",
      Effect.gen(function* () {
        const repo = yield* Repo
        const first = yield* takeTerm
        expect(yield* repo.acquireLease("b", minute)).toEqual(Option.none())
        yield* repo.releaseLease(first)
        const second = yield* repo.acquireLease("b", minute)
        expect(second).toEqual(Option.some(first + 1))
        // The one before cannot give away what is no longer its own.
        yield* repo.releaseLease(first)
        expect(yield* repo.acquireLease("c", minute)).toEqual(Option.none())
      })
    )

    test(
      "runs out unless it is renewed",
      Effect.gen(function* () {
        const repo = yield* Repo
        const term = Option.getOrThrow(yield* repo.acquireLease("a", 1))
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
      "lets its holder admit several at once, and none of what cannot be sent",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const [first, second, ended] = [yield* queue(hook), yield* queue(hook), yield* queue(hook)]
        yield* repo.end(ended, { status: "timeout" }, at(1))
        const term = yield* takeTerm
        expect(yield* repo.admit([first, second, ended], term)).toEqual(new Set([first, second]))
        expect((yield* repo.inFlight).map((run) => run.run_id)).toEqual([first, second])
      })
    )

    test(
      "lets nobody but its holder admit",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const queued = yield* queue(hook)
        const old = yield* takeTerm
        const sent = yield* send(hook, old, at(1))
        yield* repo.releaseLease(old)
        const refused = Effect.gen(function* () {
          expect(yield* Effect.flip(admit(queued, old))).toBeInstanceOf(LeaseLost)
          expect((yield* repo.lane(ops, 9)).map((run) => run.run_id)).toEqual([queued])
          expect(yield* statusOf(sent)).toBe("running")
        })
        yield* refused
        const term = yield* takeTerm
        yield* refused
        const [mine, theirs] = yield* Effect.all([admit(queued, term), Effect.flip(admit(queued, old))], {
          concurrency: "unbounded"
        })
        expect(mine).toBe(true)
        expect(theirs).toBeInstanceOf(LeaseLost)
      })
    )

    test(
      "shows its new holder all that the one before has admitted",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        for (let round = 0; round < 20; round++) {
          const id = yield* queue(hook)
          const old = yield* takeTerm
          const [admitted, seen] = yield* Effect.all(
            [
              Effect.either(admit(id, old)),
              Effect.gen(function* () {
                yield* repo.releaseLease(old)
                const term = yield* takeTerm
                const flight = (yield* repo.inFlight).some((run) => run.run_id === id)
                yield* repo.releaseLease(term)
                return flight
              })
            ],
            { concurrency: "unbounded" }
          )
          expect(seen).toBe(admitted._tag === "Right")
          yield* repo.end(id, { status: "timeout" }, at(1))
        }
      })
    )
  })
}
