import { HttpApiBuilder } from "@effect/platform"
import { Clock, Effect, Schema } from "effect"
import { ManagementApi } from "../api/Api.ts"
import type { MessageAccepted, MessageAnswered } from "../api/Teams.ts"
import type { TimedOut } from "../api/Trigger.ts"
import type { Run } from "../domain/Run.ts"
import { isStorable } from "../domain/Variables.ts"
import { Settings } from "../engine/Settings.ts"
import { Teams, teamNamed } from "../engine/Teams.ts"
import { Trigger } from "../engine/Trigger.ts"
import { validate } from "../engine/Validation.ts"
import * as Access from "./Access.ts"
import * as Body from "./Body.ts"
import * as Problems from "./Problems.ts"

const decodeMessage = validate(
  Schema.Struct({
    message: Schema.NonEmptyString.pipe(
      Schema.filter(isStorable, { message: () => "must not contain a NUL or a lone surrogate" })
    )
  })
)

/** What the sender is told, once it is clear. */
type Reply = Effect.Effect<
  typeof MessageAccepted.Type | typeof MessageAnswered.Type,
  Problems.Problem<502> | typeof TimedOut.Type
>

/** How the message ended, as the answer to who waited for it. */
const outcome = ({ run_id, status, conversation, error }: Run): Reply => {
  switch (status) {
    case "success":
      return Effect.succeed({ status, response: conversation.response ?? "", message_id: run_id })
    case "error":
      return Effect.fail(Problems.problem(502, { code: "agent_failed", detail: error?.message ?? "", run_id }))
    default:
      return Effect.fail({ status: "timeout", run_id })
  }
}

export const layer = HttpApiBuilder.group(ManagementApi, "teams", (handlers) =>
  Effect.gen(function* () {
    const teams = yield* Teams
    const trigger = yield* Trigger
    const { maxBody } = yield* Settings

    return handlers
      .handle("list", () => Effect.mapError(teams.list, Problems.of))
      .handleRaw("create", ({ request }) =>
        Body.readObject(request, maxBody).pipe(Effect.flatMap(teams.create), Effect.mapError(Problems.of))
      )
      .handle("show", ({ path }) => Effect.mapError(teams.show(path.team), Problems.of))
      .handle("delete", ({ path }) => Effect.mapError(teams.remove(path.team), Problems.of))
      .handleRaw("message", ({ path, urlParams, request }) =>
        Effect.gen(function* () {
          const received_at = yield* Clock.currentTimeMillis
          const team = yield* teamNamed(path.team)
          const { message } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeMessage)
          if (urlParams.wait === "true") {
            const run = yield* trigger.askMessage(team, message, received_at)
            yield* Access.about(run.run_id)
            return outcome(run)
          }
          const message_id = yield* trigger.submitMessage(team, message)
          yield* Access.about(message_id)
          return Effect.succeed({ status: "accepted", message_id }) as Reply
        }).pipe(Effect.mapError(Problems.of), Effect.flatten)
      )
  })
)
