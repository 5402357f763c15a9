/** API keys, the keys of leaders, and sessions. */
import { Effect, Layer, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Actor } from "../../api/access/Auth.ts"
import { asWhole } from "../../api/List.ts"
import { ApiKeys } from "../../engine/access/ApiKeys.ts"
import { LeaderKeys } from "../../engine/access/LeaderKeys.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import { Settings } from "../../engine/Settings.ts"
import { accessOf } from "../access/Auth.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"

const apiKeysLayer = HttpApiBuilder.group(Api, "apiKeys", (handlers) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", () => Effect.mapError(asWhole(keys.list), Problems.of))
      .handleRaw("create", ({ request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap(keys.create),
          Effect.map(({ api_key, key }) => ({ api_key, key: Redacted.value(key) })),
          Effect.mapError(Problems.of)
        )
      )
      .handle("revoke", ({ path }) => Effect.mapError(keys.revoke(path.id), Problems.of))
      .handle("current", () => Effect.map(Actor, accessOf))
  })
)

const leaderKeysLayer = HttpApiBuilder.group(Api, "leaderKeys", (handlers) =>
  Effect.gen(function* () {
    const keys = yield* LeaderKeys
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", ({ path }) => Effect.mapError(asWhole(keys.list(path.team)), Problems.of))
      .handleRaw("create", ({ path, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((draft) => keys.create(path.team, draft)),
          Effect.map(({ key, leader_key }) => ({ leader_key, key: Redacted.value(key) })),
          Effect.mapError(Problems.of)
        )
      )
      .handle("revoke", ({ path }) => Effect.mapError(keys.revoke(path.team, path.id), Problems.of))
  })
)

const sessionsLayer = HttpApiBuilder.group(Api, "sessions", (handlers) =>
  Effect.map(Sessions, (sessions) =>
    handlers
      .handle("list", () =>
        Effect.gen(function* () {
          const { session: current } = yield* Actor
          return (yield* sessions.list).map((session) => ({
            ...session,
            is_current: current?.id === session.id
          }))
        }).pipe(asWhole, Effect.mapError(Problems.of))
      )
      .handle("end", ({ path }) => Effect.mapError(sessions.end(path.id), Problems.of))
      .handle("endAll", () => Effect.mapError(sessions.endAll, Problems.of))
  )
)

export const layer = Layer.mergeAll(apiKeysLayer, leaderKeysLayer, sessionsLayer)
