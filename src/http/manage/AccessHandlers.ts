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
import { refusing } from "../request/Handlers.ts"

const apiKeysLayer = HttpApiBuilder.group(Api, "apiKeys", (handlers) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const { maxBody } = yield* Settings

    return refusing(handlers)
      .handle("list", () => asWhole(keys.list))
      .handleRaw("create", ({ request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap(keys.create),
          Effect.map(({ api_key, key }) => ({ api_key, key: Redacted.value(key) }))
        )
      )
      .handle("revoke", ({ params }) => keys.revoke(params.id))
      .handle("current", () => Effect.map(Actor, accessOf))
  })
)

const leaderKeysLayer = HttpApiBuilder.group(Api, "leaderKeys", (handlers) =>
  Effect.gen(function* () {
    const keys = yield* LeaderKeys
    const { maxBody } = yield* Settings

    return refusing(handlers)
      .handle("list", ({ params }) => asWhole(keys.list(params.team)))
      .handleRaw("create", ({ params, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((draft) => keys.create(params.team, draft)),
          Effect.map(({ key, leader_key }) => ({ leader_key, key: Redacted.value(key) }))
        )
      )
      .handle("revoke", ({ params }) => keys.revoke(params.team, params.id))
  })
)

const sessionsLayer = HttpApiBuilder.group(Api, "sessions", (handlers) =>
  Effect.map(Sessions, (sessions) =>
    refusing(handlers)
      .handle("list", () =>
        Effect.gen(function* () {
          const { session: current } = yield* Actor
          return (yield* sessions.list).map((session) => ({
            ...session,
            is_current: current?.id === session.id
          }))
        }).pipe(asWhole)
      )
      .handle("end", ({ params }) => sessions.end(params.id))
      .handle("endAll", () => sessions.endAll)
  )
)

export const layer = Layer.mergeAll(apiKeysLayer, leaderKeysLayer, sessionsLayer)
