import { HttpApiBuilder } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { Api } from "../../api/Api.ts"
import { Actor } from "../../api/access/Auth.ts"
import { asWhole } from "../../api/List.ts"
import { ApiKeys } from "../../engine/access/ApiKeys.ts"
import { Settings } from "../../engine/Settings.ts"
import { accessOf } from "../access/Auth.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"

export const layer = HttpApiBuilder.group(Api, "apiKeys", (handlers) =>
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
