import { randomBytes } from "node:crypto"
import type { HttpServerRequest } from "@effect/platform"
import { Context, Effect, FiberSet, Layer, type Redacted } from "effect"
import { TooManyAttempts, Unauthorized } from "../../domain/Errors.ts"
import { AdminKey } from "../../engine/access/AdminKey.ts"
import { RefusedKeys } from "../../engine/access/RefusedKeys.ts"
import type { AuditStore } from "../../repo/access/AuditStore.ts"
import { type Change, ChangeFeed } from "../../repo/ChangeFeed.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { clientAddress, networkOf } from "../request/ClientAddress.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import { KeyAttempts } from "./KeyAttempts.ts"

const wrongKey = new Unauthorized({ detail: "This is not the admin key." })
const tooMany = new TooManyAttempts()

/** Changes in one statement. */
const mostTogether = 500

/**
 * Checks a request's admin key. Signing in and all other management requests share one limit for wrong keys from a
 * network. Every process counts the wrong keys of all of them, a moment later.
 */
export class AdminKeyCheck extends Context.Tag("webhook-trigger/AdminKeyCheck")<
  AdminKeyCheck,
  {
    readonly check: (
      request: HttpServerRequest.HttpServerRequest,
      key: Redacted.Redacted
    ) => Effect.Effect<void, TooManyAttempts | Unauthorized>
  }
>() {
  static readonly layer: Layer.Layer<AdminKeyCheck, never, AdminKey | AuditStore | ChangeFeed> = Layer.scoped(
    AdminKeyCheck,
    Effect.gen(function* () {
      const { verify } = yield* AdminKey
      const refusedKeys = yield* RefusedKeys
      const feed = yield* ChangeFeed
      const proxies = yield* TrustedProxies
      const clock = yield* Effect.clock
      const attempts = new KeyAttempts()
      const thisProcess = randomBytes(6).toString("hex")

      const runFork = yield* FiberSet.makeRuntime<never>()
      const publishTogether = yield* GroupCommit.make({
        size: mostTogether,
        commit: (changes: ReadonlyArray<Change>) => Effect.as(feed.publish(changes), changes)
      })
      const tellOthers = (result: "right" | "wrong", network: string): void => {
        const change = { _tag: "KeyTried", attempt: `${thisProcess},${result},${network}` } as const
        runFork(Effect.ignore(publishTogether([change])))
      }
      yield* feed.listen((changes) => {
        for (const change of changes) {
          if (change._tag !== "KeyTried") continue
          const [where, result, network = ""] = change.attempt.split(",")
          if (where === thisProcess) continue
          if (result === "right") attempts.addRight(network)
          else attempts.addWrong(network, clock.unsafeCurrentTimeMillis())
        }
      })

      return AdminKeyCheck.of({
        // One step, so that each of several simultaneous keys counts before the next is checked.
        check: (request, key) =>
          Effect.suspend((): Effect.Effect<void, TooManyAttempts | Unauthorized> => {
            const address = clientAddress(proxies, request)
            const refuse = <E extends TooManyAttempts | Unauthorized>(refusal: E) =>
              Effect.zipRight(refusedKeys.count(address), Effect.fail(refusal))
            const network = networkOf(address)
            const now = clock.unsafeCurrentTimeMillis()
            if (!attempts.allows(network, now)) return refuse(tooMany)
            if (verify(key)) {
              if (attempts.addRight(network)) tellOthers("right", network)
              RequestFacts.add(request, { actor: "admin_key" })
              return Effect.void
            }
            if (!attempts.addWrong(network, now)) return refuse(tooMany)
            tellOthers("wrong", network)
            return refuse(wrongKey)
          })
      })
    })
  ).pipe(Layer.provide(RefusedKeys.layer))
}
