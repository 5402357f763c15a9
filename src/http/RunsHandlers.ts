import { HttpApiBuilder } from "@effect/platform"
import { Effect, Schema } from "effect"
import { ManagementApi } from "../api/Api.ts"
import { NotFound, type Unavailable } from "../domain/Errors.ts"
import { RunId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import { Repo } from "../repo/Repo.ts"
import * as Problems from "./Problems.ts"

const isRunId = Schema.is(RunId)

export const layer = HttpApiBuilder.group(ManagementApi, "runs", (handlers) =>
  Effect.map(Repo, (repo) => {
    const find = (id: string): Effect.Effect<Run, NotFound | Unavailable> =>
      isRunId(id) ? repo.run(id.toLowerCase() as RunId) : new NotFound()
    return handlers.handle("show", ({ path }) => Effect.mapError(find(path.run_id), Problems.of))
  })
)
