/** Authenticates leaders' requests by their key, before anything else. */
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { CallingKey, LeaderAuth } from "../../api/Leading.ts"
import { Unauthorized } from "../../domain/Errors.ts"
import { LeaderKeys } from "../../engine/access/LeaderKeys.ts"
import { bearerOf } from "../access/Bearer.ts"
import * as Problems from "../request/Problems.ts"
import * as RequestFacts from "../request/RequestFacts.ts"

/** One text for every cause. */
const refused = Problems.of(new Unauthorized({ detail: "Send `Authorization: Bearer <leader key>`." }))

export const layer: Layer.Layer<LeaderAuth, never, LeaderKeys> = Layer.effect(
  LeaderAuth,
  Effect.map(LeaderKeys, (keys) =>
    LeaderAuth.of({
      leader_key: (handler) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const key = yield* Effect.mapError(keys.find(Redacted.make(bearerOf(request) ?? "")), Problems.of)
          if (Option.isNone(key)) return yield* Effect.fail(refused)
          const { id, team } = key.value
          RequestFacts.add(request, { leader_key_id: id, team })
          return yield* Effect.provideService(handler, CallingKey, key.value)
        })
    })
  )
)
