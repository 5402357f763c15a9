import { HttpApiBuilder } from "@effect/platform"
import { DateTime, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { pageSize } from "../../api/PageSize.ts"
import { Reply } from "../../api/run/Messages.ts"
import { runIdOf } from "../../domain/ParsedId.ts"
import { threadKeyOf } from "../../domain/Thread.ts"
import { Threads } from "../../engine/manage/Threads.ts"
import { validate } from "../../engine/manage/Validation.ts"
import { Settings } from "../../engine/Settings.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"
import * as SendMessage from "./SendMessage.ts"

const decodeReply = validate(Reply)

export const layer = HttpApiBuilder.group(Api, "threads", (handlers) =>
  Effect.gen(function* () {
    const threads = yield* Threads
    const sendMessage = yield* SendMessage.make
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", ({ path, urlParams: { cursor, key = "", limit = pageSize.default } }) => {
        const only = threadKeyOf(key)
        const query = { limit, ...(only !== undefined && { key: only }), ...(cursor !== undefined && { cursor }) }
        return Effect.mapError(threads.list(path.team, query), Problems.of)
      })
      .handle("show", ({ path }) => Effect.mapError(threads.show(path.thread_id), Problems.of))
      .handle("reset", ({ path }) => Effect.mapError(threads.reset(path.thread_id), Problems.of))
      .handleRaw("reply", ({ path, request, urlParams: { wait } }) =>
        Effect.gen(function* () {
          const received_at = yield* DateTime.now
          const id = yield* runIdOf(path.run_id)
          const { message } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeReply)
          const { key, team } = yield* threads.ofReply(id)
          const audited = ["run.replied", id] as const
          return yield* sendMessage(request, { team, message, thread_key: key, received_at, wait, audited })
        }).pipe(Effect.mapError(Problems.of))
      )
  })
)
