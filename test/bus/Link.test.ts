import { expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Redacted, Scope } from "effect"
import * as Link from "../../src/bus/amqp/Link.ts"
import { freshVhost } from "../support/fresh.ts"

it.scopedLive("is given up also while what was on a lost connection is being closed", () =>
  Effect.gen(function* () {
    const url = Redacted.make(yield* freshVhost)
    const scope = yield* Scope.make()
    const isClosing = yield* Deferred.make<void>()
    const mayClose = yield* Deferred.make<void>()
    let connections = 0
    const link = yield* Scope.extend(
      Link.make({
        url,
        name: "test",
        use: () =>
          Effect.gen(function* () {
            connections++
            yield* Effect.addFinalizer(() =>
              Effect.zipRight(Deferred.succeed(isClosing, undefined), Deferred.await(mayClose))
            )
            yield* Effect.addFinalizer(() => Effect.void)
          })
      }),
      scope
    )
    const { connection } = yield* link.get
    connection.markLost("for the test")
    yield* Deferred.await(isClosing)
    const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
    // The interruption is with the link's fiber once this one has had its turn.
    yield* Effect.sleep(0)
    yield* Deferred.succeed(mayClose, undefined)
    yield* Fiber.join(closing).pipe(Effect.timeout(Duration.seconds(20)))
    expect(connections).toBe(1)
  })
)
