/**
 * The group `trigger` of the API: `POST /webhook/trigger/:token`, and a caller's view of a run, which `Location` points
 * at. Written by hand, for speed and for the exact order of the checks.
 */
import {
  type HttpApiEndpoint,
  type HttpApiGroup,
  HttpLayerRouter,
  HttpServerRequest,
  HttpServerResponse
} from "@effect/platform"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { DateTime, Effect, Either, Layer, Redacted, Schema } from "effect"
import { CallersRun, type Trigger as TriggerGroup } from "../api/Trigger.ts"
import { triggerPath, triggerUrl } from "../api/TriggerUrl.ts"
import { MethodNotAllowed } from "../domain/Errors.ts"
import type { Run } from "../domain/Run.ts"
import { Settings } from "../engine/Settings.ts"
import { Trigger } from "../engine/Trigger.ts"
import * as Body from "./Body.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Parameters from "./Parameters.ts"
import type * as Problems from "./Problems.ts"
import { mountedAt, PublicUrl } from "./PublicUrl.ts"
import * as RequestLog from "./RequestLog.ts"
import * as RunAnswer from "./RunAnswer.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The token as the URL spells it. A percent-encoded one is not accepted. */
const tokenIn = (request: Request, token: string | undefined) =>
  Redacted.make(token === undefined || request.url.split("?", 1)[0]!.includes("%") ? "" : token)

type ErrorOf<Name extends string> =
  | HttpApiGroup.HttpApiGroup.Error<typeof TriggerGroup>
  | HttpApiEndpoint.HttpApiEndpoint.ErrorWithName<HttpApiGroup.HttpApiGroup.Endpoints<typeof TriggerGroup>, Name>

/** The handler of an endpoint. It may fail with what the API's definition declares for that endpoint, nothing else. */
type Handler<Name extends string> = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  Problems.RefusalWith<ErrorOf<Name>["status"]>,
  HttpServerRequest.HttpServerRequest | HttpLayerRouter.RouteContext
>

const encodeRun = Schema.encodeSync(CallersRun)

const callersRun = (run: Run): CallersRun => {
  const { run_id, status, started_at, finished_at, duration_ms, conversation, error } = run
  const { response } = conversation
  return {
    run_id,
    status,
    ...(started_at !== undefined && { started_at }),
    ...(finished_at !== undefined && { finished_at }),
    ...(duration_ms !== undefined && { duration_ms }),
    ...(response !== undefined && { response }),
    ...(error !== undefined && { error })
  }
}

/**
 * `Location` contains the token. On a Node server it bypasses Effect's response, whose headers a host may write into its
 * spans and logs.
 */
const withLocation = (request: Request, response: HttpServerResponse.HttpServerResponse, location: string) => {
  if (Body.nodeRequest(request) === undefined) return HttpServerResponse.setHeader(response, "location", location)
  NodeHttpServerRequest.toServerResponse(request).setHeader("location", location)
  return response
}

const make = Effect.gen(function* () {
  const router = yield* HttpLayerRouter.HttpRouter
  const trigger = yield* Trigger
  const settings = yield* Settings
  const clock = yield* Effect.clock
  const mount = mountedAt(yield* PublicUrl)

  /** The webhook that the request may use. Whatever it must show beside the token would be checked here, after it. */
  const verify = (request: Request, token: string | undefined, options?: { readonly recent: boolean }) =>
    trigger.authenticate(tokenIn(request, token), options)

  const readInput = (request: Request) =>
    Effect.flatMap(Body.readVariables(request, settings.maxBody), (variables) =>
      Either.flatMap(Parameters.wait(request), (wait) =>
        Either.map(Idempotency.read(request, variables), (idempotency) => ({ variables, wait, ...idempotency }))
      )
    )

  /** A request with several faults is refused for the first: the order of the steps is part of the contract. */
  const post: Handler<"trigger"> = Effect.gen(function* () {
    const received_at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
    const request = yield* HttpServerRequest.HttpServerRequest
    if (request.method !== "POST") return yield* new MethodNotAllowed({ allow: "POST" })
    const { token } = yield* HttpLayerRouter.params
    const webhook = yield* verify(request, token, { recent: true })
    // A token that is no longer valid is refused before any fault of the request.
    const input = yield* Effect.tapError(readInput(request), () => verify(request, token))
    const submitted = yield* trigger.trigger(webhook, { ...input, received_at })
    const answer = RunAnswer.ofRun(request, submitted)
    return submitted._tag === "Accepted"
      ? withLocation(request, answer, `${triggerUrl(mount, token!)}/runs/${submitted.run_id}`)
      : answer
  })

  const show: Handler<"run"> = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (request.method !== "GET" && request.method !== "HEAD") {
      return yield* new MethodNotAllowed({ allow: "GET, HEAD" })
    }
    const { token, run_id = "" } = yield* HttpLayerRouter.params
    const webhook = yield* verify(request, token)
    const id = yield* Parameters.runId(run_id)
    const wait = yield* Parameters.wait(request)
    const run = yield* trigger.run(webhook, id, { wait })
    RequestLog.setRun(request, run.run_id)
    return HttpServerResponse.unsafeJson(encodeRun(callersRun(run)))
  })

  yield* router.add("*", `${triggerPath}/:token`, RequestLog.observe(`${triggerPath}/:token`, post))
  yield* router.add(
    "*",
    `${triggerPath}/:token/runs/:run_id`,
    RequestLog.observe(`${triggerPath}/:token/runs/:run_id`, show)
  )
})

export const layer = Layer.scopedDiscard(make)
