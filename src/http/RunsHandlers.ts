import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../api/Api.ts"
import { HistoryStore } from "../repo/HistoryStore.ts"
import * as Parameters from "./Parameters.ts"
import * as Problems from "./Problems.ts"

export const layer = HttpApiBuilder.group(Api, "runs", (handlers) =>
  Effect.map(HistoryStore, (history) =>
    handlers.handle("show", ({ path }) =>
      Parameters.runId(path.run_id).pipe(Effect.flatMap(history.run), Effect.mapError(Problems.of))
    )
  )
)
