import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { RunId } from "../domain/Id.ts"
import { Team, TeamName } from "../domain/Team.ts"
import { Admin } from "./Auth.ts"
import { AgentFailed, BadRequest, Conflict, NoSuchThing, OutOfReach, TooMany, Unprocessable } from "./Problem.ts"
import { TimedOut, Wait } from "./Trigger.ts"

const path = Schema.Struct({ team: Schema.String })

export const MessageAccepted = Schema.Struct({ status: Schema.Literal("accepted"), message_id: RunId }).annotations(
  HttpApiSchema.annotations({ status: 202 })
)
export const MessageAnswered = Schema.Struct({
  status: Schema.Literal("success"),
  response: Schema.String,
  message_id: RunId
})

export class Teams extends HttpApiGroup.make("teams")
  .add(HttpApiEndpoint.get("list", "/api/teams").addSuccess(Schema.Array(Team)))
  .add(
    HttpApiEndpoint.post("create", "/api/teams")
      .setPayload(Schema.Struct({ team: TeamName }))
      .addSuccess(Team, { status: 201 })
      .addError(BadRequest)
      .addError(Conflict)
      .addError(Unprocessable)
  )
  .add(HttpApiEndpoint.get("show", "/api/teams/:team").setPath(path).addSuccess(Team).addError(NoSuchThing))
  .add(
    HttpApiEndpoint.del("delete", "/api/teams/:team")
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(NoSuchThing)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.post("message", "/api/teams/:team/messages")
      .setPath(path)
      .setUrlParams(Wait)
      .setPayload(Schema.Struct({ message: Schema.String }))
      .addSuccess(MessageAccepted)
      .addSuccess(MessageAnswered)
      .addError(TimedOut)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .addError(Conflict)
      .addError(Unprocessable)
      .addError(TooMany)
      .addError(AgentFailed)
  )
  .addError(OutOfReach)
  .middleware(Admin) {}
