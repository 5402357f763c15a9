import { Context, Data, DateTime, Effect, Layer, Metric, Option, Result, type Scope, type Stream } from "effect"
import {
  IdempotencyKeyReused,
  type InvalidParameter,
  MissingVariables,
  NotFound,
  PromptTooLarge,
  type Unavailable,
  WebhookPaused
} from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { webhookIdOf } from "../../domain/ParsedId.ts"
import type { Run, Variables } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import type { NotStarted, Submitted } from "../../domain/run/Submitted.ts"
import type { TeamName } from "../../domain/Team.ts"
import { needsApproval } from "../../domain/webhook/Approvers.ts"
import { isShownToCallers, type OpenedWebhook, type WebhookRow } from "../../domain/webhook/Webhook.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import type { WebhookEdited } from "../../repo/run/RunStore.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import * as Approvals from "../manage/Approvals.ts"
import type { RunUpdate } from "../progress/RunUpdate.ts"
import { RunWatch } from "../progress/RunWatch.ts"
import * as Input from "../prompt/Input.ts"
import { Ignored, InputChecks } from "../prompt/InputChecks.ts"
import type { RenderRefused } from "../prompt/Renderer.ts"
import * as Rendering from "../prompt/Rendering.ts"
import * as RunTexts from "../prompt/RunTexts.ts"
import * as ThreadKeys from "../prompt/ThreadKeys.ts"
import { Settings } from "../Settings.ts"
import { Steps } from "../step/Steps.ts"
import type { Token } from "../verify/Token.ts"
import * as Callbacks from "./Callbacks.ts"
import type { Candidate, MessageRequest, RunRequest } from "./Candidates.ts"
import * as Candidates from "./Candidates.ts"
import * as Coalescing from "./Coalescing.ts"
import { HandOver } from "./HandOver.ts"
import * as Offers from "./Offers.ts"
import * as OwnMessages from "./OwnMessages.ts"
import { passing, type Refused, type TriggerRefused } from "./Refusals.ts"
import * as TokenWatch from "./TokenWatch.ts"
import { Waiting } from "./Waiting.ts"
import * as WebhookCache from "./WebhookCache.ts"

/** Makes the request for a webhook: checks the caller, and reads the body as the webhook takes it. */
export type ReadFor<Request extends RunRequest, E> = (webhook: OpenedWebhook) => Effect.Effect<Request, E>

/** A request as it was submitted last. */
export interface Triggered<Request extends RunRequest> {
  readonly request: Request
  readonly submitted: Submitted
}

/** The front of the flow: authenticate, render, accept; and wait, when the caller wants the answer. */
export class Trigger extends Context.Service<
  Trigger,
  {
    /**
     * `NotFound`: unknown, malformed, replaced or deleted token, or a disabled webhook, which it names. `recent`: may return a webhook from
     * memory. That is enough for `triggerRead`, which reads it again before it refuses a request.
     */
    readonly authenticate: (
      token: Token,
      options?: { readonly recent?: boolean }
    ) => Effect.Effect<OpenedWebhook, NotFound | Unavailable>
    /** The webhook, for an admin instead of a token. */
    readonly open: (id: string) => Effect.Effect<WebhookRow, NotFound | Unavailable>
    /**
     * Accepts a run. With `wait` and without `follows`, waits for its end as well: `success`, `error`, or `timeout` at the
     * deadline; interruption leaves the run alone.
     */
    readonly trigger: (webhook: WebhookRow, request: RunRequest) => Effect.Effect<Submitted, TriggerRefused>
    /**
     * The same for a request that must be read for its webhook. `webhook` may be out of date: before a refusal it is read
     * again, and if it was edited, so is the request.
     */
    readonly triggerRead: <Request extends RunRequest, E>(
      webhook: OpenedWebhook,
      read: ReadFor<Request, E>
    ) => Effect.Effect<Triggered<Request>, E | TriggerRefused>
    /**
     * Begins to offer a request, which `triggerRead` has accepted, ignored or refused for this webhook, to those that share its
     * URL. The effect inside waits until each has decided, or needs time. One that no longer shares the URL has no part in it.
     * `onEnd` gets what each has decided, also after that.
     */
    readonly offer: (
      webhook: OpenedWebhook,
      request: RunRequest,
      onEnd: (offered: Offers.Offered) => void
    ) => Effect.Effect<Effect.Effect<ReadonlyArray<Offers.Offered | Offers.Undecided>>>
    /** Offers what webhooks that share a URL refused for a moment to them again. */
    readonly offerAgain: Effect.Effect<void, Unavailable>
    /** Refuses a large request before it is read for its webhook, if the webhook's CPU time is used up for now. */
    readonly mayBeLarge: (webhook: WebhookRow) => Effect.Effect<void, Unavailable>
    /** Counts the CPU time, in milliseconds, that a large request took when it was read. */
    readonly wasLarge: (webhook: WebhookRow, milliseconds: number) => Effect.Effect<void>
    /** A chat message into the team's lane. `NotFound`: no such team. */
    readonly message: (team: TeamName, message: string, request: MessageRequest) => Effect.Effect<Submitted, Refused>
    /**
     * A run of this very webhook since it came to its team; with `wait`, held until it has ended or the webhook's timeout
     * has passed. Fails with `NotFound` also as soon as the token no longer opens the webhook, or that has moved.
     */
    readonly run: (
      webhook: WebhookRow,
      run_id: RunId,
      options: { readonly wait: boolean }
    ) => Effect.Effect<Run, NotFound | Unavailable>
    /** The updates of such a run, as in `RunWatch`, for as long as the token opens the webhook and that does not move. */
    readonly follow: (
      webhook: WebhookRow,
      run_id: RunId,
      options?: { readonly received?: number }
    ) => Effect.Effect<Stream.Stream<RunUpdate>, NotFound | Unavailable, Scope.Scope>
  }
>()("webhook-trigger/Trigger") {
  static readonly layer = Layer.effect(
    Trigger,
    Effect.gen(function* () {
      const history = yield* HistoryStore
      const rendered = yield* Rendering.make
      const textsOf = yield* RunTexts.make
      const threadKeyOf = yield* ThreadKeys.make
      const singletonKeyOf = yield* ThreadKeys.makeSingletonKey
      const settings = yield* Settings
      const steps = yield* Steps
      const teams = yield* TeamStore
      const webhooks = yield* WebhookStore
      const waiting = yield* Waiting
      const watch = yield* RunWatch
      const { submit } = yield* HandOver

      const cache = yield* WebhookCache.make
      const tokens = yield* TokenWatch.make(cache)
      const candidates = yield* Candidates.make

      const callbacks = yield* Callbacks.make
      const ownMessages = yield* OwnMessages.make
      const inputChecks = yield* InputChecks
      const offers = yield* Offers.make
      const open = (id: string) => Effect.flatMap(webhookIdOf(id), webhooks.webhookRow)

      const render = (webhook: WebhookRow, variables: Variables) => {
        const result = rendered(webhook, variables)
        return Input.takesPayload(webhook) ? Effect.mapError(result, missingInPayload) : result
      }

      const isTooLarge = (prompt: string) => Buffer.byteLength(prompt) > settings.maxPrompt

      const submitOf = (webhook: WebhookRow, request: RunRequest, candidate: Candidate) => {
        const refusedIfNew = refusalIfNew(webhook, request)
        const asked = webhook.shares === undefined ? candidate : { ...candidate, isShared: true }
        const submitted = submit(refusedIfNew === undefined ? asked : { ...asked, refusedIfNew }, request)
        return Effect.catchTag(submitted, "Skipped", ({ run_id }) => new Ignored({ reason: sameKey, run_id }))
      }

      /** The webhook's limits hold for it. Its filter, schema and template are for the input that began the conversation. */
      const reply = (webhook: WebhookRow, request: RunRequest, prompt: string) =>
        isTooLarge(prompt)
          ? Effect.fail(new PromptTooLarge({ limit_bytes: settings.maxPrompt }))
          : submitOf(webhook, request, candidates.ofWebhook(webhook, { ...request, webhook_version: null }, { prompt }))

      const triggerOnce = (
        webhook: OpenedWebhook,
        request: RunRequest
      ): Effect.Effect<Submitted, Cancels | Ignored | InvalidParameter | Refused | WebhookEdited> => {
        if (request.answer !== undefined) return reply(webhook, request, request.answer.message)
        const own = ownMessages.check(webhook, request)
        const start = orIgnored(webhook, request, startOnce(webhook, request))
        const cancelsOrStarts =
          webhook.cancel_if === undefined
            ? start
            : Effect.flatMap(
                inputChecks.cancels(webhook, request.variables),
                (holds): Effect.Effect<Submitted, Cancels | Effect.Error<typeof start>> =>
                  holds ? new Cancels() : start
              )
        return own === undefined ? cancelsOrStarts : Effect.andThen(own, cancelsOrStarts)
      }

      /** Cancels the runs with the request's key that were accepted before it, or the first one that it repeats, arrived. */
      const cancelRuns = (webhook: WebhookRow, request: RunRequest): Effect.Effect<Submitted, Refused> =>
        Effect.gen(function* () {
          const { idempotency, received_at } = request
          const keyed = idempotency && { idempotency: Candidates.keyOf(idempotency, received_at, webhook) }
          const key = standsAlone(request) ? undefined : yield* singletonKeyOf(webhook, request.variables)
          const of = key === undefined ? undefined : { webhook_id: webhook.id, team: webhook.team, key }
          const runs = of === undefined ? [] : yield* steps.cancelSingletons(of, { received_at, ...keyed })
          return { _tag: "Ignored", reason: cancelledText(runs.length), cancelled: runs.map(({ run_id }) => run_id) }
        })

      /** The keys of the request's run. */
      const keysOf = (webhook: WebhookRow, request: RunRequest) =>
        Effect.gen(function* () {
          const thread_key = yield* threadKeyOf(webhook, request.variables, request.thread_owner)
          const key = standsAlone(request) ? undefined : yield* singletonKeyOf(webhook, request.variables)
          return {
            ...(thread_key !== undefined && { thread_key }),
            ...(key !== undefined && {
              singleton: {
                ...{ key, on_new: webhook.singleton!.on_new },
                ...(webhook.supersede_when && { supersede_when: webhook.supersede_when })
              }
            })
          }
        })

      const startOnce = (
        webhook: WebhookRow,
        request: RunRequest
      ): Effect.Effect<Submitted, Ignored | InvalidParameter | Refused | WebhookEdited> =>
        Effect.flatMap(
          Effect.fromResult(Input.used(webhook, request.variables)),
          (variables): Effect.Effect<Submitted, Ignored | InvalidParameter | Refused | WebhookEdited> => {
            const combines = webhook.coalesce !== undefined && !standsAlone(request) && request.files === undefined
            if (request.wait && combines) return Effect.fail(Coalescing.waitRefused)
            if (request.callback_url !== undefined && combines) {
              return Effect.fail(Coalescing.callbackRefused)
            }
            if (request.not_before !== undefined && combines) return Effect.fail(Coalescing.notBeforeRefused)
            if (request.not_before !== undefined && request.wait) return Effect.fail(Coalescing.laterRefused)
            const hold = holdOf(webhook, request)
            const coalesce =
              combines && hold === undefined
                ? Coalescing.windowOf(webhook, request.variables, request.received_at, request.chain_depth)
                : undefined
            if (request.wait && needsApproval(webhook, request.by)) return Effect.fail(Approvals.waitRefused)
            const start = (keys: Pick<RunRequest, "singleton" | "thread_key"> = {}) =>
              Effect.flatMap(render(webhook, variables), (rendered) => {
                const run = {
                  ...{ ...request, variables, ...keys },
                  ...(hold && { hold }),
                  ...(coalesce && { coalesce: Coalescing.withSingleton(coalesce, keys.singleton) })
                }
                const submitNow = (run: RunRequest) =>
                  submitOf(webhook, request, candidates.ofWebhook(webhook, run, rendered))
                const submitAs = (run: RunRequest) =>
                  webhook.attachments === undefined
                    ? submitNow(run)
                    : Effect.flatMap(
                        inputChecks.attachments(webhook, request.variables, request.files ?? []),
                        (named) =>
                          submitNow(named.length === 0 ? run : { ...run, files: [...(run.files ?? []), ...named] })
                      )
                return webhook.run_title === undefined && webhook.workspace_ref === undefined
                  ? submitAs(run)
                  : Effect.flatMap(textsOf(webhook, request.variables), (texts) => submitAs({ ...run, ...texts }))
              })
            const started = () =>
              webhook.thread_key === undefined && webhook.singleton === undefined
                ? start()
                : Effect.flatMap(keysOf(webhook, request), start)
            const called = () =>
              request.callback_url === undefined
                ? started()
                : Effect.andThen(callbacks.check(webhook.id, request.callback_url), started())
            return webhook.accept_if === undefined && webhook.schema === undefined
              ? called()
              : Effect.flatMap(inputChecks.check(webhook, request.variables), called)
          }
        )

      const triggerRead = <Request extends RunRequest, E>(
        webhook: OpenedWebhook,
        read: ReadFor<Request, E>,
        refresh: WebhookCache.WebhookCache["refresh"] = cache.refresh
      ): Effect.Effect<Triggered<Request>, E | TriggerRefused> => {
        /** Continues with `refuse`, unless the webhook was edited: then everything starts again. */
        const unlessEdited = (refuse: Effect.Effect<Triggered<Request>, E | TriggerRefused> | undefined) =>
          Effect.flatMap(refresh(webhook), (current) =>
            refuse !== undefined && current.version === webhook.version ? refuse : triggerRead(current, read, refresh)
          )
        return Effect.matchEffect(read(webhook), {
          onFailure: (refusal) => unlessEdited(Effect.fail(refusal)),
          onSuccess: (request) =>
            Effect.matchEffect(triggerOnce(webhook, request), {
              onSuccess: (submitted) => Effect.succeed({ request, submitted }),
              onFailure: (refusal) => {
                switch (refusal._tag) {
                  case "Unavailable":
                    return webhook.shared_by === undefined ? Effect.fail(refusal) : unlessEdited(Effect.fail(refusal))
                  case "WebhookEdited":
                    return unlessEdited(undefined)
                  case "Ignored":
                    return unlessEdited(Effect.sync(() => ({ request, submitted: ignored(webhook, refusal) })))
                  case "Cancels":
                    return unlessEdited(
                      Effect.map(cancelRuns(webhook, request), (submitted) => ({ request, submitted }))
                    )
                  default:
                    return unlessEdited(Effect.fail(refusal))
                }
              }
            })
        })
      }

      const offerTo: Offers.OfferTo = (owner, sharing, request) =>
        Effect.suspend(() => {
          let webhook = sharing
          const read = (current: WebhookRow) => {
            webhook = current
            return Effect.succeed(request)
          }
          const refresh = () =>
            Effect.flatMap(cache.refresh(owner), ({ shared_by = [] }) => {
              const current = shared_by.find(({ id }) => id === sharing.id)
              return current === undefined ? new NotFound() : Effect.succeed(current)
            })
          return Effect.map(Effect.result(triggerRead(sharing, read, refresh)), (triggered) => ({
            webhook,
            result: Result.map(triggered, ({ submitted }) => submitted)
          }))
        })

      /** The webhooks that were not edited. They are read again together: each by itself took ten times as long. */
      const unedited = (owner: OpenedWebhook, sharing: ReadonlyArray<WebhookRow>) =>
        sharing.length === 0
          ? Effect.succeed(sharing)
          : Effect.match(cache.refresh(owner), {
              onFailure: () => [],
              onSuccess: ({ shared_by = [] }) => {
                const versions = new Map(shared_by.map(({ id, version }) => [id, version]))
                return sharing.filter(({ id, version }) => versions.get(id) === version)
              }
            })

      const ignoring: Offers.Ignoring = (owner, request) => {
        const known = inputChecks
          .ignoring(owner.shared_by ?? [], request.variables)
          .filter(
            (webhook) =>
              webhook.cancel_if === undefined &&
              ownMessages.check(webhook, request) === undefined &&
              Result.isSuccess(Input.used(webhook, request.variables))
          )
        return Effect.map(unedited(owner, known), (webhooks) => ({ webhooks, submitted: (of) => ignored(of) }))
      }

      const trigger = (webhook: WebhookRow, request: RunRequest) =>
        Effect.map(
          triggerRead(webhook, () => Effect.succeed(request)),
          ({ submitted }) => submitted
        )

      const message = Effect.fnUntraced(function* (team: TeamName, message: string, request: MessageRequest) {
        yield* teams.team(team)
        if (isTooLarge(message)) return yield* new PromptTooLarge({ limit_bytes: settings.maxPrompt })
        const candidate = candidates.ofMessage(team, message, request)
        return yield* Effect.catchTag(submit(candidate), ["Skipped", "WebhookEdited"], Effect.die)
      })

      const ownRun = (webhook: WebhookRow, id: RunId) =>
        Effect.filterOrFail(
          history.run(id),
          (run) => isShownToCallers(webhook, run),
          () => new NotFound()
        )

      const run = (webhook: WebhookRow, id: RunId, { wait }: { readonly wait: boolean }) => {
        const own = ownRun(webhook, id)
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
        open,
        trigger,
        triggerRead,
        offer: offers.offer(offerTo, ignoring),
        offerAgain: offers.offerAgain(offerTo, (id) => Effect.flatMap(webhooks.webhookRow(id), cache.refresh)),
        mayBeLarge: ({ id }) => inputChecks.refusalOf(id) ?? Effect.void,
        wasLarge: ({ id }, milliseconds) => Effect.sync(() => inputChecks.charge(id, milliseconds)),
        message,
        run,
        follow: (webhook, id, options) =>
          watch.follow(id, {
            ...options,
            read: ownRun(webhook, id),
            onClosed: (close) => tokens(webhook, close)
          })
      })
    })
  )
}

const ignoredTriggers = Metric.counter("webhook_triggers_ignored_total", {
  description:
    "Triggers that started no run, because their webhook's `accept_if` did not hold, or a destination wrote what they report.",
  incremental: true
})

const ignored = ({ team }: WebhookRow, { reason, run_id }: Partial<Ignored> = {}): NotStarted => {
  Metrics.record(ignoredTriggers, 1, { team })
  return { _tag: "Ignored", ...(reason !== undefined && { reason }), ...(run_id !== undefined && { run_id }) }
}

/** The webhook's `cancel_if` holds. */
class Cancels extends Data.TaggedError("Cancels") {}

const cancelledText = (runs: number): string =>
  `\`cancel_if\` holds: ${runs === 1 ? "1 run was" : `${runs} runs were`} cancelled.`

const sameKey = "A run with the same key is queued or in progress."

/** Why only a repeat of this request may get a run. */
const refusalIfNew = (webhook: WebhookRow, request: RunRequest) => {
  if (request.answer?.isAnswered === true) return new IdempotencyKeyReused()
  return isPaused(webhook, request) && !isKept(webhook, request) ? new WebhookPaused() : undefined
}

const isPaused = ({ paused_at }: WebhookRow, { isManual }: RunRequest): boolean =>
  paused_at !== undefined && isManual !== true

/** A person who tests a webhook, or calls it as a tool, gets the answer to their own input, and at once. */
const standsAlone = ({ isManual, triggered_by }: RunRequest): boolean => isManual === true || triggered_by !== undefined

/** Nobody waits for its answer now. */
const isFromService = (request: RunRequest): boolean =>
  !request.wait && request.answer === undefined && request.chained_from === undefined && !standsAlone(request)

/** Its run waits until the webhook is resumed. */
const isKept = (webhook: WebhookRow, request: RunRequest): boolean =>
  webhook.when_team_stopped === "queue" && isPaused(webhook, request) && isFromService(request)

/** A run that is held leaves the lane to other webhooks' runs. */
const holdOf = (webhook: WebhookRow, request: RunRequest): RunRequest["hold"] => {
  const until = request.not_before
  if (isKept(webhook, request)) return { for: "webhook_paused", ...(until && { until }) }
  return until && DateTime.isGreaterThan(until, request.received_at) ? { for: "time", until } : undefined
}

/** Ignores a request that is refused for a state that passes, if the webhook says so. */
const orIgnored = <A, E>(webhook: WebhookRow, request: RunRequest, start: Effect.Effect<A, E>) =>
  webhook.when_team_stopped === "ignore" && isFromService(request)
    ? Effect.mapError(start, (refusal: E | Refused): E | Ignored => {
        const reason = passing[(refusal as Refused)._tag as keyof typeof passing]
        return reason === undefined ? (refusal as E) : new Ignored({ reason })
      })
    : start

const missingInPayload = (error: RenderRefused): RenderRefused =>
  error._tag === "MissingVariables" ? new MissingVariables({ names: error.names, of: "payload" }) : error
