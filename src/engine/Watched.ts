import { Effect, Queue, type Scope } from "effect"
import { type Change, ChangeFeed } from "../repo/ChangeFeed.ts"

/** A watched subject, and the listeners that are called. */
export interface Entry<Subject, Listener> {
  readonly subject: Subject
  readonly listeners: Set<Listener>
}

type Entries<Key, Subject, Listener> = ReadonlyMap<Key, Entry<Subject, Listener>>

/** Who waits for what. */
interface Watched<Key, Subject, Listener> {
  readonly entries: Entries<Key, Subject, Listener>
  /** Until the returned function is called. A key keeps its first listener's subject until its last listener is gone. */
  readonly add: (key: Key, subject: Subject, listener: Listener) => () => void
}

/**
 * Subjects that any process may change, and their listeners here. `look` reads their state, and calls the listeners.
 * It looks at once at what a notification concerns. Each second, it looks at all in turn, so many `atOnce`, because a broken
 * connection loses notifications.
 */
export const make = <Key, Subject, Listener>({
  atOnce,
  concerned,
  look
}: {
  readonly atOnce: number
  readonly concerned: (
    changes: ReadonlyArray<Change>,
    entries: Entries<Key, Subject, Listener>
  ) => ReadonlyArray<Entry<Subject, Listener>>
  readonly look: (some: ReadonlyArray<Entry<Subject, Listener>>) => Effect.Effect<void>
}): Effect.Effect<Watched<Key, Subject, Listener>, never, ChangeFeed | Scope.Scope> =>
  Effect.gen(function* () {
    const entries = new Map<Key, Entry<Subject, Listener>>()

    const notified = yield* Queue.unbounded<Entry<Subject, Listener>>()
    yield* (yield* ChangeFeed).listen((changes) => {
      if (entries.size > 0) for (const entry of concerned(changes, entries)) Queue.offerUnsafe(notified, entry)
    })
    yield* Queue.takeBetween(notified, 1, atOnce).pipe(Effect.flatMap(look), Effect.forever, Effect.forkScoped)

    let next = 0
    const nextInTurn = () => {
      const start = next < entries.size ? next : 0
      next = start + atOnce
      return [...entries.values()].slice(start, next)
    }
    yield* Effect.suspend(() => look(nextInTurn())).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)

    return {
      entries,
      add: (key, subject, listener) => {
        const entry = entries.get(key) ?? { subject, listeners: new Set() }
        entries.set(key, entry)
        entry.listeners.add(listener)
        return () => {
          entry.listeners.delete(listener)
          if (entry.listeners.size === 0 && entries.get(key) === entry) entries.delete(key)
        }
      }
    }
  })
