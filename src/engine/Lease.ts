import { Clock, Duration, Effect, Option, Queue, type Scope } from "effect"
import { v4 } from "uuid"
import { ChangeFeed } from "../repo/ChangeFeed.ts"
import { type LeaseLost, LeaseStore, type Term } from "../repo/LeaseStore.ts"
import { untilAvailable } from "./Availability.ts"

/** A crashed holder's successor starts this much later at the most, plus one attempt. */
const life = Duration.seconds(6)
const renewEvery = Duration.seconds(2)
const tryEvery = Duration.seconds(1)

/** The right to send prompts, held by one process at a time. */
export interface Lease {
  readonly term: Term
  /**
   * Fails when another process has taken over. A process that was stopped for a while finds out here, before it sends;
   * what it writes to the rows is refused by its term in any case.
   */
  readonly check: Effect.Effect<void, LeaseLost>
  /** Renews it, forever; to be run beside the work. */
  readonly keep: Effect.Effect<never, LeaseLost>
}

/** Does `work` for as long as this process holds the dispatcher's lease, again each time that it gets it, forever. */
export const whileHeld = <R>(
  work: (lease: Lease) => Effect.Effect<void, LeaseLost, R>
): Effect.Effect<never, never, Exclude<R, Scope.Scope> | LeaseStore | ChangeFeed> =>
  Effect.gen(function* () {
    const store = yield* LeaseStore
    const feed = yield* ChangeFeed
    const holder = v4()
    const released = yield* Queue.sliding<void>(1)
    yield* feed.listen((changes) => {
      if (changes.some((change) => change._tag === "LeaseReleased")) released.unsafeOffer(undefined)
    })

    const obtain: Effect.Effect<Term> = Effect.gen(function* () {
      for (;;) {
        const term = yield* untilAvailable(store.acquireLease(holder, life))
        if (Option.isSome(term)) return term.value
        yield* Effect.timeoutOption(Queue.take(released), tryEvery)
      }
    })

    const hold = (term: Term) =>
      Effect.gen(function* () {
        yield* Effect.logInfo("This process sends the prompts now").pipe(Effect.annotateLogs({ term }))
        let renewedAt = yield* Clock.currentTimeMillis
        const renew = untilAvailable(
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.map(store.renewLease(term, life), () => {
              renewedAt = now
            })
          )
        )
        const clock = yield* Effect.clock
        const check = Effect.suspend(() =>
          clock.unsafeCurrentTimeMillis() - renewedAt < Duration.toMillis(renewEvery) * 2 ? Effect.void : renew
        )
        const keep = Effect.forever(Effect.zipRight(Effect.sleep(renewEvery), renew))
        // Given back only after all of the work has stopped.
        yield* Effect.addFinalizer(() => Effect.ignoreLogged(store.releaseLease(term)))
        yield* work({ term, check, keep })
      }).pipe(
        Effect.scoped,
        Effect.catchTag("LeaseLost", () =>
          Effect.logWarning("Another process sends the prompts now").pipe(Effect.annotateLogs({ term }))
        )
      )

    const afterDefect = (defect: unknown) =>
      Effect.zipRight(Effect.logError("The dispatcher failed and starts again", defect), Effect.sleep(tryEvery))
    return yield* Effect.forever(Effect.catchAllDefect(Effect.flatMap(obtain, hold), afterDefect))
  }).pipe(Effect.scoped) as Effect.Effect<never, never, Exclude<R, Scope.Scope> | LeaseStore | ChangeFeed>
