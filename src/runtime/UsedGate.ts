/** Lets a poll read nothing while nobody uses it. */
import { Duration, Effect } from "effect"

export interface UsedGate<E> {
  /** Once it is used, each call asks. */
  readonly isUsed: Effect.Effect<boolean, E>
  /** Its use may have begun. */
  readonly askAgain: () => void
}

/** @param skipFor how long it counts as unused after it was, without `askAgain` */
export const make = <E>(anyUses: Effect.Effect<boolean, E>, skipFor: Duration.Duration): Effect.Effect<UsedGate<E>> =>
  Effect.map(Effect.clock, (clock) => {
    let skipUntil = Number.NEGATIVE_INFINITY
    const askAgain = () => {
      skipUntil = Number.NEGATIVE_INFINITY
    }
    return {
      askAgain,
      isUsed: Effect.suspend(() => {
        const now = clock.unsafeCurrentTimeMillis()
        if (now < skipUntil) return Effect.succeed(false)
        // Before the look-up, so that a change in the meantime ends it.
        skipUntil = now + Duration.toMillis(skipFor)
        return Effect.tapBoth(anyUses, {
          onFailure: () => Effect.sync(askAgain),
          onSuccess: (used) => (used ? Effect.sync(askAgain) : Effect.void)
        })
      })
    }
  })
