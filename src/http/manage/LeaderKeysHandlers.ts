import { HttpApiBuilder } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { LeaderKeys } from "../../engine/access/LeaderKeys.ts"
import { Settings } from "../../engine/Settings.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"

export const layer = HttpApiBuilder.group(Api, "leaderKeys", (handlers) =>
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
