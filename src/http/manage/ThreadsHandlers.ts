import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { pageSize } from "../../api/PageSize.ts"
import { threadKeyOf } from "../../domain/Thread.ts"
import { Threads } from "../../engine/manage/Threads.ts"
import * as Problems from "../request/Problems.ts"

export const layer = HttpApiBuilder.group(Api, "threads", (handlers) =>
  Effect.map(Threads, (threads) =>
    handlers
      .handle("list", ({ path, urlParams: { cursor, key = "", limit = pageSize.default } }) => {
        const only = threadKeyOf(key)
        const query = { limit, ...(only !== undefined && { key: only }), ...(cursor !== undefined && { cursor }) }
        return Effect.mapError(threads.list(path.team, query), Problems.of)
      })
      .handle("show", ({ path }) => Effect.mapError(threads.show(path.thread_id), Problems.of))
      .handle("reset", ({ path }) => Effect.mapError(threads.reset(path.thread_id), Problems.of))
  )
)
