/** `POST /webhook/trigger/:token`: starts a run and, with `wait`, answers with its end or with its events. */

import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Clock, DateTime, Effect, Redacted, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { triggerUrl } from "../../api/run/TriggerUrl.ts"
import { MethodNotAllowed, type NotFound, type NotVerified, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { type Submitted, startedRunOf } from "../../domain/run/Submitted.ts"
import type { OpenedWebhook } from "../../domain/webhook/Webhook.ts"
import { SlackActions } from "../../engine/slack/SlackActions.ts"
import type { Offered, Undecided } from "../../engine/trigger/Offers.ts"
import { Trigger } from "../../engine/trigger/Trigger.ts"
import { SnsRequests } from "../../engine/verify/SnsRequests.ts"
import { bearerOf } from "../access/Bearer.ts"
import type { Format } from "../events/EventRequest.ts"
import { RunEvents } from "../events/RunEvents.ts"
import * as Body from "../request/Body.ts"
import * as Problems from "../request/Problems.ts"
import { mountedAt, PublicUrl } from "../request/PublicUrl.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import type { Answer } from "./Answer.ts"
import * as CallerCheck from "./CallerCheck.ts"
import * as RequestReader from "./RequestReader.ts"
import * as RequestRecord from "./RequestRecord.ts"
import * as RunAnswer from "./RunAnswer.ts"

type Request = HttpServerRequest.HttpServerRequest

/**
 * `Location` may contain the token. On a Node server it bypasses Effect's response, whose headers a host may write into its
 * spans and logs.
 */
const withLocation = (request: Request, response: HttpServerResponse.HttpServerResponse, location: string) => {
  if (Body.nodeRequest(request) === undefined) return HttpServerResponse.setHeader(response, "location", location)
  NodeHttpServerRequest.toServerResponse(request).setHeader("location", location)
  return response
}

type Response = HttpServerResponse.HttpServerResponse

/** Where a request comes from. */
interface Source {
  readonly request: Request
  /** The token, if it is in the path. */
  readonly inPath: string | undefined
  readonly token: string | undefined
  readonly received_at: DateTime.Utc
}

/** A request that started a run, or was ignored. */
type Started = Source & {
  readonly read: RequestReader.ReadRequest
  readonly submitted: Submitted
  /** The results at the webhooks that share the URL. */
  readonly others: Problems.OfOthers
}

/** The token was right, and the webhook that it opens refuses the request for itself. */
const isOfWebhook = (refusal: {
  readonly _tag: string
  readonly what?: unknown
  readonly is_of_slack?: true
}): boolean => refusal._tag !== "NotFound" && refusal.what !== "database" && refusal.is_of_slack !== true

/** Starts a run. The token is in the path, or else in the header. */
export const make = Effect.gen(function* () {
  const trigger = yield* Trigger
  const slack = yield* SlackActions
  const clock = yield* Clock.Clock
  const mount = mountedAt(yield* PublicUrl)
  const readerFor = yield* RequestReader.make
  const record = yield* RequestRecord.make
  const events = yield* RunEvents
  const callers = yield* CallerCheck.CallerCheck
  const sns = yield* SnsRequests

  const locationOf = (inPath: string | undefined, run_id: RunId) => `${triggerUrl(mount, inPath)}/runs/${run_id}`

  const withKeyStatus = ({ ignoresKey }: RequestReader.ReadRequest, response: Response): Response =>
    ignoresKey ? HttpServerResponse.setHeader(response, "idempotency-key-status", "ignored") : response

  const answerTo = ({ inPath, others, read, request, submitted }: Started): Response => {
    const answer = withKeyStatus(read, RunAnswer.ofRun(request, submitted, others))
    record.accepted(request, read, submitted, answer.status)
    // A command that only another webhook takes has this answer as well.
    const isTaken = submitted._tag === "Accepted" || others.runs !== undefined || others.pending !== undefined
    if (read.reply && isTaken) return CallerCheck.replyTo(read.webhook, read.reply)
    return submitted._tag === "Accepted" ? withLocation(request, answer, locationOf(inPath, submitted.run_id)) : answer
  }

  /** The run is accepted: it continues even if it cannot be followed now. */
  const follow = ({ inPath, read, request, submitted }: Started, run_id: RunId, format: Format) => {
    RequestFacts.add(request, { run_id })
    return trigger.follow(read.webhook, run_id).pipe(
      Effect.mapError((error) => (error._tag === "Unavailable" ? new Unavailable({ ...error, run_id }) : error)),
      Effect.map((updates) => {
        const response = withKeyStatus(read, events.respond(updates, format))
        record.accepted(request, read, submitted, response.status)
        return withLocation(request, response, locationOf(inPath, run_id))
      })
    )
  }

  /** Offers a request to the webhooks that share the URL, once; then, how its own webhook's answer describes that. */
  const makeShare = (request: Request) => {
    let begun: Effect.Effect<ReadonlyArray<Offered | Undecided>> | undefined
    const begin = (read: RequestReader.ReadRequest) =>
      Effect.suspend(() =>
        begun === undefined
          ? Effect.map(trigger.offer(read.webhook, read, record.shared(request, read)), (decided) => (begun = decided))
          : Effect.succeed(begun)
      )
    const others = (read: RequestReader.ReadRequest, run_id?: RunId) =>
      Effect.map(Effect.flatten(begin(read)), (offered) =>
        RunAnswer.ofOthers(run_id === undefined ? undefined : { webhook_id: read.webhook.id, run_id }, offered)
      )
    return { begin, others }
  }

  const start = <E, R>(
    webhook: OpenedWebhook,
    source: Source,
    respond: (started: Started) => Effect.Effect<Response, E, R>
  ) => {
    const { received_at, request, token } = source
    RequestFacts.add(request, { webhook_id: webhook.id })
    record.token(request, webhook)
    const reader = readerFor(request, token, received_at, webhook, record.verified)
    const share = makeShare(request)
    /** Others do not wait until the caller has its answer. */
    const read = (webhook: OpenedWebhook) =>
      Effect.map(reader.read(webhook), (read) =>
        read.wait && read.webhook.shared_by !== undefined ? { ...read, onAccepted: share.begin(read) } : read
      )
    return Effect.matchEffect(slack.triggerRead(webhook, read), {
      onSuccess: ({ request: read, submitted }): Effect.Effect<Response, E, R> =>
        read.webhook.shared_by === undefined || (submitted._tag === "Ignored" && submitted.isOfSlack)
          ? respond({ ...source, read, submitted, others: {} })
          : Effect.flatMap(share.others(read, startedRunOf(submitted)), (others) =>
              respond({ ...source, read, submitted, others })
            ),
      onFailure: (refusal) => {
        if (refusal._tag === "Handshake") {
          const answer = Effect.sync(() => CallerCheck.handshakeAnswer(refusal))
          return refusal.confirm === undefined ? answer : Effect.andThen(sns.confirm(refusal.confirm), answer)
        }
        record.refused(request, webhook, received_at, refusal, reader)
        const refused = Effect.andThen(CallerCheck.report(webhook, refusal), Effect.fail(refusal))
        const read = reader.last()
        if (read?.webhook.shared_by === undefined || !isOfWebhook(refusal)) return refused
        return Effect.map(share.others(read), (others) =>
          withKeyStatus(
            read,
            HttpServerResponse.setHeaders(
              Problems.toResponse({ ...Problems.bodyOf(refusal), ...others }),
              Problems.ownHeadersOf(refusal)
            )
          )
        )
      }
    })
  }

  /** Tests of the URL use other methods, and start no run. Any other request is refused, whatever the token. */
  const otherMethod = ({ received_at, request, token }: Source) => {
    const refusal = new MethodNotAllowed({ allow: "POST" })
    if (request.method !== "GET" && request.method !== "HEAD" && request.method !== "OPTIONS") return refusal
    return Effect.matchEffect(trigger.authenticate(Redacted.make(token ?? "")), {
      onFailure: () => refusal,
      onSuccess: (webhook): Effect.Effect<Response, MethodNotAllowed | NotVerified> => {
        const answer = callers.urlCheck(request, webhook)
        if (answer === undefined) return refusal
        RequestFacts.add(request, { webhook_id: webhook.id })
        if (answer._tag === "Handshake") return Effect.succeed(CallerCheck.handshakeAnswer(answer))
        record.refused(request, webhook, received_at, answer, { known: () => undefined, size: () => 0 })
        return Effect.andThen(CallerCheck.report(webhook, answer), answer)
      }
    })
  }

  const authenticated = <E, R>(
    request: Request,
    inPath: string | undefined,
    use: (webhook: OpenedWebhook, source: Source) => Effect.Effect<Response, E, R>
  ): Effect.Effect<Response, E | MethodNotAllowed | NotFound | NotVerified | Unavailable, R> =>
    Effect.suspend((): Effect.Effect<Response, E | MethodNotAllowed | NotFound | NotVerified | Unavailable, R> => {
      const token = inPath ?? bearerOf(request)
      const received_at = DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())
      if (request.method !== "POST") return otherMethod({ request, inPath, token, received_at })
      return Effect.matchEffect(trigger.authenticate(Redacted.make(token ?? ""), { recent: true }), {
        onSuccess: (webhook) => use(webhook, { request, inPath, token, received_at }),
        onFailure: (refusal) => {
          if (refusal._tag === "NotFound") record.notFound(request, refusal, received_at)
          return Effect.fail(refusal)
        }
      })
    })

  const post = (request: Request, inPath: string | undefined): Answer<"trigger"> =>
    authenticated(request, inPath, (webhook, source) =>
      start(webhook, source, (started) => Effect.succeed(answerTo(started)))
    )

  /** The same for a caller that asks for the run's events. */
  const stream = (request: Request, inPath: string | undefined): Answer<"trigger", Scope.Scope> =>
    authenticated(request, inPath, (webhook, source) =>
      Effect.andThen(
        events.enter({ of: "webhook", id: webhook.id }),
        start(webhook, source, (started) => {
          const { read, submitted } = started
          return submitted._tag === "Accepted" && read.events !== undefined
            ? follow(started, submitted.run_id, read.events)
            : Effect.succeed(answerTo(started))
        })
      )
    )

  return { post, stream }
})
