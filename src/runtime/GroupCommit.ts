import { Cause, Effect, Exit, FiberSet, type Scope } from "effect"

interface GroupCommitOptions<In, Out, E> {
  /** Commits the items. Results are in the order of the items. */
  readonly commit: (items: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>
  /** Maximum number of items in a group. */
  readonly size: number
  /** The weight of an item, and the maximum weight of a group, which always has at least one item. */
  readonly weight?: { readonly of: (item: In) => number; readonly limit: number }
}

/** Results are in the order of the items. */
type GroupCommit<In, Out, E> = (items: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>

/** False turns this off (decision 0004): each item has a commit of its own. */
const isEnabled: boolean = true

/** An item that waits for its group. */
interface Entry<In, Out, E> {
  readonly item: In
  readonly settle: (exit: Exit.Exit<Out, E>) => void
  /** False: its caller was interrupted. */
  readonly isWanted: () => boolean
}

/**
 * After a pause, a group is closed after this many turns of the event loop without a call, or this many in all. Node
 * accepts one new connection per turn: without this, the first of a thousand simultaneous callers would be in groups of
 * one. Calls that arrived during a commit are the next group as they are.
 */
const quietTurns = 2
const mostTurns = 100

/**
 * Group commit: calls that arrive during a commit share the next one. After a pause, calls that arrive together share
 * one. So an idle database is called immediately, and a busy one rarely. Items keep the order of their calls, and only
 * one commit runs at a time.
 *
 * If a commit dies, one of its items may be at fault: each is committed alone, so that it fails alone. A caller that is
 * interrupted before its group starts drops out; later, the group continues without it.
 */
export const make = <In, Out, E>(
  options: GroupCommitOptions<In, Out, E>
): Effect.Effect<GroupCommit<In, Out, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type Waiting = Entry<In, Out, E>
    const size = isEnabled ? options.size : 1
    let waiting: Array<Waiting> = []
    let closed = false
    let isWorking = false
    const fork = yield* FiberSet.makeRuntime<never, ReadonlyArray<Out>, E>()
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        settle(waiting.splice(0), () => Exit.interrupt(undefined))
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
        const isFull = before >= size || turns++ === mostTurns
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
        if (count === size || (count > 0 && weight > limit)) break
        count++
      }
      return waiting.splice(0, count)
    }

    const commitTogether = (entries: ReadonlyArray<Waiting>, done: () => void): void => {
      if (closed) {
        settle(entries, () => Exit.interrupt(undefined))
        return
      }
      fork(options.commit(entries.map((entry) => entry.item))).addObserver((exit) => {
        if (Exit.isSuccess(exit)) {
          settle(entries, (index) => (index < exit.value.length ? Exit.succeed(exit.value[index]!) : withoutAnswer))
        } else if (!Cause.hasDies(exit.cause)) {
          // While the database is unreachable, waiting items fail with these: otherwise they would wait as long again,
          // in turn.
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

    return (items) =>
      items.length === 0
        ? Effect.succeed([])
        : Effect.withFiber<ReadonlyArray<Out>, E>((caller) =>
            // Without a finalizer for its interruption, which would cost as much as all the rest: its fiber has ended
            // by then.
            Effect.callback((resume) => {
              if (closed) return resume(Effect.interrupt)
              const isWanted = () => caller.pollUnsafe() === undefined
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
  })

const settle = <In, Out, E>(
  entries: ReadonlyArray<Entry<In, Out, E>>,
  exit: (index: number) => Exit.Exit<Out, E>
): void => {
  for (const [index, entry] of entries.entries()) entry.settle(exit(index))
}

const withoutAnswer = Exit.die(new Error("a group commit left an item without an answer"))
