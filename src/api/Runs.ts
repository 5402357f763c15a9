import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Run } from "../domain/Run.ts"
import { Admin } from "./Auth.ts"
import { NoSuchThing, OutOfReach } from "./Problem.ts"

export class Runs extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("show", "/api/runs/:run_id")
      .setPath(Schema.Struct({ run_id: Schema.String }))
      .addSuccess(Run)
      .addError(NoSuchThing)
  )
  .addError(OutOfReach)
  .middleware(Admin) {}
