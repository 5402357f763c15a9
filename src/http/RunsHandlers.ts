import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../api/Api.ts"
import { pageSize } from "../api/PageSize.ts"
import type { RunFilterParameters } from "../api/RunPage.ts"
import type { WebhookId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import * as Audit from "../engine/Audit.ts"
import { Cancellation } from "../engine/Cancellation.ts"
import { HistoryStore } from "../repo/HistoryStore.ts"
import type { RunFilter } from "../repo/RunQuery.ts"
import * as Parameters from "./Parameters.ts"
import * as Problems from "./Problems.ts"

/** The parameters of a request that are there. */
const filterOf = ({ status, webhook_id, ...rest }: typeof RunFilterParameters.Type): RunFilter => ({
  ...(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as RunFilter),
  ...(status !== undefined && { statuses: status }),
  ...(webhook_id !== undefined && { webhook_id: webhook_id.toLowerCase() as WebhookId })
})

export const layer = HttpApiBuilder.group(Api, "runs", (handlers) =>
  Effect.gen(function* () {
    const history = yield* HistoryStore
    const { cancel } = yield* Cancellation
    return handlers
      .handle("list", ({ urlParams: { limit = pageSize.default, cursor, ...filter } }) =>
        Effect.mapError(
          history.runs({ ...filterOf(filter), limit, ...(cursor !== undefined && { cursor }) }),
          Problems.of
        )
      )
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
