import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { Actor } from "../../api/access/Auth.ts"
import { asWhole } from "../../api/List.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import * as Problems from "../request/Problems.ts"

export const layer = HttpApiBuilder.group(Api, "sessions", (handlers) =>
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
