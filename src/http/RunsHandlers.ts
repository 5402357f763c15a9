import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../api/Api.ts"
import type { Run } from "../domain/Run.ts"
import * as Audit from "../engine/Audit.ts"
import { Cancellation } from "../engine/Cancellation.ts"
import { HistoryStore } from "../repo/HistoryStore.ts"
import * as Parameters from "./Parameters.ts"
import * as Problems from "./Problems.ts"

export const layer = HttpApiBuilder.group(Api, "runs", (handlers) =>
  Effect.gen(function* () {
    const history = yield* HistoryStore
    const { cancel } = yield* Cancellation
    return handlers
      .handle("show", ({ path }) =>
        Parameters.runId(path.run_id).pipe(Effect.flatMap(history.run), Effect.mapError(Problems.of))
      )
      .handle("cancel", ({ path }) =>
        Parameters.runId(path.run_id).pipe(
          Effect.flatMap((id) => Audit.recordDone<Run>("run.cancelled", id)(cancel(id))),
          Effect.mapError(Problems.of)
        )
      )
  })
)
