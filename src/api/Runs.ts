import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Run } from "../domain/Run.ts"
import { Admin } from "./Auth.ts"
import { NotFound, ServiceUnavailable } from "./Problem.ts"

export class Runs extends HttpApiGroup.make("runs")
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
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(OpenApi.annotations({ title: "Runs", description: "The history, run by run." })) {}
