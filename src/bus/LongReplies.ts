/**
 * The replies that a broker delivers, in the order of `RoundRobin`. A long reply is read only if its run still takes an
 * answer. A late one is read only when nothing else waits. So one team's long replies hardly delay the other teams.
 */
import { Duration, Effect, Queue, type Scope, type Tracer } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { untilAvailable } from "../runtime/Availability.ts"
import type { Reply, ReplyChecks, Subject } from "./Bus.ts"
import * as RoundRobin from "./RoundRobin.ts"

/** A reply with more bytes is long. Reading and storing 8 MiB takes tenths of a second, 100 KiB milliseconds. */
export const longReply = 16 * 1024

/** Maximum bytes of long replies that are handled together; a single one may be longer. */
const maxGroupBytes = 1024 * 1024

/** Maximum pause after a late reply. The pause is three times its handling: late replies take a quarter of the server. */
const longestRest = Duration.seconds(1)

/** A delivered reply, which the broker stores until it is acknowledged. */
export interface Received extends Subject {
  readonly bytes: number
  readonly isLong: boolean
  /** Called once; returns `undefined` for a reply without a usable content. */
  readonly read: () => Reply | undefined
  /** Called instead of `read` when its run takes no answer. */
  readonly skip: () => void
  /**
   * Moves it durably to another queue, from which it returns as a late one; it is acknowledged after that. Absent: there is
   * no other queue.
   */
  readonly setAside?: Effect.Effect<void, Unavailable>
  readonly acknowledge: () => void
  /** Its trace. */
  readonly span?: Tracer.AnySpan | undefined
}

/** Replies are forgotten when the consumer's scope closes, since the broker delivers them again. */
export interface Receive {
  readonly reply: (received: Received) => void
  /** A reply that was set aside. These are handled one at a time, with pauses: nobody waits for them. */
  readonly late: (received: Received) => void
}

/** `A`: a reply that was read. */
export interface Options<A> {
  readonly answerable: NonNullable<ReplyChecks["answerable"]>
  /** Reads it; `undefined`: it had no usable content, and was acknowledged. */
  readonly waitingOf: (received: Received, acknowledge: () => void) => A | undefined
  /** Takes a short reply. */
  readonly pass: (waiting: A) => void
  readonly handle: (group: ReadonlyArray<A>) => Effect.Effect<void>
}

export const make = Effect.fnUntraced(function* <A>({
  answerable,
  handle,
  pass,
  waitingOf
}: Options<A>): Effect.fn.Return<Receive, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const mayBeNext = Effect.unsafeMakeLatch()
  const order: RoundRobin.RoundRobin<Received> = RoundRobin.make(
    (short) => {
      const waiting = waitingOf(short, () => done(short))
      if (waiting !== undefined) pass(waiting)
    },
    () => mayBeNext.unsafeOpen()
  )
  const done = (received: Received) => {
    received.acknowledge()
    order.done(received)
  }
  const statesOf = (long: ReadonlyArray<Received>) =>
    untilAvailable(answerable(long.map(({ run_id }) => run_id)), { subject: "long replies" })
  /** Replies are read only here, so that no others are in memory. */
  const handleTogether = (group: ReadonlyArray<Received>, isDone: (received: Received) => void) =>
    Effect.suspend(() => {
      const waiting = group.flatMap((received) => waitingOf(received, () => isDone(received)) ?? [])
      return waiting.length === 0 ? Effect.void : handle(waiting)
    })
  const acknowledge = (received: Received) => received.acknowledge()
  /** The replies behind it do not wait for this. */
  const putAside = (received: Received) =>
    Effect.matchEffect(received.setAside!, {
      onFailure: () => handleTogether([received], acknowledge),
      onSuccess: () => Effect.sync(() => acknowledge(received))
    })

  const handleNext = Effect.gen(function* () {
    mayBeNext.unsafeClose()
    const next = order.next()
    if (next.length === 0) return yield* mayBeNext.await
    const states = yield* statesOf(next)
    const isReadNow = ({ run_id, setAside }: Received) => states.get(run_id) === "live" || setAside === undefined
    const wanted = next.filter(({ run_id }) => states.has(run_id))
    for (const received of next) {
      if (states.has(received.run_id)) continue
      received.skip()
      done(received)
    }
    for (const received of wanted) {
      if (isReadNow(received)) continue
      yield* Effect.forkIn(putAside(received), scope)
      order.done(received)
    }
    for (const group of groupsOf(wanted.filter(isReadNow))) yield* handleTogether(group, done)
  })
  yield* Effect.forkScoped(Effect.interruptible(Effect.forever(handleNext)))

  const late = yield* Queue.unbounded<Received>()
  const handleLate = (received: Received) =>
    Effect.flatMap(statesOf([received]), (states) => {
      if (states.has(received.run_id)) return handleTogether([received], acknowledge)
      received.skip()
      return Effect.sync(() => acknowledge(received))
    })
  yield* Queue.take(late).pipe(
    Effect.flatMap((received) => Effect.timed(handleLate(received))),
    Effect.flatMap(([taken]) => Effect.sleep(Duration.min(Duration.times(taken, 3), longestRest))),
    Effect.forever,
    Effect.interruptible,
    Effect.forkScoped
  )
  return { reply: order.arrived, late: (received) => late.unsafeOffer(received) }
})

const groupsOf = (long: ReadonlyArray<Received>): ReadonlyArray<ReadonlyArray<Received>> => {
  const groups: Array<Array<Received>> = []
  let bytes = 0
  for (const received of long) {
    bytes += received.bytes
    if (groups.length === 0 || bytes > maxGroupBytes) {
      groups.push([])
      bytes = received.bytes
    }
    groups.at(-1)!.push(received)
  }
  return groups
}
