import { HttpApiBuilder } from "@effect/platform"
import { DateTime, Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { Message } from "../../api/run/Messages.ts"
import { teamNameOf } from "../../domain/ParsedId.ts"
import { threadKeyOf } from "../../domain/Thread.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Cancellation, type CancelledCounts } from "../../engine/manage/Cancellation.ts"
import { Teams } from "../../engine/manage/Teams.ts"
import { validate } from "../../engine/manage/Validation.ts"
import { Settings } from "../../engine/Settings.ts"
import { onlyOwned } from "../access/Owners.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"
import * as SendMessage from "./SendMessage.ts"

const decodeMessage = validate(Message)

export const layer = HttpApiBuilder.group(Api, "teams", (handlers) =>
  Effect.gen(function* () {
    const teams = yield* Teams
    const sendMessage = yield* SendMessage.make
    const { cancelQueuedOfTeam } = yield* Cancellation
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", () => Effect.mapError(asWhole(onlyOwned(teams.list)), Problems.of))
      .handleRaw("create", ({ request }) =>
        Body.readObject(request, maxBody).pipe(Effect.flatMap(teams.create), Effect.mapError(Problems.of))
      )
      .handle("show", ({ path }) => Effect.mapError(teams.show(path.team), Problems.of))
      .handle("pause", ({ path }) => Effect.mapError(teams.pause(path.team), Problems.of))
      .handle("resume", ({ path }) => Effect.mapError(teams.resume(path.team), Problems.of))
      .handle("release", ({ path }) => Effect.mapError(teams.release(path.team), Problems.of))
      .handle("cancelQueued", ({ path, urlParams: { dry_run } }) =>
        Effect.mapError(
          dry_run === "true"
            ? cancelQueuedOfTeam(path.team, { dryRun: true })
            : Audit.recordDone<CancelledCounts>("team.queue_cancelled", path.team, (counts) => ({ ...counts }))(
                cancelQueuedOfTeam(path.team)
              ),
          Problems.of
        )
      )
      .handle("delete", ({ path }) => Effect.mapError(teams.remove(path.team), Problems.of))
      .handleRaw("message", ({ path, urlParams, request }) =>
        Effect.gen(function* () {
          const received_at = yield* DateTime.now
          const team = yield* teamNameOf(path.team)
          const { message, thread = "" } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeMessage)
          const thread_key = threadKeyOf(thread)
          const audited = ["team.message_sent", team] as const
          return yield* sendMessage(request, { team, message, thread_key, received_at, wait: urlParams.wait, audited })
        }).pipe(Effect.mapError(Problems.of))
      )
  })
)
