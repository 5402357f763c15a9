import { Duration, Effect, Option, Queue, type Scope } from "effect"
import { v4 } from "uuid"
import { Bus } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { LeaseLost, LeaseStore, type ProcessLock, type Term } from "../../repo/run/LeaseStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { rememberingInterruption } from "../../runtime/Interruption.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"

/** A frozen or disconnected holder is replaced after this time, plus one attempt. */
const life = Duration.millis(2400)
const renewEvery = Duration.millis(600)
/** A holder whose process has ended is replaced within this time. */
const tryEvery = Duration.millis(250)

/** How often the holder asks whether the broker is reachable, and how often after it was not. */
const checkEvery = Duration.seconds(1)
const checkAgainEvery = Duration.millis(500)
/** Maximum time for the broker's answer. */
const checkTimeout = Duration.millis(1500)
/** After this many milliseconds without the broker, the holder offers the lease to processes that reach it. */
const patience = 1500
/** A process without the broker takes the lease only this long after it has run out: some process must expire runs. */
const lastResort = Duration.seconds(10)

/** The right to send prompts, held by one process at a time. */
export interface Lease {
  /** The current term. */
  readonly term: () => Term
  /** Does `work` in the current term, and again if the next term has begun by then. */
  readonly inTerm: <A, E, R>(
    work: (term: Term) => Effect.Effect<A, E | LeaseLost, R>
  ) => Effect.Effect<A, E | LeaseLost, R>
  /** Begins the next term (`LeaseStore.nextTerm`). */
  readonly nextTerm: Effect.Effect<void, LeaseLost | Unavailable>
  /**
   * Fails when another process has taken over. A process that was frozen finds out here, before it sends. The rows refuse
   * its writes by their term in any case.
   */
  readonly check: Effect.Effect<void, LeaseLost>
  /** Renews the lease forever, in parallel with the work. */
  readonly keep: Effect.Effect<never, LeaseLost>
}

/** Does `work` while this process holds the dispatcher's lease, and again each time that it gets it, forever. */
export const whileHeld = <R>(
  work: (lease: Lease) => Effect.Effect<void, LeaseLost, R>
): Effect.Effect<never, never, Exclude<R, Scope.Scope> | Bus | LeaseStore | ChangeFeed> =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const store = yield* LeaseStore
    const feed = yield* ChangeFeed
    const holder = v4()
    const clock = yield* Effect.clock
    const now = () => stopwatch(clock)
    const released = yield* Queue.sliding<void>(1)
    yield* feed.listen((changes) => {
      if (changes.some((change) => change._tag === "LeaseReleased")) released.unsafeOffer(undefined)
    })

    const isReachable = Effect.match(Effect.timeout(bus.reachable, checkTimeout), {
      onFailure: () => false,
      onSuccess: () => true
    })

    const obtain: Effect.Effect<Term> = Effect.gen(function* () {
      let reachable = false
      let checkedAt = Number.NEGATIVE_INFINITY
      // A holder that could not renew the lease during a database outage may renew it first.
      let isLetFirst = false
      for (;;) {
        const asked = now()
        if (asked - checkedAt >= Duration.toMillis(checkEvery)) {
          reachable = yield* isReachable
          checkedAt = asked
        }
        const overdue = reachable && !isLetFirst ? undefined : lastResort
        const term = yield* Effect.option(store.acquireLease(holder, life, overdue))
        if (Option.isNone(term)) {
          isLetFirst = true
          yield* Effect.sleep(tryEvery)
        } else if (Option.isSome(term.value)) {
          return term.value.value
        } else {
          yield* Effect.timeoutOption(Queue.take(released), isLetFirst ? renewEvery : tryEvery)
          isLetFirst = false
        }
      }
    })

    const hold = (first: Term) =>
      Effect.gen(function* () {
        yield* Effect.logInfo("This process sends the prompts now").pipe(Effect.annotateLogs({ term: first }))
        const lock = yield* store.lockForProcess(first)
        let term = first
        const turn = Effect.unsafeMakeSemaphore(1)
        const nextTerm = Effect.suspend(() =>
          Effect.map(store.nextTerm(term), (next) => {
            term = next
          })
        ).pipe(turn.withPermits(1))
        /** The term; if a next one is about to begin, once it has begun. The work itself must not delay that. */
        const afterTurn = turn.withPermits(1)(Effect.sync(() => term))
        const inTerm: Lease["inTerm"] = (work) =>
          Effect.suspend(() => {
            const asked = term
            const lost = (error: LeaseLost) =>
              Effect.flatMap(afterTurn, (now) => (now === asked ? Effect.fail(error) : inTerm(work)))
            return Effect.catchIf(work(asked), isLeaseLost, lost)
          })
        let confirmedAt = now()
        /** The lease ends when this lock is no longer held. */
        let endsWith: ProcessLock | undefined
        let isOffered = false
        /** Checks that this holder still has the lease. */
        const confirm = untilAvailable(
          Effect.suspend(() => {
            const asked = now()
            const heldLock = lock.isHeld() ? lock : undefined
            const confirmed = inTerm((term) =>
              isOffered ? store.offerLease(term) : store.renewLease(term, life, lock)
            )
            return Effect.map(confirmed, () => {
              confirmedAt = asked
              endsWith = heldLock
            })
          }),
          { longest: tryEvery }
        )
        const mayHaveEnded = () =>
          isOffered || endsWith?.isHeld() === false || now() - confirmedAt >= Duration.toMillis(renewEvery) * 2
        const check = Effect.suspend(() => (mayHaveEnded() ? confirm : Effect.void))
        const renew = Effect.forever(Effect.zipRight(Effect.sleep(renewEvery), confirm))

        let awaySince: number | undefined
        const watchBroker = Effect.gen(function* () {
          yield* Effect.sleep(awaySince === undefined ? checkEvery : checkAgainEvery)
          const asked = now()
          awaySince = (yield* isReachable) ? undefined : (awaySince ?? asked)
          const isAway = awaySince !== undefined && now() - awaySince >= patience
          if (isAway === isOffered) return
          isOffered = isAway
          if (isAway) {
            yield* Effect.logWarning("The broker is out of reach: another process that reaches it may send the prompts")
          }
          yield* confirm
        })
        const keep = Effect.raceFirst(renew, Effect.forever(watchBroker))
        // Released only after all work has stopped.
        yield* Effect.addFinalizer(() => Effect.ignoreLogged(store.releaseLease(term)))
        yield* confirm
        yield* work({ term: () => term, inTerm, nextTerm, check, keep })
      }).pipe(
        Effect.scoped,
        Effect.catchTag("LeaseLost", () =>
          Effect.logWarning("Another process sends the prompts now").pipe(Effect.annotateLogs({ term: first }))
        )
      )

    const afterDefect = (defect: unknown) =>
      Effect.zipRight(Effect.logError("The dispatcher failed and starts again", defect), Effect.sleep(tryEvery))
    return yield* Effect.forever(Effect.catchAllDefect(Effect.flatMap(obtain, hold), afterDefect))
  }).pipe(Effect.scoped, rememberingInterruption) as Effect.Effect<
    never,
    never,
    Exclude<R, Scope.Scope> | Bus | LeaseStore | ChangeFeed
  >

const isLeaseLost = (error: unknown): error is LeaseLost => error instanceof LeaseLost
