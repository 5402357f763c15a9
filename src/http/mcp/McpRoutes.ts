/**
 * `/mcp`: the Model Context Protocol over HTTP. Webhooks are tools for AI assistants. Stateless, so any replica answers any
 * request.
 */
import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { eventStream } from "../../api/run/EventStream.ts"
import { InvalidBody, NotAcceptable, Unavailable } from "../../domain/Errors.ts"
import * as Json from "../../domain/Json.ts"
import { Origin } from "../../engine/access/Audit.ts"
import { Settings } from "../../engine/Settings.ts"
import { isAmong } from "../events/EventRequest.ts"
import { ServerFacts } from "../manage/ServerFacts.ts"
import * as Body from "../request/Body.ts"
import * as RequestLog from "../request/RequestLog.ts"
import { originOf } from "../request/RequestOrigin.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as AllowedOrigins from "./AllowedOrigins.ts"
import * as Callers from "./Callers.ts"
import * as ProtectedResource from "./ProtectedResource.ts"
import * as Protocol from "./Protocol.ts"
import * as Runs from "./Runs.ts"

const route = ProtectedResource.path

/** Loaded by the first request: most servers have no assistants, and it takes a tenth of a second. */
const loadSdk = () => import("@modelcontextprotocol/server")

/** Several messages, which only the revision 2025-03-26 had. A small body could ask for any amount of work. */
const isBatch = (body: Uint8Array): boolean => body.find((byte) => byte > 0x20 && byte < 0x80) === 0x5b

/** With the numbers of a call's arguments as they were written; `undefined`: the SDK says what is wrong. */
const parse = (body: Uint8Array): unknown =>
  Option.liftThrowable(() => Json.withPlainNumbers(Json.parse(new TextDecoder().decode(body)), ["arguments"]))().pipe(
    Option.getOrUndefined
  )

/** The response's last message, for a client that takes no events: `*\/*`, `application/json`, or no `Accept`. */
const asJson = async (response: Response): Promise<Response> => {
  if (!response.headers.get("content-type")?.startsWith(eventStream)) return response
  const messages = [...(await response.text()).matchAll(/^data: ?(\{.*)$/gm)].map(([, message]) => message!)
  const answer = messages.findLast((message) => "id" in JSON.parse(message) && !("method" in JSON.parse(message)))
  return new Response(answer ?? "", { status: response.status, headers: { "content-type": "application/json" } })
}

const acceptable = ["application/json", "application/*", eventStream, "text/*", "*/*"]

const make = Effect.gen(function* () {
  const callerOf = yield* Callers.make
  const { check: checkOrigin } = yield* AllowedOrigins.make
  const { maxBody } = yield* Settings
  const { version } = yield* ServerFacts
  const proxies = yield* TrustedProxies
  const runs = yield* Runs.make
  const context = yield* Effect.context<Effect.Services<ReturnType<typeof runs.start>>>()

  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* checkOrigin(request)
    const caller = yield* callerOf(request)
    if (!isAmong(request.headers.accept ?? "*/*", acceptable)) {
      return yield* new NotAcceptable({ available: `application/json, ${eventStream}` })
    }
    const sdk = yield* Effect.promise(loadSdk)
    const body = request.method === "POST" ? yield* Body.readBytes(request, { limit_bytes: maxBody }) : undefined
    if (body !== undefined && isBatch(body)) return yield* new InvalidBody({ detail: "Send one message at a time." })
    const origin = originOf(proxies, request)
    const exitOf: Protocol.Parts["exitOf"] = (effect, signal) =>
      Effect.runPromiseExitWith(context)(
        effect.pipe(
          Effect.tapDefect((cause) => Effect.logError("A request of an MCP client failed.", cause)),
          Effect.provideService(Origin, origin)
        ),
        { signal }
      )
    const hearsProgress = isAmong(request.headers.accept ?? "", [eventStream, "text/*"])
    const factory = Protocol.make({ sdk, runs, caller, version, exitOf, hearsProgress })
    const response = yield* Effect.tryPromise({
      try: async (signal) => {
        const response = await sdk.createMcpHandler(factory, { maxRequestBodySize: maxBody }).fetch(
          new Request(new URL(route, "http://localhost"), {
            method: request.method,
            headers: { ...(request.headers as Record<string, string>), accept: `application/json, ${eventStream}` },
            signal,
            ...(body !== undefined && { body })
          }),
          body && { parsedBody: parse(body) }
        )
        return hearsProgress || request.method !== "POST" ? response : asJson(response)
      },
      catch: () => new Unavailable({ what: "server", detail: "The request could not be answered." })
    })
    // Whether the connection is kept is up to this server, not to the SDK.
    response.headers.delete("connection")
    return HttpServerResponse.fromWeb(response)
  })
})

export const layer = HttpRouter.addAll(
  Effect.map(Effect.all([make, AllowedOrigins.make]), ([handler, { allow }]) => [
    HttpRouter.route("*", route, allow(handler))
  ])
).pipe(Layer.provide(RequestLog.layer), Layer.merge(ProtectedResource.layer))
