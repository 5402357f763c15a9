import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Session } from "../../domain/access/Session.ts"
import { described, noContent } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { NotFound } from "../Problem.ts"
import { Admin } from "./Auth.ts"

export const ListedSession = Schema.Struct({
  ...Session.fields,
  is_current: Schema.Boolean.annotate({ description: "Whether this request belongs to the session." })
}).annotate({ identifier: "Session", description: "A session of the web UI." })
export type ListedSession = typeof ListedSession.Type

const SessionList = Schema.Struct(listFields(ListedSession, "Most recently used first.")).annotate({
  identifier: "SessionList",
  description: "All open sessions."
})

export class Sessions extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/api/sessions", { success: SessionList }).annotateMerge(
      described("List the sessions", "Browsers that are signed in to the web UI, most recently used first.")
    )
  )
  .add(
    HttpApiEndpoint.delete("end", "/api/sessions/:id", {
      params: Schema.Struct({ id: Schema.String.annotate({ description: "The session's id." }) }),
      success: noContent("The session was ended."),
      error: NotFound
    }).annotateMerge(described("End a session", "Takes effect with the next request, on every server."))
  )
  .add(
    HttpApiEndpoint.delete("endAll", "/api/sessions", { success: noContent("All sessions were ended.") }).annotateMerge(
      described("End all sessions", "Also ends the session of this request, if it has one.")
    )
  )
  .middleware(Admin)
  .annotateMerge(OpenApi.annotations({ title: "Sessions", description: "Who is signed in to the web UI." })) {}
