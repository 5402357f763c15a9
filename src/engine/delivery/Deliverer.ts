/**
 * Sends what is due to destinations, at least once, under one id. Driven by the rows, so nothing is forgotten: every server
 * takes a few due deliveries at a time, and what a crashed one had taken is due again when its claim ends.
 */
import { DateTime, Duration, Effect, FiberSet, Layer, Queue } from "effect"
import * as Attempts from "../../domain/delivery/Attempts.ts"
import type { DeliveryId } from "../../domain/Id.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import {
  type AttemptResult,
  DeliveryStore,
  type DueDelivery,
  type InProgress
} from "../../repo/delivery/DeliveryStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { Outbox } from "./Outbox.ts"

/** Attempts that one server makes at the same time: in all, to one destination, and to one whose attempts fail. */
const atOnce = 200
const atOnceOfEach = 5
const atOnceOfFailing = 1
/**
 * Callers choose the URLs of callbacks, which may never answer and count against no destination. So all of them together leave
 * half of the attempts for other destinations and for alerts. The others are of one bucket, and of one destination.
 */
const atOnceOfCaller = 2
const atOnceOfCallback = 8
const atOnceOfCallbacks = atOnce / 2
/** Longer than an attempt takes, with its record. */
const claimedFor = Duration.seconds(60)
/** At a stop, how long attempts in progress may still take, and then the release of their claims. */
const grace = Duration.seconds(2)
/** How often the rows are read without a hint. */
const pollInterval = Duration.seconds(5)

export const layer: Layer.Layer<never, never, ChangeFeed | DeliveryStore | Outbox> = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* DeliveryStore
    const feed = yield* ChangeFeed
    const { attempt } = yield* Outbox
    const sending = yield* FiberSet.make<void>()
    const fork = yield* FiberSet.runtime(sending)<never>()
    const wake = yield* Queue.sliding<void>(1)
    const working = new Map<string, InProgress>()
    const inProgress = new Set<DeliveryId>()

    const record = yield* GroupCommit.make({
      size: 100,
      commit: (results: ReadonlyArray<AttemptResult>) =>
        Effect.flatMap(DateTime.now, (now) =>
          Effect.tap(
            store.recordAttempts(results, DateTime.subtractDuration(now, Attempts.failsFor)),
            Effect.forEach((id) =>
              Effect.logWarning(`The destination ${id} was switched off or paused, as its deliveries fail`)
            )
          )
        ).pipe(Effect.as(results))
    })

    const send = (due: DueDelivery) =>
      attempt(due).pipe(
        Effect.flatMap((result) => untilAvailable(record([result]))),
        Effect.ignoreCause({ log: "Debug" }),
        Effect.ensuring(Effect.sync(() => finish(due)))
      )

    const count = ({ bucket, destination: { id: destination_id } }: DueDelivery, more: 1 | -1): void => {
      const key = `${destination_id} ${bucket}`
      const attempts = (working.get(key)?.attempts ?? 0) + more
      if (attempts > 0) working.set(key, { destination_id, bucket, attempts })
      else working.delete(key)
    }

    const begin = (due: DueDelivery): void => {
      count(due, 1)
      inProgress.add(due.id)
      fork(send(due))
    }

    const finish = (due: DueDelivery): void => {
      count(due, -1)
      inProgress.delete(due.id)
      Queue.offerUnsafe(wake, undefined)
    }

    /** Returns once nothing more is due, or can be sent now. */
    const sendDue = Effect.gen(function* () {
      while (inProgress.size < atOnce) {
        const now = yield* DateTime.now
        const claimed = yield* store.claimDeliveries({
          now,
          until: DateTime.addDuration(now, claimedFor),
          limit: atOnce - inProgress.size,
          limitOfEach: atOnceOfEach,
          limitOfFailing: atOnceOfFailing,
          limitOfCaller: atOnceOfCaller,
          limitOfCallback: atOnceOfCallback,
          limitOfCallbacks: atOnceOfCallbacks,
          inProgress: [...working.values()]
        })
        if (claimed.length === 0) return
        claimed.forEach(begin)
      }
    })

    // Attempts that do not end in time are made by another server at once.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(sending)), grace)
        const interrupted = [...inProgress]
        if (interrupted.length === 0) return
        yield* FiberSet.clear(sending)
        yield* Effect.ignore(Effect.timeoutOption(Effect.interruptible(store.releaseClaims(interrupted)), grace))
      })
    )
    yield* feed.listen((changes) => {
      if (changes.some(({ _tag }) => _tag === "DeliveryDue")) Queue.offerUnsafe(wake, undefined)
    })
    yield* sendDue.pipe(
      Effect.ignoreCause({ log: "Debug" }),
      Effect.andThen(Effect.timeoutOption(Queue.take(wake), pollInterval)),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
