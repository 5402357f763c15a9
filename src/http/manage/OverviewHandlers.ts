import { DateTime, Duration, Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Actor } from "../../api/access/Auth.ts"
import { asWhole } from "../../api/List.ts"
import { DraftBody } from "../../api/Overview.ts"
import { pageSize } from "../../api/PageSize.ts"
import { SampleBody } from "../../api/run/RunAnswers.ts"
import { isLimited } from "../../domain/access/Grant.ts"
import { NotFound } from "../../domain/Errors.ts"
import { piecesOf } from "../../domain/prompt/PromptLayout.ts"
import type { TeamName } from "../../domain/Team.ts"
import { validate } from "../../domain/Validation.ts"
import type { Actor as Starter } from "../../domain/webhook/Approvers.ts"
import { recordStart } from "../../engine/access/Audit.ts"
import { Overview } from "../../engine/manage/Overview.ts"
import { Webhooks } from "../../engine/manage/Webhooks.ts"
import type { DraftPreview } from "../../engine/prompt/DraftPreview.ts"
import * as Input from "../../engine/prompt/Input.ts"
import { Settings } from "../../engine/Settings.ts"
import { maxQueuedOfWebhook } from "../../engine/SettingsConfig.ts"
import { Trigger } from "../../engine/trigger/Trigger.ts"
import * as ActorStreams from "../access/ActorStreams.ts"
import * as Auth from "../access/Auth.ts"
import { OperationsAccess } from "../access/OperationsAccess.ts"
import * as TeamScope from "../access/TeamScope.ts"
import { Events } from "../events/Events.ts"
import * as Body from "../request/Body.ts"
import { refusing } from "../request/Handlers.ts"
import * as Problems from "../request/Problems.ts"
import { makeTriggerOriginFor } from "../request/PublicUrl.ts"
import * as Idempotency from "../trigger/Idempotency.ts"
import * as RunAnswer from "../trigger/RunAnswer.ts"
import { withLocation } from "./Location.ts"
import { ServerFacts } from "./ServerFacts.ts"

const decodeSample = validate(SampleBody)
const decodeDraft = validate(DraftBody)

const ofDraft = ({ names: variables, places, rendered }: DraftPreview) => ({
  ...{ variables, ...(places && { places }) },
  ...Result.match(rendered, {
    onFailure: (refusal) => {
      const { detail, title } = Problems.bodyOf(refusal)
      return { refused: `${title}. ${detail}` }
    },
    onSuccess: ({ layout, prompt }) => ({ prompt: piecesOf(prompt, layout) })
  })
})

/**
 * A run of the role `caller` does not bypass the pause of its webhook. The caller finds it by `triggered_by`, and has its own
 * threads.
 */
const startedBy = (triggered_by: string | undefined, by: Starter) =>
  triggered_by === undefined ? { isManual: true, by } : { triggered_by, thread_owner: triggered_by, by }

/** Reads what belongs to the actor's teams. */
const ofOwners = <A, E>(read: (owners?: ReadonlyArray<TeamName>) => Effect.Effect<A, E>) =>
  Effect.flatMap(TeamScope.ofActor, ({ owners }) => read(owners))

export const layer = HttpApiBuilder.group(Api, "overview", (handlers) =>
  Effect.gen(function* () {
    const overview = yield* Overview
    const scope = yield* TeamScope.make
    const trigger = yield* Trigger
    const webhooks = yield* Webhooks
    const events = yield* Events
    const streams = yield* ActorStreams.make
    const settings = yield* Settings
    const originFor = yield* makeTriggerOriginFor
    const { agents, ...facts } = yield* ServerFacts
    const { apiDocs } = yield* OperationsAccess
    const starterOf = yield* Auth.makeStarter

    return refusing(handlers)
      .handle("server", ({ request }) =>
        Effect.gen(function* () {
          const { grant } = yield* Actor
          return {
            ...facts,
            ...(grant.role === "admin" && !isLimited(grant) && { agents: yield* agents }),
            public_url: originFor(request),
            api_docs: apiDocs,
            webhook_timeout_seconds: Duration.toSeconds(settings.timeout),
            webhook_max_work_seconds: Duration.toSeconds(settings.maxWork),
            webhook_max_concurrent: settings.maxConcurrent,
            webhook_max_queued: maxQueuedOfWebhook(settings)
          }
        })
      )
      .handle("activity", () => asWhole(scope.onlyOfOwnedWebhooks(overview.activity)))
      .handle("totals", () => ofOwners(overview.totals))
      .handle("now", () => Effect.map(ofOwners(overview.now), (work) => ({ work })))
      .handle("statistics", ({ params, query }) => overview.statistics(params.id, query.range ?? "24h"))
      .handleRaw("previewDraft", ({ request }) =>
        Body.readObject(request, settings.maxBody).pipe(
          Effect.flatMap(decodeDraft),
          Effect.flatMap((draft) => webhooks.previewDraft(draft, draft)),
          Effect.map(ofDraft),
          Effect.catchTag("TemplateInvalid", ({ offset, line, column, reason }) =>
            Effect.succeed({ variables: [], fault: { offset, line, column, reason } })
          )
        )
      )
      .handle("teamRuns", ({ params, query }) =>
        asWhole(overview.teamRuns(params.team, query.limit ?? pageSize.default))
      )
      .handleRaw("run", ({ params, query, request }) =>
        Effect.gen(function* () {
          const received_at = yield* DateTime.now
          const actor = yield* Actor
          const { triggered_by } = actor.grant
          const webhook = yield* trigger.open(params.id)
          // For a role that only starts runs, a disabled webhook does not exist, as for callers with a token.
          if (triggered_by !== undefined && !webhook.enabled) return yield* new NotFound()
          const sample = yield* Effect.flatMap(Body.readObject(request, settings.maxBody), decodeSample)
          const variables = yield* Effect.fromResult(Input.ofSample(webhook, sample))
          const idempotency = yield* Effect.fromResult(
            Idempotency.read(request, webhook, variables, { sender: triggered_by })
          )
          const wait = query.wait === true
          const started = yield* recordStart(
            "webhook.run_started",
            webhook.id
          )(
            trigger.trigger(webhook, {
              variables,
              received_at,
              wait,
              ...startedBy(triggered_by, starterOf(actor)),
              ...idempotency
            })
          )
          return yield* withLocation(request, RunAnswer.ofRun(request, started), started)
        })
      )
      .handleRaw("events", ({ request }) =>
        Effect.gen(function* () {
          const { owner, whileSignedIn } = yield* streams(request)
          const { grant } = yield* Actor
          const stream = yield* events.open(owner, grant.teams, () => Body.nodeRequest(request)?.destroy())
          return HttpServerResponse.stream(whileSignedIn(stream), {
            contentType: "text/event-stream",
            // Keeps proxies such as nginx from buffering the events.
            headers: { "x-accel-buffering": "no" }
          })
        })
      )
  })
)
