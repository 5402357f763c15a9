import { Cause, Effect, Exit, FiberId, type Scope } from "effect"

interface Entry<In, Out, E> {
  readonly item: In
  readonly settle: (exit: Exit.Exit<Out, E>) => void
  wanted: boolean
}

export interface BatchOptions<In, Out, E, F> {
  /** Answers each item, in its place. */
  readonly run: (items: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Exit.Exit<Out, E>>, F>
  /** Items in one batch. */
  readonly size: number
  /** What an item weighs, and what a batch may weigh; one item is always taken. */
  readonly weight?: { readonly of: (item: In) => number; readonly limit: number }
}

/**
 * A batch is closed when so many turns of the event loop have brought nothing, or after so many turns in all. Node takes
 * one new connection a turn: without this a thousand callers at once would be a thousand batches of one.
 */
const quietTurns = 2
const mostTurns = 100

/**
 * Group commit: calls that arrive while a statement is under way share the next one, and so do those that arrive with
 * it, turn by turn. So an idle database is asked at once, and a busy one seldom. Items keep the order of their calls,
 * and only one statement runs at a time.
 *
 * When a batch dies, the fault may lie in one of its items: each is run alone, so that it fails alone.
 * A caller that is interrupted before its batch starts drops out; later, the batch goes on without it.
 */
export const makeBatch = <In, Out, E, F>(
  options: BatchOptions<In, Out, E, F>
): Effect.Effect<(item: In) => Effect.Effect<Out, E | F>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type Waiting = Entry<In, Out, E | F>
    let waiting: Array<Waiting> = []
    let closed = false
    const work = Effect.unsafeMakeLatch(false)

    const settle = (entries: ReadonlyArray<Waiting>, exit: (index: number) => Exit.Exit<Out, E | F>) =>
      Effect.sync(() => {
        for (const [index, entry] of entries.entries()) entry.settle(exit(index))
      })

    const gather = Effect.async<void>((resume) => {
      let before = 0
      let quiet = 0
      let turns = 0
      const look = () => {
        quiet = waiting.length > before ? 0 : quiet + 1
        before = waiting.length
        const isFull = before >= options.size || turns++ === mostTurns
        if (isFull || quiet === quietTurns) resume(Effect.void)
        else setImmediate(look)
      }
      look()
    })

    const take = () => {
      waiting = waiting.filter((entry) => entry.wanted)
      const { of, limit } = options.weight ?? { of: () => 0, limit: 0 }
      let count = 0
      let weight = 0
      for (const entry of waiting) {
        weight += of(entry.item)
        if (count === options.size || (count > 0 && weight > limit)) break
        count++
      }
      if (count === 0) work.unsafeClose()
      return waiting.splice(0, count)
    }

    const runAll = (entries: ReadonlyArray<Waiting>): Effect.Effect<void> =>
      options.run(entries.map((entry) => entry.item)).pipe(
        Effect.interruptible,
        Effect.exit,
        Effect.flatMap((exit) => {
          if (Exit.isSuccess(exit)) return settle(entries, (index) => exit.value[index] ?? unanswered)
          if (entries.length === 1 && Cause.isDie(exit.cause)) return settle(entries, () => Exit.failCause(exit.cause))
          // What could not be reached now would keep those who wait for the next batch waiting as long again, each in turn.
          if (!Cause.isDie(exit.cause)) {
            return settle([...entries, ...waiting.splice(0)], () => Exit.failCause(exit.cause))
          }
          return Effect.forEach(entries, (entry) => runAll([entry]), { discard: true })
        })
      )

    yield* Effect.addFinalizer(() => {
      closed = true
      return settle(waiting, () => Exit.interrupt(FiberId.none))
    })
    yield* work.await.pipe(
      Effect.zipRight(gather),
      Effect.interruptible,
      Effect.zipRight(
        Effect.suspend(() => {
          const entries = take()
          return entries.length === 0 ? Effect.void : runAll(entries)
        })
      ),
      Effect.forever,
      Effect.uninterruptible,
      Effect.forkScoped
    )

    return (item) =>
      Effect.async((settle) => {
        if (closed) return settle(Effect.interrupt)
        const entry: Waiting = { item, settle, wanted: true }
        waiting.push(entry)
        work.unsafeOpen()
        return Effect.sync(() => {
          entry.wanted = false
        })
      })
  })

const unanswered = Exit.die(new Error("a batch left an item without an answer"))
