/**
 * The group `trigger` of the API: `POST /webhook/trigger/:token`, and a caller's view of a run, which `Location` points at.
 * The same routes also exist with the token in a header. Written by hand, for speed and for the exact order of the checks.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import {
  type HttpApiEndpoint,
  type HttpApiGroup,
  HttpLayerRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse
} from "@effect/platform"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { DateTime, Effect, Either, FiberRef, Option, Redacted, Schema } from "effect"
import { CallersRun, type Trigger as TriggerGroup } from "../../api/run/Trigger.ts"
import { triggerPath, triggerUrl } from "../../api/run/TriggerUrl.ts"
import {
  type BodyTooLarge,
  type InvalidBody,
  type InvalidParameter,
  type InvalidVariables,
  MethodNotAllowed,
  type NotVerified,
  type Unavailable,
  type UnsupportedMediaType
} from "../../domain/Errors.ts"
import type { IncomingRequest } from "../../domain/request/IncomingRequest.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { type Submitted, Trigger, type TriggerRequest } from "../../engine/accept/Trigger.ts"
import { Cancellation } from "../../engine/manage/Cancellation.ts"
import { keepsAccepted } from "../../engine/manage/KeptRequest.ts"
import { isOpenedByOldToken, Requests } from "../../engine/manage/Requests.ts"
import * as Input from "../../engine/prompt/Input.ts"
import { Settings } from "../../engine/Settings.ts"
import * as Verification from "../../engine/verify/Verification.ts"
import * as TraceContext from "../../telemetry/TraceContext.ts"
import { bearerOf } from "../access/Bearer.ts"
import * as Body from "../request/Body.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { patternOf } from "../request/ExactPath.ts"
import * as Parameters from "../request/Parameters.ts"
import * as Problems from "../request/Problems.ts"
import { mountedAt, PublicUrl } from "../request/PublicUrl.ts"
import * as RequestFacts from "../request/RequestFacts.ts"
import * as RequestLog from "../request/RequestLog.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as Unmatched from "../request/Unmatched.ts"
import { BodyBudget } from "./BodyBudget.ts"
import * as Sender from "./CallerCheck.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Intake from "./PartialBody.ts"
import * as RunAnswer from "./RunAnswer.ts"

type Request = HttpServerRequest.HttpServerRequest

type ErrorOf<Name extends string> =
  | HttpApiGroup.HttpApiGroup.Error<typeof TriggerGroup>
  | HttpApiEndpoint.HttpApiEndpoint.ErrorWithName<HttpApiGroup.HttpApiGroup.Endpoints<typeof TriggerGroup>, Name>

/** An endpoint may fail with what the API's definition declares for it, nothing else. */
type Answer<Name extends string> = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  Problems.RefusalWith<ErrorOf<Name>["status"]>
>

const encodeRun = Schema.encodeSync(CallersRun)

const callersRun = (run: Run): CallersRun => {
  const { run_id, status, started_at, finished_at, duration_ms, conversation, error, retry_at, retried_by } = run
  const { response } = conversation
  return {
    run_id,
    status,
    ...(started_at !== undefined && { started_at }),
    ...(finished_at !== undefined && { finished_at }),
    ...(duration_ms !== undefined && { duration_ms }),
    ...(response !== undefined && { response }),
    ...(error !== undefined && { error }),
    ...(retry_at !== undefined && { retry_at }),
    ...(retried_by !== undefined && { retried_by })
  }
}

/**
 * `Location` may contain the token. On a Node server it bypasses Effect's response, whose headers a host may write into its
 * spans and logs.
 */
const withLocation = (request: Request, response: HttpServerResponse.HttpServerResponse, location: string) => {
  if (Body.nodeRequest(request) === undefined) return HttpServerResponse.setHeader(response, "location", location)
  NodeHttpServerRequest.toServerResponse(request).setHeader("location", location)
  return response
}

/** The caller's trace, if the request names one. */
const traceOf = ({ headers: { traceparent } }: Request): Pick<TriggerRequest, "traceparent"> =>
  traceparent !== undefined && TraceContext.parse(traceparent) !== undefined ? { traceparent } : {}

/** A request as this webhook takes it. */
interface ReadRequest extends Pick<TriggerRequest, "idempotency" | "variables" | "wait"> {
  readonly _tag: "Read"
  readonly webhook: WebhookRow
  readonly incoming: IncomingRequest
  /** Its acceptance is answered with the webhook's own text. */
  readonly isReplied: boolean
}

/** The token in the path; if there is none, the token in the header. */
const tokenOf = (request: Request, inPath: string | undefined): string | undefined => inPath ?? bearerOf(request)

type Handshake = Extract<Sender.Shown, { readonly _tag: "Handshake" }>

type InputRefused =
  | UnsupportedMediaType
  | BodyTooLarge
  | InvalidBody
  | InvalidParameter
  | InvalidVariables
  | NotVerified
  | Unavailable

const countRefused = (refusal: Problems.Refusal): void => {
  if (refusal._tag === "NotVerified") Verification.countRefused(refusal.why)
}

/** The endpoints without their routes. */
const makeEndpoints = Effect.gen(function* () {
  const trigger = yield* Trigger
  const cancellation = yield* Cancellation
  const settings = yield* Settings
  const proxies = yield* TrustedProxies
  const budget = yield* BodyBudget
  const requests = yield* Requests
  const clock = yield* Effect.clock
  const mount = mountedAt(yield* PublicUrl)

  const sender = yield* Sender.make

  /** Why the request may not use the webhook; without its body, as far as can be said without that. */
  const refusalOf = (request: Request, webhook: WebhookRow, at: DateTime.Utc, body?: Uint8Array) => {
    const checked = sender.check(request, webhook, at.epochMillis, body)
    return Sender.isRefusal(checked) ? checked : undefined
  }

  /** The webhook that the request may use, as it is now. */
  const verify = Effect.fnUntraced(function* (
    request: Request,
    token: string | undefined,
    at: DateTime.Utc,
    body?: Uint8Array
  ) {
    const webhook = yield* trigger.authenticate(Redacted.make(token ?? ""))
    RequestFacts.add(request, { webhook_id: webhook.id })
    const refusal = refusalOf(request, webhook, at, body)
    if (refusal === undefined) return webhook
    if (refusal._tag === "Unavailable") {
      yield* Effect.logError("No key that this server has decrypts the secret of the webhook (SECRETS_KEY)").pipe(
        Effect.annotateLogs({ webhook_id: webhook.id })
      )
    }
    return yield* refusal
  })

  /** The same for requests that are not recorded. Whatever is signed of them is an empty body. */
  const verifyEmpty = (request: Request, token: string | undefined) =>
    Effect.tapError(
      Effect.flatMap(DateTime.now, (now) => verify(request, token, now, new Uint8Array())),
      (refusal) => Effect.sync(() => countRefused(refusal))
    )

  const recordToken = (request: Request, webhook: WebhookRow): void => {
    if (isOpenedByOldToken(webhook)) requests.recordOldToken(webhook, clientAddress(proxies, request))
  }

  /** What is checked of a request once its body was received, one after the other. */
  const readInput = (
    request: Request,
    webhook: WebhookRow,
    incoming: IncomingRequest,
    shown: Sender.Shown
  ): Either.Either<ReadRequest, InputRefused> =>
    Either.flatMap(Input.read(webhook, incoming), (variables) =>
      Either.flatMap(Parameters.wait(request), (wait) => {
        const delivery = Sender.idempotencyOf(shown)
        const keyed = delivery === undefined ? Idempotency.read(request, webhook, variables) : Either.right(delivery)
        const isReplied = shown._tag === "Verified" && shown.isReplied
        return Either.map(keyed, (idempotency) => ({
          _tag: "Read" as const,
          ...{ webhook, incoming, variables, wait, isReplied },
          ...idempotency
        }))
      })
    )

  const incomingOf = (request: Request, token: string | undefined, body: Uint8Array): IncomingRequest => ({
    token,
    body,
    headers: request.headers,
    search: Parameters.search(request)
  })

  const receive = (request: Request, token: string | undefined, intake: Intake.Intake) =>
    Effect.map(Body.readBytes(request, { limit_bytes: settings.maxBody, intake }), (body) =>
      incomingOf(request, token, body)
    )

  /** For whoever manages the webhook. What the server cannot do now is no fault of the call. */
  const recordRefused = (
    request: Request,
    token: string | undefined,
    webhook: WebhookRow,
    { bytes, head }: Intake.Intake,
    received_at: DateTime.Utc,
    refusal: Problems.Refusal,
    isVerified: boolean,
    incoming: IncomingRequest | undefined
  ): void => {
    countRefused(refusal)
    const { code, detail, status } = Problems.of(refusal)
    if (status === 404 || status >= 500) return
    const size = Math.max(Number(request.headers["content-length"]) || 0, bytes)
    const client_address = clientAddress(proxies, request)
    const received = incoming ?? (head && incomingOf(request, token, head))
    requests.recordRefused(webhook, {
      ...{ received_at, status, code, client_address, size },
      detail: refusal._tag === "NotVerified" ? Sender.causeTexts[refusal.why] : detail,
      // Of a stranger nothing is kept.
      ...(isVerified && received !== undefined && { incoming: received })
    })
  }

  const recordAccepted = (
    request: Request,
    { incoming, webhook }: ReadRequest,
    received_at: DateTime.Utc,
    submitted: Submitted,
    status: number
  ): void => {
    const isIgnored = submitted._tag === "Ignored"
    const run_id = isIgnored ? undefined : submitted._tag === "Ended" ? submitted.run.run_id : submitted.run_id
    requests.recordAccepted(webhook, {
      ...{ received_at, status, incoming, size: incoming.body.length },
      code: isIgnored ? "ignored" : "accepted",
      detail: isIgnored ? "`accept_if` does not hold." : "",
      client_address: clientAddress(proxies, request),
      ...(run_id !== undefined && { run_id })
    })
  }

  /** A request with several faults is refused for the first: the order of the steps is part of the contract. */
  const post = (request: Request, inPath: string | undefined): Answer<"trigger"> =>
    Effect.suspend(() => {
      const token = tokenOf(request, inPath)
      const received_at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
      if (request.method !== "POST") return new MethodNotAllowed({ allow: "POST" })
      return Effect.flatMap(trigger.authenticate(Redacted.make(token ?? ""), { recent: true }), (recent) =>
        postTo(recent, request, { token, inPath }, received_at)
      )
    })

  const postTo = (
    recent: WebhookRow,
    request: Request,
    { token, inPath }: { readonly token: string | undefined; readonly inPath: string | undefined },
    received_at: DateTime.Utc
  ): Answer<"trigger"> => {
    RequestFacts.add(request, { webhook_id: recent.id })
    recordToken(request, recent)
    const intake = Intake.make(request, recent, budget)
    let isVerified = recent.verification === undefined
    let incoming: IncomingRequest | undefined
    const record = (refusal: Problems.Refusal) =>
      Effect.sync(() => recordRefused(request, token, recent, intake, received_at, refusal, isVerified, incoming))
    const verifyAgain = (body?: Uint8Array) => Effect.tapError(verify(request, token, received_at, body), record)

    const readAs = (
      webhook: WebhookRow,
      incoming: IncomingRequest
    ): Either.Either<ReadRequest | Handshake, InputRefused> => {
      const shown = sender.check(request, webhook, received_at.epochMillis, incoming.body)
      isVerified = !Sender.isRefusal(shown)
      if (Sender.isRefusal(shown)) return Either.left(shown)
      requests.recordVerified(webhook)
      return shown._tag === "Handshake" ? Either.right(shown) : readInput(request, webhook, incoming, shown)
    }
    const received = () =>
      incoming === undefined
        ? Effect.map(receive(request, token, intake), (read) => (incoming = read))
        : Effect.succeed(incoming)
    // What has to be verified by its body is, before anything else is said of it.
    const mediaTypeFault = (webhook: WebhookRow) =>
      webhook.verification === undefined ? Input.mediaTypeFault(webhook, request.headers) : undefined
    const read = (webhook: WebhookRow): Effect.Effect<ReadRequest | Handshake, InputRefused> =>
      mediaTypeFault(webhook) ?? Effect.flatMap(received(), (incoming) => readAs(webhook, incoming))

    // What the webhook refuses as it is remembered, it may take as it is now; and a token that is no longer valid is refused
    // before any fault of the request. A body that could not be received is not read again.
    const readAgain = (known: WebhookRow, refusal: InputRefused) =>
      Effect.flatMap(verifyAgain(incoming?.body), (current) =>
        refusal._tag !== "NotVerified" &&
        (current.input === known.input || (incoming === undefined && refusal._tag !== "UnsupportedMediaType"))
          ? Effect.zipRight(record(refusal), Effect.fail(refusal))
          : Effect.tapError(read(current), record)
      )
    const submit = (input: ReadRequest | Handshake): Answer<"trigger"> => {
      if (input._tag === "Handshake") return Effect.succeed(Sender.handshakeAnswer(input))
      const submitted = trigger.trigger(input.webhook, {
        ...input,
        received_at,
        refusedBy: (webhook) => refusalOf(request, webhook, received_at, input.incoming.body),
        ...traceOf(request)
      })
      return Effect.map(Effect.tapError(submitted, record), (submitted) => answerOf(input, submitted))
    }
    const answerOf = (input: ReadRequest, submitted: Submitted) => {
      const answer = RunAnswer.ofRun(request, submitted)
      if (keepsAccepted(input.webhook)) recordAccepted(request, input, received_at, submitted, answer.status)
      if (submitted._tag === "Accepted" && input.isReplied) return Sender.replyTo(input.webhook)
      return submitted._tag === "Accepted"
        ? withLocation(request, answer, `${triggerUrl(mount, inPath)}/runs/${submitted.run_id}`)
        : answer
    }

    const known = refusalOf(request, recent, received_at) === undefined ? Effect.succeed(recent) : verifyAgain()
    return Effect.flatMap(known, (known) => {
      const fault = mediaTypeFault(known)
      const again = (refusal: InputRefused) => Effect.flatMap(readAgain(known, refusal), submit)
      if (fault !== undefined) return again(fault)
      return Effect.matchEffect(received(), {
        onFailure: again,
        onSuccess: (incoming) => {
          const input = readAs(known, incoming)
          return Either.isRight(input) ? submit(input.right) : again(input.left)
        }
      })
    })
  }

  const show = Effect.fnUntraced(function* (request: Request, inPath: string | undefined, run_id = "") {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return yield* new MethodNotAllowed({ allow: "GET, HEAD" })
    }
    const webhook = yield* verifyEmpty(request, tokenOf(request, inPath))
    recordToken(request, webhook)
    const id = yield* Parameters.runId(run_id)
    const wait = yield* Parameters.wait(request)
    const run = yield* trigger.run(webhook, id, { wait })
    RequestFacts.add(request, { run_id: run.run_id })
    return HttpServerResponse.unsafeJson(encodeRun(callersRun(run)))
  }) satisfies (...args: ReadonlyArray<any>) => Answer<"run">

  const cancel = Effect.fnUntraced(function* (request: Request, inPath: string | undefined, run_id = "") {
    if (request.method !== "POST") return yield* new MethodNotAllowed({ allow: "POST" })
    const webhook = yield* verifyEmpty(request, tokenOf(request, inPath))
    RequestFacts.add(request, { webhook_id: webhook.id })
    const id = yield* Parameters.runId(run_id)
    yield* trigger.run(webhook, id, { wait: false })
    RequestFacts.add(request, { run_id: id })
    return HttpServerResponse.unsafeJson(encodeRun(callersRun(yield* cancellation.cancel(id))))
  }) satisfies (...args: ReadonlyArray<any>) => Answer<"cancel">

  return { post, show, cancel }
})

const postRoute = `${triggerPath}/:token` as const
/** For requests with the token in a header. */
const headerRoute = triggerPath

/** A path's parameters, and the request. */
const parts = Effect.all([HttpServerRequest.HttpServerRequest, HttpLayerRouter.params])

export const layer = HttpLayerRouter.addAll(
  Effect.map(makeEndpoints, ({ post, show, cancel }) =>
    ([postRoute, headerRoute] as const).flatMap((postRoute) => {
      const showRoute = `${postRoute}/runs/:run_id` as const
      const cancelRoute = `${showRoute}/cancel` as const
      return [
        ...Unmatched.anyMethod(
          postRoute,
          RequestLog.observe(
            postRoute,
            Effect.flatMap(parts, ([request, { token }]) => post(request, token))
          )
        ),
        ...Unmatched.anyMethod(
          showRoute,
          RequestLog.observe(
            showRoute,
            Effect.flatMap(parts, ([request, { token, run_id }]) => show(request, token, run_id))
          )
        ),
        ...Unmatched.anyMethod(
          cancelRoute,
          RequestLog.observe(
            cancelRoute,
            Effect.flatMap(parts, ([request, { token, run_id }]) => cancel(request, token, run_id))
          )
        )
      ]
    })
  )
)

/**
 * `POST /webhook/trigger/:token`, and the same without the token in the path, straight from a Node server. It bypasses
 * Effect's server and router, which do as much work for a request as the engine does for a run. `false`: the request is not
 * for this, and is the router's. It takes what has a body of a known, allowed length; not while spans are collected, which
 * Effect's server begins.
 */
export type DirectHandler = (request: IncomingMessage, response: ServerResponse) => boolean

export const makeDirectHandler: Effect.Effect<
  DirectHandler,
  never,
  BodyBudget | Cancellation | Requests | Settings | Trigger
> = Effect.gen(function* () {
  const { post } = yield* makeEndpoints
  const { maxBody } = yield* Settings
  const [withToken, withoutToken] = [patternOf(postRoute), patternOf(headerRoute)]
  const isTraced = yield* FiberRef.get(FiberRef.currentTracerEnabled)
  const observe = yield* RequestLog.makeDirect

  return (source, response) => {
    if (isTraced || source.method !== "POST" || !(Number(source.headers["content-length"]) <= maxBody)) return false
    const token = withToken.exec(source.url!)?.[1]
    if (token === undefined && !withoutToken.test(source.url!)) return false
    // What the endpoint reads of a request, as Effect's own for Node has it.
    const { headers, method, url } = source
    const remoteAddress = Option.fromNullable(source.socket.remoteAddress)
    const request = { headers, method, remoteAddress, response, source, url } as unknown as Request
    const fiber = observe(token === undefined ? headerRoute : postRoute, request, post(request, token), (answer) =>
      write(response, answer)
    )
    response.once("close", () => {
      if (!response.writableEnded) fiber.unsafeInterruptAsFork(HttpServerError.clientAbortFiberId)
    })
    return true
  }
})

/** The endpoint's bodies are all in memory. */
const write = (response: ServerResponse, { body, headers, status }: HttpServerResponse.HttpServerResponse): void => {
  response.writeHead(status, headers)
  response.end(body._tag === "Uint8Array" ? body.body : undefined)
}
