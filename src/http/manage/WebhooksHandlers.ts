import { Duration, Effect, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { asWhole } from "../../api/List.ts"
import { pageSize } from "../../api/PageSize.ts"
import { SampleBody } from "../../api/run/RunAnswers.ts"
import { triggerUrl } from "../../api/run/TriggerUrl.ts"
import type { RequestKind } from "../../domain/request/ReceivedRequest.ts"
import { validate } from "../../domain/Validation.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Cancellation, type CancelledCounts } from "../../engine/manage/Cancellation.ts"
import { StoredRequests } from "../../engine/manage/StoredRequests.ts"
import { Webhooks, type WithToken } from "../../engine/manage/Webhooks.ts"
import { Settings } from "../../engine/Settings.ts"
import * as TeamScope from "../access/TeamScope.ts"
import * as Body from "../request/Body.ts"
import { refusing } from "../request/Handlers.ts"
import { makeTriggerOriginFor } from "../request/PublicUrl.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import { expectedVersions, writeTag } from "../request/VersionTags.ts"

const decodePreview = validate(SampleBody)
export const layer = HttpApiBuilder.group(Api, "webhooks", (handlers) =>
  Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const { cancelQueuedOfWebhook } = yield* Cancellation
    const requests = yield* StoredRequests
    const scope = yield* TeamScope.make
    const { maxBody } = yield* Settings
    const originFor = yield* makeTriggerOriginFor

    /** The only place that shows a token. */
    const withToken = (request: HttpServerRequest.HttpServerRequest, { webhook, token }: WithToken) => ({
      webhook,
      ...(token && {
        token: Redacted.value(token),
        trigger_url: triggerUrl(originFor(request), Redacted.value(token))
      })
    })

    return refusing(handlers)
      .handle("list", () => asWhole(TeamScope.onlyOwned(webhooks.list)))
      .handleRaw("create", ({ request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap(webhooks.create),
          Effect.tap(({ webhook }) => Effect.sync(() => RequestFacts.add(request, { webhook_id: webhook.id }))),
          Effect.map((created) => withToken(request, created))
        )
      )
      .handle("show", ({ params }) => webhooks.show(params.id).pipe(Effect.tap(writeTag)))
      .handleRaw("edit", ({ params, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap((edit) => webhooks.edit(params.id, edit, expectedVersions(request))),
          Effect.tap(writeTag)
        )
      )
      .handleRaw("duplicate", ({ params, request }) =>
        Body.readOptionalObject(request, maxBody).pipe(
          Effect.flatMap((edit) => webhooks.duplicate(params.id, edit)),
          Effect.map((created) => withToken(request, created))
        )
      )
      .handle("templates", ({ params }) => webhooks.templates(params.id).pipe(asWhole))
      .handle("template", ({ params }) => webhooks.template(params.id, params.version))
      .handle("restoreTemplate", ({ params, request }) =>
        webhooks.restoreTemplate(params.id, params.version, expectedVersions(request)).pipe(Effect.tap(writeTag))
      )
      .handle("cancelQueued", ({ params, query: { dry_run } }) =>
        dry_run === "true"
          ? cancelQueuedOfWebhook(params.id, { dryRun: true })
          : Audit.recordDone<CancelledCounts>("webhook.queue_cancelled", params.id, (counts) => ({ ...counts }))(
              cancelQueuedOfWebhook(params.id)
            )
      )
      .handle("delete", ({ params, request }) =>
        scope.checkDeletion(params.id).pipe(Effect.andThen(webhooks.remove(params.id, expectedVersions(request))))
      )
      .handle("resume", ({ params }) => webhooks.resume(params.id))
      .handle("endOldToken", ({ params }) => webhooks.endOldToken(params.id))
      .handle("regenerate", ({ params, request, query: { overlap_seconds = 0 } }) =>
        webhooks
          .regenerate(params.id, { overlap: Duration.seconds(overlap_seconds) })
          .pipe(Effect.map((created) => withToken(request, created)))
      )
      .handleRaw("preview", ({ params, request }) =>
        Body.readObject(request, maxBody).pipe(
          Effect.flatMap(decodePreview),
          Effect.flatMap((sample) => webhooks.preview(params.id, sample))
        )
      )
      .handle("requests", ({ params, query: { accepted, ignored } }) => {
        const kinds: Array<RequestKind> = ["refused"]
        if (ignored === "true" || accepted === "true") kinds.push("ignored")
        if (accepted === "true") kinds.push("accepted")
        return requests.list(params.id, { kinds }).pipe(Effect.map((listed) => ({ ...listed, next_cursor: null })))
      })
      .handle("request", ({ params }) => requests.show(params.id, params.request_id))
      .handle("runs", ({ params, query: { limit = pageSize.default, status, from, to, cursor } }) => {
        const query = {
          limit,
          ...(status !== undefined && { statuses: [status] }),
          ...(from !== undefined && { from }),
          ...(to !== undefined && { to }),
          ...(cursor !== undefined && { cursor })
        }
        return TeamScope.ofActor.pipe(Effect.flatMap((limits) => webhooks.runs(params.id, { ...query, ...limits })))
      })
  })
)
