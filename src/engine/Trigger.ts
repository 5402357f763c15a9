import { Context, DateTime, Duration, Effect, Either, type Fiber, Layer, Metric, Option } from "effect"
import { Bus, type TeamQueue } from "../bus/Bus.ts"
import {
  type FilterFailed,
  IdempotencyKeyReused,
  type InvalidBody,
  type InvalidVariables,
  MissingVariables,
  NotFound,
  NotVerified,
  PromptTooLarge,
  type RateLimited,
  type SchemaMismatch,
  TeamNotRunning,
  type TooManyQueued,
  Unavailable,
  type UnsupportedMediaType
} from "../domain/Errors.ts"
import { type RunId, runIdAt } from "../domain/Id.ts"
import type { IncomingRequest } from "../domain/IncomingRequest.ts"
import { type Run, type RunMode, type Variables, waitsForLeader } from "../domain/Run.ts"
import { isFinal } from "../domain/RunStatus.ts"
import type { TeamName } from "../domain/Team.ts"
import type { WebhookRow } from "../domain/Webhook.ts"
import type { ChangeFeed } from "../repo/ChangeFeed.ts"
import { HistoryStore } from "../repo/HistoryStore.ts"
import type { LaneStore } from "../repo/LaneStore.ts"
import { type Acceptance as Accepted, type NewRun, RunStore, type WebhookEdited } from "../repo/RunStore.ts"
import { TeamStore } from "../repo/TeamStore.ts"
import { WebhookStore } from "../repo/WebhookStore.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { whenTraced } from "../telemetry/Span.ts"
import * as TraceContext from "../telemetry/TraceContext.ts"
import type { Candidate } from "./Acceptance.ts"
import * as Acceptance from "./Acceptance.ts"
import * as Checkpoints from "./Checkpoints.ts"
import type { CurrentLanes } from "./CurrentLanes.ts"
import * as Input from "./Input.ts"
import * as InputChecks from "./InputChecks.ts"
import type { Outcomes } from "./Outcomes.ts"
import { type Rendered, Renderer } from "./Renderer.ts"
import { Settings } from "./Settings.ts"
import { maxQueuedOfWebhook } from "./SettingsConfig.ts"
import { Shutdown } from "./Shutdown.ts"
import type { Token } from "./Token.ts"
import * as Waiting from "./Waiting.ts"
import * as WebhookCache from "./WebhookCache.ts"
import { webhookIdOf } from "./Webhooks.ts"

export interface TriggerRequest {
  /** What fills the template in: variables or, for a webhook with `input: "payload"`, what the request says. */
  readonly variables: Variables
  /** The request itself: read again for a webhook that was edited meanwhile. */
  readonly incoming?: IncomingRequest
  /** From Effect's clock; a wait's deadline is counted from here. */
  readonly received_at: DateTime.Utc
  readonly wait: boolean
  readonly idempotency?: { readonly key: string; readonly request_hash: Uint8Array }
  /** Whether the request shows what the webhook asks for: asked again of a webhook that was edited meanwhile. */
  readonly mayUse?: (webhook: WebhookRow) => boolean
  /** The caller's trace, for its prompt; a span in which this is called takes its place. */
  readonly traceparent?: string
}

/**
 * `Accepted`: the run is stored. `Ended`: the caller waited, and this is the run as it ended. `Ignored`: the webhook's
 * `accept_if` says that there is nothing to do, and there is no run.
 */
export type Submitted =
  | { readonly _tag: "Accepted"; readonly run_id: RunId }
  | { readonly _tag: "Ended"; readonly run: Run }
  | { readonly _tag: "Ignored" }

export type Refused =
  | InvalidVariables
  | FilterFailed
  | SchemaMismatch
  | MissingVariables
  | PromptTooLarge
  | TeamNotRunning
  | RateLimited
  | TooManyQueued
  | IdempotencyKeyReused
  | NotFound
  | Unavailable

/** Why a request starts no run, besides what any run is refused for. */
export type TriggerRefused = NotVerified | InvalidBody | UnsupportedMediaType | Refused

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
    readonly message: (
      team: TeamName,
      message: string,
      options: { readonly received_at: DateTime.Utc; readonly wait: boolean }
    ) => Effect.Effect<Submitted, Refused>
    /** A run of this very webhook; with `wait`, held until it has ended or the webhook's timeout has passed. */
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
    | Bus
    | ChangeFeed
    | CurrentLanes
    | HistoryStore
    | LaneStore
    | Outcomes
    | Renderer
    | RunStore
    | Settings
    | Shutdown
    | TeamStore
    | WebhookStore
  > = Layer.scoped(
    Trigger,
    Effect.gen(function* () {
      const bus = yield* Bus
      const history = yield* HistoryStore
      const renderer = yield* Renderer
      const runs = yield* RunStore
      const settings = yield* Settings
      const shutdown = yield* Shutdown
      const teams = yield* TeamStore
      const webhooks = yield* WebhookStore
      const reach = yield* Checkpoints.Checkpoints
      const waiting = yield* Waiting.make

      const cache = yield* WebhookCache.make
      const clock = yield* Effect.clock

      const maxQueued = maxQueuedOfWebhook(settings)

      const timeoutOf = (webhook: WebhookRow) =>
        webhook.timeout_seconds === undefined ? settings.timeout : Duration.seconds(webhook.timeout_seconds)

      const objectionTo = InputChecks.make()

      const commit = yield* Acceptance.make

      /** A repeat gets its first answer also when the team has stopped since; nothing new is taken in its place. */
      const repeatOnly = (run: NewRun, error: TeamNotRunning): Effect.Effect<Accepted, Refused | WebhookEdited> =>
        run.idempotency === undefined
          ? Effect.fail(error)
          : Effect.flatMap(runs.accept([run], { maxQueued: 0 }), ([answer]) => answer!).pipe(
              Effect.catchTags({ RateLimited: () => Effect.fail(error), TooManyQueued: () => Effect.fail(error) })
            )

      const unlessStopping = <A, E>(begin: () => Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> =>
        Effect.suspend((): Effect.Effect<A, E | Unavailable> => (shutdown.hasBegun() ? Effect.fail(stopping) : begin()))

      const commitOf = (candidate: Candidate, { consumers }: Pick<TeamQueue, "consumers">) => {
        const { run } = candidate
        const isTeamStopped = consumers === 0
        const take = unlessStopping(() =>
          Checkpoints.after(reach("accept"), commit(isTeamStopped ? { ...candidate, isTeamStopped } : candidate))
        )
        if (!isTeamStopped || waitsForLeader(run)) return take
        // What a paused team gets waits in any case, for its leader too.
        return Effect.flatMap(
          teams.team(run.team),
          ({ paused_at }): Effect.Effect<Accepted, Refused | WebhookEdited> =>
            paused_at === undefined
              ? unlessStopping(() => repeatOnly(run, new TeamNotRunning({ team: run.team })))
              : take
        )
      }

      /** Of a run that waits for a leader in any case, it does not matter that the broker cannot say. */
      const queueOf = (run: NewRun): Effect.Effect<Pick<TeamQueue, "consumers">, Unavailable> =>
        waitsForLeader(run)
          ? Effect.catchTag(bus.queue(run.team), "Unavailable", () => Effect.succeed({ consumers: 0 }))
          : bus.queue(run.team)

      /** The row is the hand-over: after this the run is the dispatcher's. Gives the earlier run when it is a repeat. */
      const accept = (candidate: Candidate) =>
        Effect.flatMap(queueOf(candidate.run), (queue) =>
          Effect.withFiberRuntime<Repeated | undefined, Refused | WebhookEdited>((fiber) =>
            Effect.flatMap(commitOf(inTraceOf(fiber, candidate), queue), (acceptance) =>
              Checkpoints.after(reach("accepted"), earlierOf(candidate.run, acceptance))
            )
          )
        ).pipe(whenTraced("Trigger.accept"))

      const submit = (candidate: Candidate): Effect.Effect<Submitted, Refused | WebhookEdited> => {
        const { run } = candidate
        const { deadline_at: deadline } = run
        if (run.mode === "async" || deadline === undefined) {
          return Effect.map(accept(candidate), (earlier) => ({
            _tag: "Accepted",
            run_id: earlier === undefined ? run.run_id : earlier.run.run_id
          }))
        }
        return waiting
          .watch(run.run_id, { isNew: true }, (end) =>
            Effect.flatMap(accept(candidate), (earlier) =>
              earlier === undefined
                ? end.before(deadline)
                : waiting.endOf(earlier.run.run_id, earlier.deadline_at ?? deadline)
            )
          )
          .pipe(Effect.map((ended): Submitted => ({ _tag: "Ended", run: ended })))
      }

      /** What every new run has, whatever it is made from. */
      const newRun = (
        origin: Pick<NewRun, "source" | "webhook" | "team" | "prompt" | "layout" | "variables">,
        timeout: Duration.Duration,
        { received_at, wait }: { readonly received_at: DateTime.Utc; readonly wait: boolean }
      ): NewRun => {
        const now = clock.unsafeCurrentTimeMillis()
        return {
          run_id: runIdAt(now),
          ...origin,
          mode: (wait ? "wait" : "async") satisfies RunMode,
          timeout,
          ...(wait && { deadline_at: DateTime.addDuration(received_at, timeout) }),
          accepted_at: DateTime.unsafeMake(now)
        }
      }

      const candidateOf = (webhook: WebhookRow, request: TriggerRequest, rendered: Rendered): Candidate => {
        const { variables, idempotency } = request
        const { id, name, team, token_hash, version, max_concurrent, max_queued = maxQueued, rate } = webhook
        const queues = webhook.when_team_stopped === "queue" && !request.wait
        const by = { id, token_hash, version, max_queued, ...(rate !== undefined && { rate }) }
        const run = newRun(
          { source: "webhook", webhook: by, team, ...rendered, variables },
          timeoutOf(webhook),
          request
        )
        const expires_at = DateTime.addDuration(run.accepted_at, idempotencyKeyLife)
        const deadline_at = queues && DateTime.add(run.accepted_at, { seconds: webhook.queue_for_seconds ?? queueFor })
        return {
          run: {
            ...run,
            ...(deadline_at && { deadline_at }),
            ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
            ...(idempotency && { idempotency: { ...idempotency, expires_at } })
          },
          webhook: { id, name, ...(max_concurrent !== undefined && { max_concurrent }) }
        }
      }

      const render = (webhook: WebhookRow, variables: Variables) => {
        const rendered = renderer.render(webhook.prompt_template, variables, webhook)
        return Input.takesPayload(webhook) ? Effect.mapError(rendered, missingInPayload) : rendered
      }

      const triggerOnce = (
        webhook: WebhookRow,
        request: TriggerRequest
      ): Effect.Effect<Submitted, InputChecks.Ignored | Refused | WebhookEdited> =>
        Effect.flatMap(
          Input.used(webhook, request.variables),
          (variables): Effect.Effect<Submitted, InputChecks.Ignored | Refused | WebhookEdited> => {
            const objection = objectionTo(webhook, request.variables)
            if (objection !== undefined) return Effect.fail(objection)
            return Effect.flatMap(render(webhook, variables), (rendered) =>
              submit(candidateOf(webhook, { ...request, variables }, rendered))
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
            if (request.mayUse?.(current) === false) return new NotVerified()
            return Effect.flatMap(readAgain(current, request), (request) => trigger(current, request))
          })
        })

      const message = Effect.fnUntraced(function* (
        team: TeamName,
        message: string,
        options: { readonly received_at: DateTime.Utc; readonly wait: boolean }
      ) {
        yield* teams.team(team)
        if (Buffer.byteLength(message) > settings.maxPrompt) {
          return yield* new PromptTooLarge({ limit_bytes: settings.maxPrompt })
        }
        const run = newRun({ source: "chat", team, prompt: message, variables: {} }, settings.timeout, options)
        return yield* Effect.catchTag(submit({ run }), "WebhookEdited", Effect.die)
      })

      const run = (webhook: WebhookRow, id: RunId, { wait }: { readonly wait: boolean }) => {
        const own = Effect.filterOrFail(
          history.run(id),
          (run) => run.webhook_id === webhook.id,
          () => new NotFound()
        )
        if (!wait) return own
        return waiting.watch(id, { isNew: false }, (end) =>
          Effect.gen(function* () {
            const now = yield* own
            if (isFinal(now.status)) return now
            const deadline = DateTime.addDuration(yield* DateTime.now, timeoutOf(webhook))
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

type Repeated = Extract<Accepted, { readonly _tag: "Repeated" }>

/** None for a new run. An answer at acceptance and an answer waited for are not the same request. */
const earlierOf = (run: NewRun, acceptance: Accepted): Effect.Effect<Repeated | undefined, IdempotencyKeyReused> => {
  if (acceptance._tag === "Accepted") return Effect.succeed(undefined)
  return acceptance.run.mode === run.mode ? Effect.succeed(acceptance) : new IdempotencyKeyReused()
}

const missingInPayload = (error: MissingVariables | PromptTooLarge): MissingVariables | PromptTooLarge =>
  error._tag === "MissingVariables" ? new MissingVariables({ names: error.names, of: "payload" }) : error

/** The run's prompt belongs to the span in which it is accepted; without a tracer, to the caller's. */
const inTraceOf = (fiber: Fiber.RuntimeFiber<any, any>, candidate: Candidate): Candidate => {
  const traceparent = TraceContext.ofFiber(fiber)
  return traceparent === undefined ? candidate : { ...candidate, run: { ...candidate.run, traceparent } }
}

/** For how long a repeat of an `Idempotency-Key` returns the first run. */
const idempotencyKeyLife = Duration.hours(24)

/** How long a run waits for a leader when its webhook does not say, in seconds. */
const queueFor = 24 * 3_600

const stopping = new Unavailable({ what: "server", detail: "The server is stopping; try again in a moment." })
