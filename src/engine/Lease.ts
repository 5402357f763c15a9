import { Clock, Duration, Effect, Option, Queue, type Scope } from "effect"
import { v4 } from "uuid"
import { type LeaseLost, onChanges, Repo, type Term } from "../repo/Repo.ts"
import { persistently } from "./Persistently.ts"

/** A crashed holder's successor starts this much later at the most, plus one look. */
const life = Duration.seconds(6)
const renewEvery = Duration.seconds(2)
const lookEvery = Duration.seconds(1)

/** The right to send prompts, held by one process at a time. */
export interface Lease {
  readonly term: Term
  /**
   * Fails when another process has taken over. A process that was stopped for a while finds out here, before it sends;
   * what it writes to the rows is refused by its term in any case.
   */
  readonly check: Effect.Effect<void, LeaseLost>
  /** Holds on to it; to be run beside the work. */
  readonly keep: Effect.Effect<never, LeaseLost>
}

/** Does `work` for as long as this process holds the dispatcher's lease, anew each time that it gets it, for ever. */
export const whileHeld = <R>(
  work: (lease: Lease) => Effect.Effect<void, LeaseLost, R>
): Effect.Effect<never, never, Exclude<R, Scope.Scope> | Repo> =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const holder = v4()
    const released = yield* Queue.sliding<void>(1)
    yield* onChanges(yield* repo.changes, (changes) =>
      changes.some((change) => change._tag === "LeaseReleased") ? released.offer(undefined) : Effect.void
    ).pipe(Effect.forkScoped)

    const lookAgain = Effect.timeoutOption(Queue.take(released), lookEvery)
    const obtain: Effect.Effect<Term> = Effect.gen(function* () {
      for (;;) {
        const term = yield* persistently(repo.acquireLease(holder, Duration.toMillis(life)))
        if (Option.isSome(term)) return term.value
        yield* lookAgain
      }
    })

    const hold = (term: Term) =>
      Effect.gen(function* () {
        yield* Effect.logInfo("This process sends the prompts now").pipe(Effect.annotateLogs({ term }))
        let renewedAt = yield* Clock.currentTimeMillis
        const renew = persistently(
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.map(repo.renewLease(term, Duration.toMillis(life)), () => {
              renewedAt = now
            })
          )
        )
        const check = Effect.flatMap(Clock.currentTimeMillis, (now) =>
          now - renewedAt < Duration.toMillis(renewEvery) * 2 ? Effect.void : renew
        )
        const keep = Effect.forever(Effect.zipRight(Effect.sleep(renewEvery), renew))
        // Given back only after all of the work has stopped.
        yield* Effect.addFinalizer(() => Effect.ignoreLogged(repo.releaseLease(term)))
        yield* work({ term, check, keep })
      }).pipe(
        Effect.scoped,
        Effect.catchTag("LeaseLost", () =>
          Effect.logWarning("Another process sends the prompts now").pipe(Effect.annotateLogs({ term }))
        )
      )

    const again = (defect: unknown) =>
      Effect.zipRight(Effect.logError("The dispatcher failed and starts anew", defect), Effect.sleep(lookEvery))
    return yield* Effect.forever(Effect.catchAllDefect(Effect.flatMap(obtain, hold), again))
  }).pipe(Effect.scoped) as Effect.Effect<never, never, Exclude<R, Scope.Scope> | Repo>
