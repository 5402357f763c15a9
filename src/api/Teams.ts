import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Team, TeamDraft } from "../domain/Team.ts"
import { Admin } from "./Auth.ts"
import {
  BadGateway,
  BadRequest,
  Conflict,
  ContentTooLarge,
  NotFound,
  ServiceUnavailable,
  TooManyRequests,
  UnprocessableContent,
  UnsupportedMediaType
} from "./Problem.ts"
import { Message, MessageAccepted, MessageAnswered } from "./run/Messages.ts"
import { DryRun, QueueCancelled } from "./run/Runs.ts"
import { IdempotencyKey, TimedOut, TimedOutInPage, Wait } from "./run/Trigger.ts"

const path = Schema.Struct({ team: Schema.String.annotations({ description: "The team's name." }) })

export class Teams extends HttpApiGroup.make("teams")
  .add(
    HttpApiEndpoint.get("list", "/api/teams")
      .addSuccess(Schema.Array(Team).annotations({ description: "All teams." }))
      .annotateContext(
        OpenApi.annotations({
          summary: "List the teams",
          description: "All teams, by name, and whether they are running."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("create", "/api/teams")
      .setPayload(TeamDraft)
      .addSuccess(Team, { status: 201 })
      .addError(BadRequest)
      .addError(Conflict)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a team",
          description: "Webhooks can point at it from now on. It is running once a leader consumes its queue."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/teams/:team")
      .setPath(path)
      .addSuccess(Team)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({ summary: "Show a team", description: "One team, and whether it is running." })
      )
  )
  .add(
    HttpApiEndpoint.post("pause", "/api/teams/:team/pause")
      .setPath(path)
      .addSuccess(Team)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Pause a team",
          description:
            "Triggers and messages are accepted and wait, also while no leader is connected, and nothing is sent until the team is resumed. What is in flight goes on. Pausing it again changes nothing."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("resume", "/api/teams/:team/resume")
      .setPath(path)
      .addSuccess(Team)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Resume a team",
          description: "What has waited is sent, in order. Resuming a team that is not paused changes nothing."
        })
      )
  )
  .add(
    HttpApiEndpoint.del("delete", "/api/teams/:team")
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The team was deleted." }))
      .addError(NotFound)
      .addError(Conflict)
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a team",
          description:
            "Together with its ended chat messages. Refused while webhooks point at it or it has unfinished work."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("message", "/api/teams/:team/messages")
      .setPath(path)
      .setUrlParams(Wait)
      .setHeaders(IdempotencyKey)
      .setPayload(Message)
      .addSuccess(MessageAccepted)
      .addSuccess(MessageAnswered)
      .addError(TimedOut)
      .addError(TimedOutInPage)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(Conflict)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .addError(TooManyRequests)
      .addError(BadGateway)
      .annotateContext(
        OpenApi.annotations({
          summary: "Send a chat message",
          description:
            "Joins the team's lane, in order with the prompts of its webhooks, and needs no slot. With `wait=true` the response is the team's answer. With `Idempotency-Key` it is one message, however often the request is sent."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("cancelQueued", "/api/teams/:team/cancel-queued")
      .setPath(path)
      .setUrlParams(DryRun)
      .addSuccess(QueueCancelled)
      .addError(BadRequest)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Cancel what is queued",
          description:
            "Ends all runs and messages as `cancelled` that wait in the team's lane, and calls off the retries of failed runs of webhooks that point at the team. They are never sent; the failed runs stay `error`."
        })
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(OpenApi.annotations({ title: "Teams", description: "The teams that webhooks put to work." })) {}
