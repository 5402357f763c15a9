import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Session } from "../../domain/access/Session.ts"
import { listFields } from "../List.ts"
import { NotFound, ServiceUnavailable } from "../Problem.ts"
import { Admin } from "./Auth.ts"

export const ListedSession = Schema.Struct({
  ...Session.fields,
  is_current: Schema.Boolean.annotations({ description: "Whether this request belongs to the session." })
}).annotations({ identifier: "Session", description: "A session of the web UI." })
export type ListedSession = typeof ListedSession.Type

export const SessionList = Schema.Struct(listFields(ListedSession, "Most recently used first.")).annotations({
  identifier: "SessionList",
  description: "All open sessions."
})

export class Sessions extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/api/sessions")
      .addSuccess(SessionList)
      .annotateContext(
        OpenApi.annotations({
          summary: "List the sessions",
          description: "Browsers that are signed in to the web UI, most recently used first."
        })
      )
  )
  .add(
    HttpApiEndpoint.del("end", "/api/sessions/:id")
      .setPath(Schema.Struct({ id: Schema.String.annotations({ description: "The session's id." }) }))
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The session was ended." }))
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "End a session",
          description: "Takes effect with the next request, on every server."
        })
      )
  )
  .add(
    HttpApiEndpoint.del("endAll", "/api/sessions")
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "All sessions were ended." }))
      .annotateContext(
        OpenApi.annotations({
          summary: "End all sessions",
          description: "Also ends the session of this request, if it has one."
        })
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(OpenApi.annotations({ title: "Sessions", description: "Who is signed in to the web UI." })) {}
