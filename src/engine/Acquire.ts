import { Effect, Scope } from "effect"

/**
 * As `Effect.acquireRelease`, for what is acquired and released at once, by functions. Effect's compares all of a
 * fiber's state before and after, which is more work than everything that is kept by this.
 */
export const acquireReleaseSync = <A>(
  acquire: () => A,
  release: (acquired: A) => void
): Effect.Effect<A, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const acquired = acquire()
        const finalizer = Effect.sync(() => release(acquired))
        return Effect.as(Scope.addFinalizer(scope, finalizer), acquired)
      })
    )
  )
