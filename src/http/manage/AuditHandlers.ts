import { Effect, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { AuditFilterParameters } from "../../api/access/Audit.ts"
import { pageSize } from "../../api/PageSize.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import * as ActorStreams from "../access/ActorStreams.ts"
import { refusing } from "../request/Handlers.ts"
import * as AuditExport from "./export/AuditExport.ts"
import { RunExport } from "./export/RunExport.ts"

type Filter = typeof AuditFilterParameters.Type

const filterOf = ({ action, from, object, to }: Filter) => ({
  ...(object !== undefined && { object }),
  ...(action !== undefined && { action }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to })
})

/** The filter conditions as they are in the request. */
const encodeFilter = Schema.encodeSync(AuditFilterParameters)

export const layer = HttpApiBuilder.group(Api, "audit", (handlers) =>
  Effect.gen(function* () {
    const store = yield* AuditStore
    const { place } = yield* RunExport
    const streams = yield* ActorStreams.make
    const exported = (request: HttpServerRequest.HttpServerRequest, filter: Filter, format: AuditExport.Format) =>
      Effect.andThen(place, streams(request)).pipe(
        Effect.flatMap(({ stillSignedIn }) => AuditExport.respond(request, filterOf(filter), format, stillSignedIn)),
        Audit.recordDone("audit.exported", undefined, () => ({ ...encodeFilter(filter), file: format.file }))
      )
    return refusing(handlers)
      .handle("list", ({ query: { limit = pageSize.default, cursor, ...filter } }) =>
        store.auditEvents({ ...filterOf(filter), limit, ...(cursor !== undefined && { cursor }) })
      )
      .handleRaw("exportCsv", ({ request, query }) => exported(request, query, AuditExport.csv))
      .handleRaw("exportJsonLines", ({ request, query }) => exported(request, query, AuditExport.jsonLines))
  })
)
