import { Cause, Effect, Exit, FiberId, FiberSet, type Scope } from "effect"

export interface GroupCommitOptions<In, Out, E> {
  /** Answers each item, in its place. */
  readonly commit: (items: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>
  /** Items in one group. */
  readonly size: number
  /** What an item weighs, and what a group may weigh; one item is always taken. */
  readonly weight?: { readonly of: (item: In) => number; readonly limit: number }
}

/** Answers each item in its place. */
export interface GroupCommit<In, Out, E> {
  (items: ReadonlyArray<In>): Effect.Effect<ReadonlyArray<Out>, E>
  /** Whether items wait for a commit, which begins as soon as the one before has ended. */
  readonly isWaiting: () => boolean
}

/** An item that waits for its group. */
interface Entry<In, Out, E> {
  readonly item: In
  readonly settle: (exit: Exit.Exit<Out, E>) => void
  /** False: its caller was interrupted. */
  readonly isWanted: () => boolean
}

/**
 * After a pause a group is closed when so many turns of the event loop have brought nothing, or after so many turns in all.
 * Node takes one new connection a turn: without this the first of a thousand callers at once would be groups of one. What
 * has arrived during a commit is the next group as it is.
 */
const quietTurns = 2
const mostTurns = 100

/**
 * Group commit: calls that arrive while a commit is under way share the next one; after a pause, those that arrive together,
 * turn by turn. So an idle database is called immediately, and a busy one seldom. Items keep the order of their calls, and
 * only one commit runs at a time.
 *
 * When a commit dies, the fault may lie in one of its items: each is committed alone, so that it fails alone.
 * A caller that is interrupted before its group starts drops out; later, the group goes on without it.
 */
export const make = <In, Out, E>(
  options: GroupCommitOptions<In, Out, E>
): Effect.Effect<GroupCommit<In, Out, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type Waiting = Entry<In, Out, E>
    let waiting: Array<Waiting> = []
    let closed = false
    let isWorking = false
    const fork = yield* FiberSet.makeRuntime<never, ReadonlyArray<Out>, E>()
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        settle(waiting.splice(0), () => Exit.interrupt(FiberId.none))
      })
    )

    const work = (): void => {
      if (isWorking) return
      isWorking = true
      gather(commitNext)
    }

    const commitNext = (): void => {
      const entries = take()
      if (entries.length === 0) isWorking = false
      else commitTogether(entries, () => setImmediate(commitNext))
    }

    const gather = (then: () => void): void => {
      let before = 0
      let quiet = 0
      let turns = 0
      const check = () => {
        quiet = waiting.length > before ? 0 : quiet + 1
        before = waiting.length
        const isFull = before >= options.size || turns++ === mostTurns
        if (isFull || quiet === quietTurns) then()
        else setImmediate(check)
      }
      check()
    }

    const take = () => {
      waiting = waiting.filter((entry) => entry.isWanted())
      const { of, limit } = options.weight ?? { of: () => 0, limit: 0 }
      let count = 0
      let weight = 0
      for (const entry of waiting) {
        weight += of(entry.item)
        if (count === options.size || (count > 0 && weight > limit)) break
        count++
      }
      return waiting.splice(0, count)
    }

    const commitTogether = (entries: ReadonlyArray<Waiting>, done: () => void): void => {
      if (closed) {
        settle(entries, () => Exit.interrupt(FiberId.none))
        return
      }
      fork(options.commit(entries.map((entry) => entry.item))).addObserver((exit) => {
        if (Exit.isSuccess(exit)) {
          settle(entries, (index) => (index < exit.value.length ? Exit.succeed(exit.value[index]!) : withoutAnswer))
        } else if (!Cause.isDie(exit.cause)) {
          // What could not be reached now would keep those that wait for the next group waiting as long again, in turn.
          settle([...entries, ...waiting.splice(0)], () => Exit.failCause(exit.cause))
        } else if (entries.length === 1) {
          settle(entries, () => Exit.failCause(exit.cause))
        } else {
          return commitEach(entries, done)
        }
        done()
      })
    }

    const commitEach = ([first, ...others]: ReadonlyArray<Waiting>, done: () => void): void =>
      first === undefined ? done() : commitTogether([first], () => commitEach(others, done))

    const commit = (items: ReadonlyArray<In>): Effect.Effect<ReadonlyArray<Out>, E> =>
      items.length === 0
        ? Effect.succeed([])
        : Effect.withFiberRuntime<ReadonlyArray<Out>, E>((caller) =>
            // Without a finalizer for its interruption, which would cost as much as all the rest: its fiber has ended then.
            Effect.async((resume) => {
              if (closed) return resume(Effect.interrupt)
              const isWanted = () => caller.unsafePoll() === null
              const answers: Array<Out> = []
              let left = items.length
              for (const [index, item] of items.entries()) {
                const settle = (exit: Exit.Exit<Out, E>) => {
                  if (Exit.isFailure(exit)) return resume(Effect.failCause(exit.cause))
                  answers[index] = exit.value
                  if (--left === 0) resume(Effect.succeed(answers))
                }
                waiting.push({ item, isWanted, settle })
              }
              work()
            })
          )
    return Object.assign(commit, { isWaiting: () => waiting.length > 0 })
  })

const settle = <In, Out, E>(
  entries: ReadonlyArray<Entry<In, Out, E>>,
  exit: (index: number) => Exit.Exit<Out, E>
): void => {
  for (const [index, entry] of entries.entries()) entry.settle(exit(index))
}

const withoutAnswer = Exit.die(new Error("a group commit left an item without an answer"))
