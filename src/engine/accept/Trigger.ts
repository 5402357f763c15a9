import { Context, DateTime, Effect, Either, Layer, Metric, Option } from "effect"
import {
  type FilterFailed,
  type IdempotencyKeyReused,
  type InvalidBody,
  type InvalidParameter,
  type InvalidVariables,
  MissingVariables,
  NotFound,
  NotVerified,
  PromptTooLarge,
  type RateLimited,
  type SchemaMismatch,
  type TeamNotRunning,
  type TemplateFailed,
  type TooManyQueued,
  type Unavailable,
  type UnsupportedMediaType
} from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { IncomingRequest } from "../../domain/request/IncomingRequest.ts"
import type { Run, Variables } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HistoryStore } from "../../repo/HistoryStore.ts"
import type { WebhookEdited } from "../../repo/RunStore.ts"
import { TeamStore } from "../../repo/TeamStore.ts"
import { WebhookStore } from "../../repo/WebhookStore.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import { webhookIdOf } from "../manage/Webhooks.ts"
import type { Outcomes } from "../outcome/Outcomes.ts"
import * as Waiting from "../outcome/Waiting.ts"
import * as Input from "../prompt/Input.ts"
import * as InputChecks from "../prompt/InputChecks.ts"
import type { Renderer, RenderRefused } from "../prompt/Renderer.ts"
import * as Rendering from "../prompt/Rendering.ts"
import { Settings } from "../Settings.ts"
import type { Shutdown } from "../Shutdown.ts"
import type { Token } from "../verify/Token.ts"
import type { MessageRequest, RunRequest } from "./Candidates.ts"
import * as Candidates from "./Candidates.ts"
import * as Coalescing from "./Coalescing.ts"
import { HandOver } from "./HandOver.ts"
import * as Submit from "./Submit.ts"
import * as TokenWatch from "./TokenWatch.ts"
import * as WebhookCache from "./WebhookCache.ts"

/** Its `variables` are what fills the template in: of a webhook with `input: "payload"`, what the request says. */
export interface TriggerRequest extends RunRequest {
  /** The request itself: read again for a webhook that was edited meanwhile. */
  readonly incoming?: IncomingRequest
  /** Why the request does not show what the webhook asks for: asked again of a webhook that was edited meanwhile. */
  readonly refusedBy?: (webhook: WebhookRow) => NotVerified | Unavailable | undefined
}

/** `Ignored`: the webhook's `accept_if` says that there is nothing to do, and there is no run. */
export type Submitted = Submit.Handed | { readonly _tag: "Ignored" }

export type Refused =
  | InvalidVariables
  | FilterFailed
  | SchemaMismatch
  | MissingVariables
  | PromptTooLarge
  | TemplateFailed
  | TeamNotRunning
  | RateLimited
  | TooManyQueued
  | IdempotencyKeyReused
  | NotFound
  | Unavailable

/** Why a request starts no run, besides what any run is refused for. */
export type TriggerRefused = NotVerified | InvalidBody | InvalidParameter | UnsupportedMediaType | Refused

/** The front of the flow: authenticate, render, accept; and wait, when the caller wants the answer. */
export class Trigger extends Context.Tag("webhook-trigger/Trigger")<
  Trigger,
  {
    /**
     * `NotFound`: unknown, malformed, replaced or deleted token, or a disabled webhook. `recent`: as it was read before,
     * which is enough for `trigger`; whatever else is refused by it must be refused by `authenticate` without that.
     */
    readonly authenticate: (
      token: Token,
      options?: { readonly recent?: boolean }
    ) => Effect.Effect<WebhookRow, NotFound | Unavailable>
    /** The webhook as its token would open it, for an admin. The id comes as a caller wrote it. */
    readonly open: (id: string) => Effect.Effect<WebhookRow, NotFound | Unavailable>
    /**
     * Accepts a run. With `wait`, waits for its end as well: `success`, `error`, or `timeout` at the deadline;
     * interruption leaves the run alone.
     */
    readonly trigger: (webhook: WebhookRow, request: TriggerRequest) => Effect.Effect<Submitted, TriggerRefused>
    /** A chat message into the team's lane. `NotFound`: no such team. */
    readonly message: (team: TeamName, message: string, request: MessageRequest) => Effect.Effect<Submitted, Refused>
    /**
     * A run of this very webhook; with `wait`, held until it has ended or the webhook's timeout has passed. Fails with
     * `NotFound` also as soon as the token no longer opens the webhook.
     */
    readonly run: (
      webhook: WebhookRow,
      run_id: RunId,
      options: { readonly wait: boolean }
    ) => Effect.Effect<Run, NotFound | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<
    Trigger,
    never,
    ChangeFeed | HandOver | HistoryStore | Outcomes | Renderer | Settings | Shutdown | TeamStore | WebhookStore
  > = Layer.scoped(
    Trigger,
    Effect.gen(function* () {
      const history = yield* HistoryStore
      const rendered = yield* Rendering.make
      const settings = yield* Settings
      const teams = yield* TeamStore
      const webhooks = yield* WebhookStore
      const waiting = yield* Waiting.make
      const submit = Submit.make(yield* HandOver, waiting)

      const cache = yield* WebhookCache.make
      const tokens = yield* TokenWatch.make(cache)
      const candidates = yield* Candidates.make

      const objectionTo = InputChecks.make()

      const render = (webhook: WebhookRow, variables: Variables) => {
        const result = rendered(webhook, variables)
        return Input.takesPayload(webhook) ? Effect.mapError(result, missingInPayload) : result
      }

      const triggerOnce = (
        webhook: WebhookRow,
        request: TriggerRequest
      ): Effect.Effect<Submitted, InputChecks.Ignored | InvalidParameter | Refused | WebhookEdited> =>
        Effect.flatMap(
          Input.used(webhook, request.variables),
          (variables): Effect.Effect<Submitted, InputChecks.Ignored | InvalidParameter | Refused | WebhookEdited> => {
            if (request.wait && webhook.coalesce !== undefined) return Effect.fail(Coalescing.waitRefused)
            const objection = objectionTo(webhook, request.variables)
            if (objection !== undefined) return Effect.fail(objection)
            const coalesce = Coalescing.windowOf(webhook, request.variables, request.received_at)
            return Effect.flatMap(render(webhook, variables), (rendered) =>
              submit(candidates.ofWebhook(webhook, { ...request, variables, ...(coalesce && { coalesce }) }, rendered))
            )
          }
        )

      /** The request as the webhook takes it, that was edited since it was read for it. */
      const readAgain = (webhook: WebhookRow, request: TriggerRequest) =>
        request.incoming === undefined
          ? Either.right(request)
          : Either.map(Input.read(webhook, request.incoming), (variables) => ({ ...request, variables }))

      /** What a webhook refuses that was edited meanwhile, the edited one may accept. */
      const trigger = (webhook: WebhookRow, request: TriggerRequest): Effect.Effect<Submitted, TriggerRefused> =>
        Effect.catchAll(triggerOnce(webhook, request), (error) => {
          if (error._tag === "Unavailable") return Effect.fail(error)
          return Effect.flatMap(cache.refresh(webhook), (current) => {
            if (current.version === webhook.version && error._tag !== "WebhookEdited") {
              return error._tag === "Ignored" ? ignored(webhook) : Effect.fail(error)
            }
            const refusal = request.refusedBy?.(current)
            if (refusal !== undefined) return Effect.fail(refusal)
            return Effect.flatMap(readAgain(current, request), (request) => trigger(current, request))
          })
        })

      const message = Effect.fnUntraced(function* (team: TeamName, message: string, request: MessageRequest) {
        yield* teams.team(team)
        if (Buffer.byteLength(message) > settings.maxPrompt) {
          return yield* new PromptTooLarge({ limit_bytes: settings.maxPrompt })
        }
        const candidate = candidates.ofMessage(team, message, request)
        return yield* Effect.catchTag(submit(candidate), "WebhookEdited", Effect.die)
      })

      const run = (webhook: WebhookRow, id: RunId, { wait }: { readonly wait: boolean }) => {
        const own = Effect.filterOrFail(
          history.run(id),
          (run) => run.webhook_id === webhook.id,
          () => new NotFound()
        )
        if (!wait) return own
        const onClosed = (close: () => void) => tokens(webhook, close)
        return waiting.watch(id, { isNew: false, onClosed }, (end) =>
          Effect.gen(function* () {
            const now = yield* own
            if (isFinal(now.status)) return now
            const deadline = DateTime.addDuration(yield* DateTime.now, candidates.timeoutOf(webhook))
            const ended = yield* end.until(deadline)
            return Option.isSome(ended) ? ended.value : yield* own
          })
        )
      }

      return Trigger.of({
        authenticate: (token, { recent = false } = {}) => (recent ? cache.recent(token) : cache.current(token)),
        open: (id) => Effect.flatMap(webhookIdOf(id), webhooks.webhookRow),
        trigger,
        message,
        run
      })
    })
  )
}

const ignoredTriggers = Metric.counter("webhook_triggers_ignored_total", {
  description: "Triggers that started no run, because their webhook's `accept_if` did not hold.",
  incremental: true
})

const ignored = ({ team }: WebhookRow): Effect.Effect<Submitted> =>
  Effect.sync(() => {
    Metrics.record(ignoredTriggers, 1, { team })
    return { _tag: "Ignored" }
  })

const missingInPayload = (error: RenderRefused): RenderRefused =>
  error._tag === "MissingVariables" ? new MissingVariables({ names: error.names, of: "payload" }) : error
