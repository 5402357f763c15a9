/** One attempt of a delivery: body, signature, request, and what comes next. */
import { randomUUID } from "node:crypto"
import { Clock, Context, DateTime, Effect, Layer, Metric, Option, Random, Result } from "effect"
import * as Attempts from "../../domain/delivery/Attempts.ts"
import type { DeliveryAttempt } from "../../domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import { eventOfStatus, runEndEvents } from "../../domain/delivery/DestinationEvent.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { type AttemptResult, DeliveryStore, type DueDelivery } from "../../repo/delivery/DeliveryStore.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as Scrub from "../../runtime/Scrub.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import { NoAnswer, Poster } from "../egress/Poster.ts"
import * as Signature from "../egress/Signature.ts"
import { asCode } from "../markdown/Markdown.ts"
import type { MarkdownText, Shown } from "../markdown/Shown.ts"
import { Evaluator } from "../prompt/Evaluator.ts"
import * as ButtonOutcomes from "../slack/ButtonOutcomes.ts"
import { buttonsOf, takesClicks } from "../slack/Buttons.ts"
import { memberOf } from "../slack/SlackMembers.ts"
import * as Sealing from "../verify/Sealing.ts"
import * as ChainedRuns from "./ChainedRuns.ts"
import * as EventBody from "./EventBody.ts"
import type { Access, Means, Message, Sent } from "./kinds/Sender.ts"
import { senders } from "./kinds/Senders.ts"
import { ManagementUrl } from "./ManagementUrl.ts"
import { type AlertSubject, type RunSubject, type Subject, timeOf } from "./Message.ts"
import { Mailer } from "./mail/Mailer.ts"

/** The number of IDs that are remembered for a destination. */
const maxAuthors = 20

/** The subject of a test event. */
type Tested = Pick<RunSubject, "run" | "webhook"> | Pick<AlertSubject, "alert">

export class Outbox extends Context.Service<
  Outbox,
  {
    readonly attempt: (due: DueDelivery) => Effect.Effect<AttemptResult>
    /** Sends a test event about the run or alert, outside of any schedule. */
    readonly test: (destination: DestinationRow, about: Tested) => Effect.Effect<DeliveryAttempt>
    /** The fault in a template; `undefined`: none. */
    readonly faultOfTemplate: (template: string) => Effect.Effect<string | undefined, Unavailable>
  }
>()("webhook-trigger/Outbox") {
  static readonly layer = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      Metrics.begin(attempts, "outcome", ["delivered", "retry", "failed"])
      const { post } = yield* Poster
      const mailer = yield* Mailer
      const start = yield* ChainedRuns.make
      const { evaluate } = yield* Evaluator
      const sealing = yield* Sealing.make
      const clock = yield* Clock.Clock
      const bodies = yield* EventBody.make
      const sign = yield* Signature.make
      const deliveries = yield* DeliveryStore
      const destinations = yield* DestinationStore
      const webhooks = yield* WebhookStore
      const pages = yield* ManagementUrl
      const outcomes = yield* ButtonOutcomes.make

      const open = (sealed: string, { id }: DestinationRow) => sealing.open(id, sealed)

      /** The secrets of one attempt; `undefined`: no key of this server opens them. */
      const accessTo = (destination: DestinationRow, now: Date): Access | undefined => {
        const {
          chain_teams: teams,
          id,
          kind,
          old_sealed_secret,
          old_secret_valid_until: until,
          sealed_headers,
          sealed_secret
        } = destination
        const isOldValid = until !== undefined && DateTime.toEpochMillis(until) > now.getTime()
        const sealed = [sealed_secret, ...(isOldValid && old_sealed_secret !== undefined ? [old_sealed_secret] : [])]
        const secrets = sealed.flatMap((one) => open(one, destination) ?? [])
        const headers = sealed_headers === undefined ? "{}" : open(sealed_headers, destination)
        if (headers === undefined || secrets.length < sealed.length) return undefined
        const url = kindOf(kind).url?.isSecret ? secrets[0]! : destination.url
        return {
          id,
          url,
          secrets,
          sign,
          ...(teams && { teams }),
          headers: JSON.parse(headers) as Record<string, string>
        }
      }

      /** Once for each, with those that were known before: messages of a replaced token still count. */
      const learn = ({ authors: known = [], id }: DestinationRow, { authors = [] }: Sent) => {
        const fresh = authors.filter((author) => !known.includes(author))
        if (fresh.length === 0) return Effect.void
        return Effect.ignoreCause({ log: "Debug" })(
          destinations.rememberAuthors(id, [...fresh, ...known].slice(0, maxAuthors))
        )
      }

      /** Text that takes too long to read as Markdown is shown as code. */
      const showFor =
        (id: DestinationRow["id"]): Means["show"] =>
        <Service extends keyof Shown>(service: Service, { body, page }: MarkdownText) =>
          evaluate("markdown", { service, body, page }, id).pipe(
            // With CPU time of its own: the first reading has used up the destination's, more of it the busier the machine is.
            Effect.catchTag("TooSlow", () =>
              evaluate("markdown", { service, body: asCode(body), page }, `${id}, as code`)
            ),
            Effect.map((shown) => shown as Shown[Service]),
            Effect.catchTags({
              TooSlow: () => new NoAnswer({ reason: "the answer takes too long to read" }),
              Unavailable: () => new NoAnswer({ reason: "the server was too busy to read the answer", isBusy: true })
            })
          )

      /** Where it cannot be read, the comment is looked for. */
      const commentOf = ({ id, kind }: DestinationRow, target: string) =>
        kindOf(kind).sharesComment
          ? Effect.orElseSucceed(destinations.comment(id, target), () => undefined)
          : Effect.succeed(undefined)

      /** None if no webhook of the team takes their clicks: Slack would show an error. */
      const buttonsFor = ({ kind }: DestinationRow, subject: Subject) => {
        if (!kind.startsWith("slack") || !("run" in subject) || subject.isTest) return Effect.succeed([])
        const { event, run } = subject
        const buttons = buttonsOf(run, event, sign)
        if (buttons.length === 0) return Effect.succeed([])
        return webhooks.webhooks.pipe(
          Effect.map((all) => {
            const receiver = (one: Webhook) => all.find(({ id }) => id === one.shares) ?? one
            const takes = (one: Webhook) => one.enabled && receiver(one).enabled && takesClicks(receiver(one))
            return all.some((one) => one.team === run.team && takes(one))
          }),
          Effect.orElseSucceed(() => false),
          Effect.map((areTaken) => (areTaken ? buttons : []))
        )
      }

      /** The answer to a reply in Slack goes into its thread, whatever the target says. */
      const inThread = (due: DueDelivery): Effect.Effect<DestinationRow, EventBody.Unfillable> => {
        const { destination } = due
        if (destination.kind !== "slack-message" || !("run" in due) || memberOf(due.run.triggered_by) === undefined) {
          return Effect.succeed(destination)
        }
        return deliveries.chatThreadOf(destination.id, due.run.run_id, String(due.run.variables.slack_thread)).pipe(
          Effect.map((target) => (target === undefined ? destination : { ...destination, target })),
          Effect.mapError(({ detail }) => ({ reason: detail, isPassing: true }))
        )
      }

      const sendOnce = (
        destination: DestinationRow,
        about: Omit<Message, "at" | "buttons" | "event" | "isTest" | "order" | "run">,
        subject: Subject
      ) =>
        Effect.gen(function* () {
          const at = yield* DateTime.now
          const startedAt = stopwatch(clock)
          const access = accessTo(destination, DateTime.toDateUtc(at))
          const message = {
            ...about,
            at: DateTime.toDateUtc(at),
            event: subject.event,
            order: orderOf(subject, at),
            ...("run" in subject && { run: subject.run }),
            ...("run" in subject && Option.isSome(pages) && { page: `${pages.value}/runs/${subject.run.run_id}` }),
            buttons: about.written === undefined ? yield* buttonsFor(destination, subject) : [],
            isTest: subject.isTest === true
          }
          const result = yield* Effect.result(
            access === undefined
              ? new NoAnswer({ reason: "the server has no key that opens the destination's secrets (SECRETS_KEY)" })
              : Effect.flatMap(commentOf(destination, about.target), (comment) =>
                  senders[destination.kind](
                    message,
                    { ...access, comment },
                    { send: post, mail: mailer.send, start, show: showFor(destination.id) }
                  )
                )
          )
          const scrub = Scrub.make(secretsIn(destination, about.target, access))
          const took = { at, duration_ms: Math.round(stopwatch(clock) - startedAt) }
          if (Result.isFailure(result)) {
            const { isBusy = false, isOfTarget = false, reason } = result.failure
            return {
              attempt: { ...took, error: scrub(reason) },
              answer: undefined,
              hasButtons: false,
              saysNothing: isBusy,
              isOfTarget
            }
          }
          yield* learn(destination, result.success)
          const { comment_id } = result.success
          if (comment_id !== undefined) {
            yield* Effect.ignoreCause({ log: "Debug" })(
              destinations.rememberComment(destination.id, about.target, comment_id)
            )
          }
          const { answer, fault, http_status, isBusy = false, isOfRun = false, started_run } = result.success
          const error = fault ?? faultOfStatus(http_status)
          const attempt = {
            ...{ ...took, http_status, ...(error !== undefined && { error: scrub(error) }), answer: scrub(answer) },
            ...(started_run !== undefined && { started_run })
          }
          // Where each run has its own target, only the place of this run is not there, or gone.
          const sent: Sent | undefined = result.success
          const isOfToken = sent.isPlaceHidden === true && hasFixedPlace(destination)
          const isThere = http_status !== 404 && http_status !== 410
          const isOfTarget = isOfRun || (hasPlaces(destination) && !isOfToken && !isThere)
          const saysNothing = isBusy || (isChosenByCallers(destination) && !isOfToken && isRefusal(sent))
          const hasButtons = message.buttons.length > 0
          return { attempt: attempt as DeliveryAttempt, answer: sent, hasButtons, saysNothing, isOfTarget }
        })

      /** The attempt for an event that cannot be sent. */
      const notSent = ({ reason }: EventBody.Unfillable): Effect.Effect<DeliveryAttempt> =>
        Effect.map(DateTime.now, (at) => ({ at, duration_ms: 0, error: reason }))

      const outcomeOf = (due: DueDelivery): Effect.Effect<string | undefined, EventBody.Unfillable> =>
        due.written === undefined || !("run" in due)
          ? Effect.succeed(undefined)
          : outcomes.of(due.run, due.event).pipe(
              Effect.catchTag("NotFound", () => Effect.succeed(undefined)),
              Effect.mapError(({ _tag }) => ({ reason: _tag, isPassing: true }))
            )

      const attemptOnce = Effect.fn("Outbox.attempt")(function* (due: DueDelivery) {
        const { destination, id, made, written } = due
        const resultOf = (result: Pick<AttemptResult, "attempt" | "next"> & Partial<AttemptResult>): AttemptResult => ({
          ...{ id, destination_id: destination.id, isGone: false },
          ...result
        })
        const body = yield* Effect.result(
          Effect.flatMap(inThread(due), (destination) =>
            Effect.zipWith(bodies.of(destination, due), outcomeOf(due), (body, outcome) => ({ ...body, outcome }))
          )
        )
        if (Result.isFailure(body)) {
          const attempt = yield* notSent(body.failure)
          const pause = body.failure.isPassing
            ? Attempts.pauseAfter(made + 1, { random: yield* Random.next })
            : undefined
          const next = pause === undefined ? "failed" : { next_attempt_at: DateTime.addDuration(attempt.at, pause) }
          return resultOf({ attempt, next, isOfRun: true })
        }
        const { answer, attempt, hasButtons, isOfTarget, saysNothing } = yield* sendOnce(
          destination,
          { id, ...body.success, written },
          due
        )
        if (attempt.error === undefined) {
          return resultOf({
            attempt,
            next: "delivered",
            ...(answer?.chat && { message: answer.chat, hasButtons })
          })
        }
        if (isOfTarget) return resultOf({ attempt, next: "failed", isOfRun: true })
        const random = yield* Random.next
        const now = yield* DateTime.now
        const pause = Attempts.pauseAfter(made + 1, { random, retryAfter: answer?.retryAfter })
        const isGone = answer?.http_status === 410
        const next =
          pause === undefined || isGone || answer?.isFinal
            ? ("failed" as const)
            : { next_attempt_at: DateTime.addDuration(now, pause) }
        // A URL chosen by one caller must not disable the destination for others.
        if (saysNothing || kindOf(destination.kind).isOfRuns) return resultOf({ attempt, next, isOfRun: true })
        const pausedUntil = Attempts.pausedUntil(destination.failing_since ?? attempt.at, now, answer?.retryAfter)
        return resultOf({ attempt, isGone, next, pausedUntil })
      })

      /** A written message that only keeps its buttons is no failed delivery. */
      const attempt = Effect.fnUntraced(function* (due: DueDelivery) {
        const result = yield* attemptOnce(due)
        if (due.written === undefined || result.next !== "failed") return counted(result)
        yield* Effect.logInfo(`The buttons of a message in Slack could not be removed: ${result.attempt.error}`)
        return counted({ ...result, next: "delivered", isGone: false, isOfRun: true })
      })

      const test = Effect.fn("Outbox.test")(function* (destination: DestinationRow, about: Tested) {
        const subject = { ...tested(about), isTest: true }
        const body = yield* Effect.result(bodies.of(destination, subject))
        if (Result.isFailure(body)) return yield* notSent(body.failure)
        return (yield* sendOnce(destination, { id: `test_${randomUUID()}`, ...body.success }, subject)).attempt
      })

      return Outbox.of({
        attempt,
        test,
        faultOfTemplate: bodies.faultOfTemplate
      })
    })
  )
}

const tested = (about: Tested): Subject => {
  if ("alert" in about) return { ...about, event: "alert.firing" }
  const { status } = about.run
  return { ...about, event: isFinal(status) ? eventOfStatus[status] : runEndEvents[0] }
}

/** The request's secrets that answers may repeat. The URL is one only if each run has its own. */
const secretsIn = ({ kind }: DestinationRow, target: string, access: Access | undefined): ReadonlyArray<string> => [
  ...(access?.secrets.flatMap((secret) => [secret, secret.replace(/^whsec_/, ""), ...Scrub.secretsOfUrl(secret)]) ??
    []),
  ...Object.values(access?.headers ?? {}).flatMap(Scrub.secretsOfHeader),
  ...(kindOf(kind).isOfRuns ? Scrub.secretsOfUrl(target) : [])
]

/** By the time, as IDs of runs are. */
const orderOf = (subject: Subject, now: DateTime.Utc): string => {
  if ("run" in subject) return subject.run.run_id
  const hex = DateTime.toEpochMillis(timeOf(subject) ?? now)
    .toString(16)
    .padStart(12, "0")
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

const hasPlaces = ({ kind }: DestinationRow): boolean => {
  const { target } = kindOf(kind)
  return kind === "callback" || (target !== undefined && target.isFixed !== true)
}

/** The repository, project or channel is the same for all runs: no caller can name one that does not exist. */
const hasFixedPlace = ({ kind, target = "" }: DestinationRow): boolean =>
  (kind === "slack-message" ? /^[^{]*(\/|$)/ : /^[^{]*[#!]/).test(target)

/** Callers choose at least a part of the place. */
const isChosenByCallers = (destination: DestinationRow): boolean =>
  hasPlaces(destination) && /\{[{%]/.test(destination.target ?? "")

/** The service refused this place. It accepts the token, and asked for no pause. */
const isRefusal = ({ http_status, isOfPlace, retryAfter }: Sent): boolean =>
  isOfPlace === true ||
  (http_status >= 400 && http_status < 500 && http_status !== 401 && http_status !== 429 && retryAfter === undefined)

/** Why an answer with this status is no success. */
const faultOfStatus = (status: number): string | undefined => {
  if (status >= 200 && status < 300) return undefined
  if (status >= 300 && status < 400) return `answered ${status}; redirects are not followed`
  return `answered ${status}`
}

const counted = (result: AttemptResult): AttemptResult => {
  const outcome = typeof result.next === "object" ? "retry" : result.next
  Metrics.record(attempts, 1, { outcome })
  return result
}

const attempts = Metric.counter("webhook_delivery_attempts_total", {
  description: "Attempts to send an event to a destination, by what came of them.",
  incremental: true
})
