import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Team, TeamDraft, TeamReleased } from "../domain/Team.ts"
import { Admin } from "./access/Auth.ts"
import { described, noContent } from "./Endpoint.ts"
import { listFields } from "./List.ts"
import { BadGateway, BadRequest, bodyFaults, Conflict, NotFound, TooManyRequests } from "./Problem.ts"
import { Message, MessageAccepted, MessageAnswered } from "./run/Messages.ts"
import { IdempotencyKey, TimedOut, TimedOutInPage, Wait } from "./run/RunAnswers.ts"
import { DryRun, QueueCancelled } from "./run/Runs.ts"

const path = Schema.Struct({ team: Schema.String.annotate({ description: "The team's name." }) })

const TeamList = Schema.Struct(listFields(Team, "By name.")).annotate({
  identifier: "TeamList",
  description: "All teams."
})

export class Teams extends HttpApiGroup.make("teams")
  .add(
    HttpApiEndpoint.get("list", "/api/teams", { success: TeamList }).annotateMerge(
      described("List the teams", "All teams, by name, and whether they are running.")
    )
  )
  .add(
    HttpApiEndpoint.post("create", "/api/teams", {
      payload: TeamDraft,
      success: Team.pipe(HttpApiSchema.status(201)),
      error: [...bodyFaults, Conflict]
    }).annotateMerge(
      described(
        "Create a team",
        "Webhooks can use it from now on. The team is running once a leader consumes its queue."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/teams/:team", { params: path, success: Team, error: NotFound }).annotateMerge(
      described("Show a team", "One team, and whether it is running.")
    )
  )
  .add(
    HttpApiEndpoint.post("pause", "/api/teams/:team/pause", {
      params: path,
      success: Team,
      error: NotFound
    }).annotateMerge(
      described(
        "Pause a team",
        "Triggers and messages are still accepted and queued, even without a leader, but nothing is sent until the team is resumed. Runs in progress continue. Pausing a paused team changes nothing."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("resume", "/api/teams/:team/resume", {
      params: path,
      success: Team,
      error: NotFound
    }).annotateMerge(
      described(
        "Resume a team",
        "The queued runs and messages are sent in order. Resuming a team that is not paused changes nothing."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("release", "/api/teams/:team/release", {
      params: path,
      success: TeamReleased,
      error: NotFound
    }).annotateMerge(
      described(
        "Release a team",
        "Ended runs whose agents may still work no longer hold the team and their slots (`at_work`). Their leaders are told to stop. Cancel a run that has not ended first. An agent that does not stop then works beside the next one."
      )
    )
  )
  .add(
    HttpApiEndpoint.delete("delete", "/api/teams/:team", {
      params: path,
      success: noContent("The team was deleted."),
      error: [NotFound, Conflict]
    }).annotateMerge(
      described(
        "Delete a team",
        "Also deletes its ended chat messages. Not possible while webhooks use the team or it has unfinished work."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("message", "/api/teams/:team/messages", {
      params: path,
      query: Wait,
      headers: IdempotencyKey,
      payload: Message,
      success: [MessageAccepted, MessageAnswered],
      error: [TimedOut, TimedOutInPage, ...bodyFaults, NotFound, Conflict, TooManyRequests, BadGateway]
    }).annotateMerge(
      described(
        "Send a chat message",
        "The message joins the team's lane, in order with the prompts of its webhooks. It needs no slot. With `wait=true` the response is the team's answer. With `Idempotency-Key`, repeated requests send only one message."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("cancelQueued", "/api/teams/:team/cancel-queued", {
      params: path,
      query: DryRun,
      success: QueueCancelled,
      error: [BadRequest, NotFound]
    }).annotateMerge(
      described(
        "Cancel all queued runs",
        "Cancels all queued runs and messages of the team, and the retries of failed runs of its webhooks. They are never sent. The failed runs stay `error`."
      )
    )
  )
  .middleware(Admin)
  .annotateMerge(OpenApi.annotations({ title: "Teams", description: "The teams that webhooks put to work." })) {}
