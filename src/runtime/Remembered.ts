/** Does long work once for the same input, for those who ask for that. */
import { Context, Effect, type Exit } from "effect"

/** The results so far. Absent: nothing is remembered. */
class Known extends Context.Reference("webhook-trigger/Remembered", {
  defaultValue: (): Map<string, Exit.Exit<any, any>> | undefined => undefined
}) {}

/** Within it, each `remembered` effect is run once. */
export const remembering = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Effect.provideService(effect, Known, new Map()))

/** `keyOf`: the same for the same input. */
export const remembered = <A, E, R>(keyOf: () => string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Known, (known) => {
    if (known === undefined) return effect
    const key = keyOf()
    return known.get(key) ?? Effect.onExit(effect, (exit) => Effect.sync(() => void known.set(key, exit)))
  })
