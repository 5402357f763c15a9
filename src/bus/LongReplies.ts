/**
 * What a broker delivers to a consumer, in turns. A long reply is read only if its run still takes an answer, and of a run that
 * has ended only when nothing else waits: what one team sends keeps the others' callers waiting for no longer than it takes
 * to pass it on.
 */
import { Duration, Effect, Queue, type Scope, type Tracer } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { untilAvailable } from "../runtime/Availability.ts"
import type { Reply, ReplyChecks, Subject } from "./Bus.ts"
import * as Turns from "./RoundRobin.ts"

/** Bytes, above which a reply is long. Reading and storing one of 8 MiB takes tenths of a second, and of 100 KiB milliseconds. */
export const longReply = 16 * 1024

/** Long replies that are handled together have no more bytes than this; one may be longer. */
const maxGroupBytes = 1024 * 1024

/** After a late reply, three times as long as it took, and no longer than this: so they take a quarter of the server. */
const longestRest = Duration.seconds(1)

/** A reply that a broker has delivered and stores until it is acknowledged. */
export interface Received extends Subject {
  readonly bytes: number
  readonly isLong: boolean
  /** What it says, called once; `undefined`: nothing that could be acted on. */
  readonly read: () => Reply | undefined
  /** Called in place of `read` when its run can take no answer. */
  readonly skip: () => void
  /**
   * Has the broker store it elsewhere, for good, to be received again as a late one; it is acknowledged after that. Absent:
   * there is nowhere else.
   */
  readonly setAside?: Effect.Effect<void, Unavailable>
  readonly acknowledge: () => void
  /** The trace that it belongs to. */
  readonly span?: Tracer.AnySpan | undefined
}

/** Forgotten when the consumer's scope closes, since the broker delivers it again. */
export interface Receive {
  readonly reply: (received: Received) => void
  /** One that was set aside. They are handled one at a time, and rest in between: nobody waits for them. */
  readonly late: (received: Received) => void
}

/** `A` is a reply that was read. */
export interface Options<A> {
  readonly answerable: NonNullable<ReplyChecks["answerable"]>
  /** Reads it; `undefined`: it says nothing, and was acknowledged. */
  readonly waitingOf: (received: Received, acknowledge: () => void) => A | undefined
  /** Takes a short one. */
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
  const turns: Turns.Turns<Received> = Turns.make(
    (short) => {
      const waiting = waitingOf(short, () => done(short))
      if (waiting !== undefined) pass(waiting)
    },
    () => mayBeNext.unsafeOpen()
  )
  const done = (received: Received) => {
    received.acknowledge()
    turns.done(received)
  }
  const statesOf = (long: ReadonlyArray<Received>) =>
    untilAvailable(answerable(long.map(({ run_id }) => run_id)), { subject: "long replies" })
  /** Read here and not before, so that no more of them are in memory. */
  const handleTogether = (group: ReadonlyArray<Received>, isDone: (received: Received) => void) =>
    Effect.suspend(() => {
      const waiting = group.flatMap((received) => waitingOf(received, () => isDone(received)) ?? [])
      return waiting.length === 0 ? Effect.void : handle(waiting)
    })
  const acknowledge = (received: Received) => received.acknowledge()
  /** Those behind it do not wait for that. */
  const putAside = (received: Received) =>
    Effect.matchEffect(received.setAside!, {
      onFailure: () => handleTogether([received], acknowledge),
      onSuccess: () => Effect.sync(() => acknowledge(received))
    })

  const handleNext = Effect.gen(function* () {
    mayBeNext.unsafeClose()
    const next = turns.next()
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
      turns.done(received)
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
  return { reply: turns.arrived, late: (received) => late.unsafeOffer(received) }
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
