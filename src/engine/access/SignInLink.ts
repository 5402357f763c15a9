import { Clock, Context, Duration, Effect, Layer, Redacted } from "effect"
import { Unauthorized } from "../../domain/Errors.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import { isSecretShaped, makeSecret } from "../verify/Secret.ts"

/** How long a link can be opened. */
export const validFor = Duration.minutes(10)

const prefix = "who_"

/** Whether the key is, or was, that of a link. */
export const isOfLink = (key: Redacted.Redacted): boolean => isSecretShaped(prefix, Redacted.value(key))

const isVoid = new Unauthorized({
  detail: "This link has been used or is too old. Sign in with a key, or restart the server for a new link."
})

/**
 * A key that signs in to the web UI as the admin key does, but once, and soon after it was made: for the person who has just
 * started the server, in a link. Only this process knows it.
 */
export class SignInLink extends Context.Service<
  SignInLink,
  {
    /** A new key. An earlier one is void. */
    readonly make: Effect.Effect<Redacted.Redacted>
    /** Uses up the key. */
    readonly use: (key: Redacted.Redacted) => Effect.Effect<{ readonly key?: never }, Unauthorized>
  }
>()("webhook-trigger/SignInLink") {
  static readonly layer: Layer.Layer<SignInLink> = Layer.effect(
    SignInLink,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let current: { readonly key: string; readonly madeAt: number } | undefined
      return SignInLink.of({
        make: Effect.sync(() => {
          const key = makeSecret(prefix)
          current = { key, madeAt: stopwatch(clock) }
          return Redacted.make(key)
        }),
        use: (key) =>
          Effect.suspend(() => {
            if (current?.key !== Redacted.value(key)) return isVoid
            const age = stopwatch(clock) - current.madeAt
            current = undefined
            return age < Duration.toMillis(validFor) ? Effect.succeed({}) : isVoid
          })
      })
    })
  )
}
