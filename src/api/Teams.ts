import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { RunId } from "../domain/Id.ts"
import { Team, TeamName } from "../domain/Team.ts"
import { Admin } from "./Auth.ts"
import {
  AgentFailed,
  BadRequest,
  Conflict,
  NoSuchThing,
  OutOfReach,
  TooLarge,
  TooMany,
  Unprocessable,
  WrongMediaType
} from "./Problem.ts"
import { TimedOut, Wait } from "./Trigger.ts"

const path = Schema.Struct({ team: Schema.String.annotations({ description: "The team's name." }) })

const message_id = RunId.annotations({ description: "The message's id; it is kept like a run." })

export const MessageAccepted = Schema.Struct({
  status: Schema.Literal("accepted").annotations({ description: "What became of the message." }),
  message_id
}).annotations({
  ...HttpApiSchema.annotations({ status: 202 }),
  description: "The message is kept and will be sent."
})
export const MessageAnswered = Schema.Struct({
  status: Schema.Literal("success").annotations({ description: "What became of the message." }),
  response: Schema.String.annotations({ description: "The agent's answer." }),
  message_id
}).annotations({ description: "The team has answered." })

export class Teams extends HttpApiGroup.make("teams")
  .add(
    HttpApiEndpoint.get("list", "/api/teams")
      .addSuccess(Schema.Array(Team).annotations({ description: "All teams." }))
      .annotateContext(
        OpenApi.annotations({
          summary: "List the teams",
          description: "All teams, by name, with whether they run now."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("create", "/api/teams")
      .setPayload(Schema.Struct({ team: TeamName }))
      .addSuccess(Team, { status: 201 })
      .addError(BadRequest)
      .addError(Conflict)
      .addError(TooLarge)
      .addError(WrongMediaType)
      .addError(Unprocessable)
      .annotateContext(
        OpenApi.annotations({
          summary: "Make a team",
          description: "Webhooks can point at it from now on. It runs once a leader consumes its queue."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/teams/:team")
      .setPath(path)
      .addSuccess(Team)
      .addError(NoSuchThing)
      .annotateContext(
        OpenApi.annotations({ summary: "Show a team", description: "One team, with whether it runs now." })
      )
  )
  .add(
    HttpApiEndpoint.del("delete", "/api/teams/:team")
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "It is gone." }))
      .addError(NoSuchThing)
      .addError(Conflict)
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a team",
          description:
            "With its ended chat messages. Refused while webhooks point at it or work for it is not finished."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("message", "/api/teams/:team/messages")
      .setPath(path)
      .setUrlParams(Wait)
      .setPayload(
        Schema.Struct({
          message: Schema.NonEmptyString.annotations({ description: "What the team's leader is told." })
        })
      )
      .addSuccess(MessageAccepted)
      .addSuccess(MessageAnswered)
      .addError(TimedOut)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .addError(Conflict)
      .addError(TooLarge)
      .addError(WrongMediaType)
      .addError(Unprocessable)
      .addError(TooMany)
      .addError(AgentFailed)
      .annotateContext(
        OpenApi.annotations({
          summary: "Send a chat message",
          description:
            "Takes its place in the team's lane, among the webhooks' prompts, and needs no slot. With `wait=true` the answer is waited for."
        })
      )
  )
  .addError(OutOfReach)
  .middleware(Admin)
  .annotateContext(OpenApi.annotations({ title: "Teams", description: "The teams that webhooks put to work." })) {}
