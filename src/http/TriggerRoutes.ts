/** What callers use: `POST /webhook/trigger/:token`, and the view of a run that `Location` points at. */
import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Clock, Effect, Layer, Redacted, Schema } from "effect"
import { CallersRun } from "../api/Trigger.ts"
import { InvalidBody, MethodNotAllowed, NotFound } from "../domain/Errors.ts"
import { RunId } from "../domain/Id.ts"
import type { Run, Variables } from "../domain/Run.ts"
import { Settings } from "../engine/Settings.ts"
import { type Entry, Trigger, type TriggerRequest } from "../engine/Trigger.ts"
import * as Access from "./Access.ts"
import * as Body from "./Body.ts"
import * as Idempotency from "./Idempotency.ts"
import { mountedAt, PublicUrl } from "./PublicUrl.ts"
import * as Query from "./Query.ts"

type Request = HttpServerRequest.HttpServerRequest

export const path = "/webhook/trigger"

/** The token as it stands in the URL: one that has to be decoded first is none of ours. */
const tokenIn = (request: Request, token: string | undefined) =>
  Redacted.make(token === undefined || request.url.split("?", 1)[0]!.includes("%") ? "" : token)

const isRunId = Schema.is(RunId)
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

/** How the run ended, as the answer to who waited for it. */
const outcome = ({ run_id, status, conversation, error }: Run): HttpServerResponse.HttpServerResponse => {
  switch (status) {
    case "success":
      return HttpServerResponse.unsafeJson({ status, response: conversation.response, run_id })
    case "error":
      return HttpServerResponse.unsafeJson({ status, run_id, error }, { status: 502 })
    default:
      return HttpServerResponse.unsafeJson({ status: "timeout", run_id }, { status: 408 })
  }
}

/**
 * `Location` holds the token. On a Node server it goes past Effect's response, whose headers a host may write into its
 * spans and logs.
 */
const withLocation = (request: Request, response: HttpServerResponse.HttpServerResponse, location: string) => {
  if (Body.nodeRequest(request) === undefined) return HttpServerResponse.setHeader(response, "location", location)
  NodeHttpServerRequest.toServerResponse(request).setHeader("location", location)
  return response
}

export const variablesIn = (body: Readonly<Record<string, unknown>>): Effect.Effect<Variables, InvalidBody> => {
  const variables = Object.hasOwn(body, "variables") ? body.variables : undefined
  return typeof variables === "object" && variables !== null && !Array.isArray(variables)
    ? Effect.succeed(variables as Variables)
    : new InvalidBody({ detail: "`variables` must be an object." })
}

const make = Effect.gen(function* () {
  const router = yield* HttpLayerRouter.HttpRouter
  const trigger = yield* Trigger
  const settings = yield* Settings
  const mount = mountedAt(yield* PublicUrl)

  const send = Effect.fnUntraced(function* (entry: Entry, request: Request, ask: TriggerRequest, wait: boolean) {
    if (wait) {
      const run = yield* trigger.ask(entry, ask)
      yield* Access.about(run.run_id)
      return outcome(run)
    }
    const run_id = yield* trigger.submit(entry, ask)
    yield* Access.about(run_id)
    const accepted = HttpServerResponse.unsafeJson({ status: "accepted", run_id }, { status: 202 })
    const { token } = yield* HttpLayerRouter.params
    return withLocation(request, accepted, `${mount}${path}/${token}/runs/${run_id}`)
  })

  /** The order of the steps is the order in which a request with several faults is told of them. */
  const post = Effect.gen(function* () {
    const received_at = yield* Clock.currentTimeMillis
    const request = yield* HttpServerRequest.HttpServerRequest
    if (request.method !== "POST") return yield* new MethodNotAllowed({ allow: "POST" })
    const { token } = yield* HttpLayerRouter.params
    const entry = yield* trigger.authenticate(tokenIn(request, token))
    const variables = yield* variablesIn(yield* Body.readObject(request, settings.maxBody))
    const wait = yield* Query.wait(request)
    const idempotency = yield* Idempotency.of(request, variables)
    return yield* send(entry, request, { variables, received_at, ...idempotency }, wait)
  })

  const show = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (request.method !== "GET" && request.method !== "HEAD") {
      return yield* new MethodNotAllowed({ allow: "GET, HEAD" })
    }
    const { token, run_id = "" } = yield* HttpLayerRouter.params
    const entry = yield* trigger.authenticate(tokenIn(request, token))
    if (!isRunId(run_id)) return yield* new NotFound()
    const wait = yield* Query.wait(request)
    const run = yield* trigger.run(entry, run_id.toLowerCase() as RunId, { wait })
    yield* Access.about(run.run_id)
    return HttpServerResponse.unsafeJson(encodeRun(callersRun(run)))
  })

  yield* router.add("*", `${path}/:token`, Access.observe(`${path}/:token`, post))
  yield* router.add("*", `${path}/:token/runs/:run_id`, Access.observe(`${path}/:token/runs/:run_id`, show))
})

export const layer = Layer.scopedDiscard(make)
