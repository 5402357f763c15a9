import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Run } from "../domain/Run.ts"
import { Admin } from "./Auth.ts"
import { BadRequest, Conflict, NotFound, ServiceUnavailable } from "./Problem.ts"
import { RunList, RunPage } from "./RunPage.ts"

/** What `cancel-queued` of a webhook and of a team return. */
export const Cancelled = Schema.Struct({
  cancelled: Schema.Number.annotations({ description: "How many runs that were." })
}).annotations({ description: "All that were queued are cancelled." })

export class Runs extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/api/runs")
      .setUrlParams(RunList)
      .addSuccess(RunPage)
      .addError(BadRequest)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Find runs",
          description:
            "The runs of all webhooks and teams, and chat messages, newest first, page by page: those that fulfil every condition. A rare text or state is looked for during half a second; then the page has what was found, and `searched_back_to`. Long texts are cut, as in a webhook's history."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/runs/:run_id")
      .setPath(Schema.Struct({ run_id: Schema.String.annotations({ description: "The run's id." }) }))
      .addSuccess(Run)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Show a run",
          description: "The whole run: a webhook's, or a chat message to a team."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("cancel", "/api/runs/:run_id/cancel")
      .setPath(Schema.Struct({ run_id: Schema.String.annotations({ description: "The run's id." }) }))
      .addSuccess(Run)
      .addError(NotFound)
      .addError(Conflict)
      .annotateContext(
        OpenApi.annotations({
          summary: "Cancel a run",
          description:
            "Ends it as `cancelled`, for its caller and in the history. One that is queued is never sent; of one that was sent, the leader is asked to stop, and its slots are free when the leader is done with it or its timeout has passed (`released_at`). Cancelling again changes nothing."
        })
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(OpenApi.annotations({ title: "Runs", description: "The history, run by run." })) {}
