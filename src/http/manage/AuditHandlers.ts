import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { pageSize } from "../../api/PageSize.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import * as Problems from "../request/Problems.ts"

export const layer = HttpApiBuilder.group(Api, "audit", (handlers) =>
  Effect.map(AuditStore, (store) =>
    handlers.handle("list", ({ urlParams: { object, action, limit = pageSize.default, cursor } }) =>
      Effect.mapError(
        store.auditEvents({
          limit,
          ...(object !== undefined && { object }),
          ...(action !== undefined && { action }),
          ...(cursor !== undefined && { cursor })
        }),
        Problems.of
      )
    )
  )
)
