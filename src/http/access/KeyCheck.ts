import { randomBytes } from "node:crypto"
import { Clock, Context, DateTime, Effect, FiberSet, Layer, Option, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { ApiKey } from "../../domain/access/ApiKey.ts"
import { TooManyAttempts, Unauthorized, type Unavailable } from "../../domain/Errors.ts"
import { AdminKey } from "../../engine/access/AdminKey.ts"
import { ApiKeys, isKeyShaped, voidBecause } from "../../engine/access/ApiKeys.ts"
import * as Refusals from "../../engine/access/Refusals.ts"
import type { AuditStore } from "../../repo/access/AuditStore.ts"
import { type Change, ChangeFeed } from "../../repo/ChangeFeed.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { clientAddress, networkOf } from "../request/ClientAddress.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import { KeyAttempts, type KeyKind } from "./KeyAttempts.ts"

const wrongKey = new Unauthorized({ detail: "This is neither the admin key nor an API key." })
const voidDetails = { revoked: "This API key was revoked.", expired: "This API key has expired." } as const
const tooMany = new TooManyAttempts()

/** Changes in one statement. */
const mostTogether = 500

/** The key of a request: an API key, or without one the admin key. */
interface Checked {
  readonly key?: ApiKey
}

/**
 * Checks a request's key. Signing in and all other management requests share one limit for wrong keys from a network.
 * Every process counts the wrong keys of all of them, a moment later.
 */
export class KeyCheck extends Context.Service<
  KeyCheck,
  {
    readonly check: (
      request: HttpServerRequest.HttpServerRequest,
      key: Redacted.Redacted
    ) => Effect.Effect<Checked, TooManyAttempts | Unauthorized | Unavailable>
  }
>()("webhook-trigger/KeyCheck") {
  static readonly layer: Layer.Layer<KeyCheck, never, AdminKey | ApiKeys | AuditStore | ChangeFeed> = Layer.effect(
    KeyCheck,
    Effect.gen(function* () {
      const { verify } = yield* AdminKey
      const apiKeys = yield* ApiKeys
      const countRefused = yield* Refusals.make("key.refused")
      const feed = yield* ChangeFeed
      const proxies = yield* TrustedProxies
      const clock = yield* Clock.Clock
      const attempts = new KeyAttempts()
      const thisProcess = randomBytes(6).toString("hex")

      const runFork = yield* FiberSet.makeRuntime<never>()
      const publishTogether = yield* GroupCommit.make({
        size: mostTogether,
        commit: (changes: ReadonlyArray<Change>) => Effect.as(feed.publish(changes), changes)
      })
      let told = 0
      const tellOthers = (result: KeyKind | "wrong", network: string): void => {
        // With a number: of equal changes that are published together, one arrives.
        const change = { _tag: "KeyTried", attempt: `${thisProcess},${result},${network},${told++}` } as const
        runFork(Effect.ignore(publishTogether([change])))
      }
      yield* feed.listen((changes) => {
        for (const change of changes) {
          if (change._tag !== "KeyTried") continue
          const [where, result, network = ""] = change.attempt.split(",")
          if (where === thisProcess) continue
          if (result === "admin" || result === "api") attempts.addRight(result, network)
          else attempts.addWrong(network, clock.currentTimeMillisUnsafe())
        }
      })

      return KeyCheck.of({
        // One step, so that each of several simultaneous keys counts before the next is checked.
        check: (request, key) =>
          Effect.suspend((): Effect.Effect<Checked, TooManyAttempts | Unauthorized | Unavailable> => {
            const address = clientAddress(proxies, request)
            const refuse = <E extends TooManyAttempts | Unauthorized>(refusal: E) =>
              Effect.andThen(countRefused(address), Effect.fail(refusal))
            const network = networkOf(address)
            const now = clock.currentTimeMillisUnsafe()
            const right = (checked: Checked) => {
              const of: KeyKind = checked.key === undefined ? "admin" : "api"
              if (attempts.addRight(of, network)) tellOthers(of, network)
              return Effect.succeed(checked)
            }
            const wrong = () => {
              if (!attempts.addWrong(network, now)) return refuse(tooMany)
              tellOthers("wrong", network)
              return refuse(wrongKey)
            }
            /** Its checksum is right, so it is no guess that could be counted before the lookup. */
            const byRow = Effect.gen(function* () {
              const found = Option.getOrUndefined(yield* apiKeys.find(key))
              if (found === undefined) return yield* wrong()
              const why = voidBecause(found, yield* DateTime.now)
              if (Option.isSome(why)) return yield* refuse(new Unauthorized({ detail: voidDetails[why.value] }))
              return yield* right({ key: found })
            })
            const kind: KeyKind = isKeyShaped(Redacted.value(key)) ? "api" : "admin"
            if (!attempts.allows(kind, network, now)) return refuse(tooMany)
            if (verify(key)) return right({})
            return kind === "api" ? byRow : wrong()
          })
      })
    })
  )
}
