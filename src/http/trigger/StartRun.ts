/** `POST /webhook/trigger/:token`: starts a run and, with `wait`, answers with its end. */
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { DateTime, Effect, Redacted } from "effect"
import { triggerUrl } from "../../api/run/TriggerUrl.ts"
import { MethodNotAllowed } from "../../domain/Errors.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Trigger, type Triggered } from "../../engine/accept/Trigger.ts"
import { bearerOf } from "../access/Bearer.ts"
import * as Body from "../request/Body.ts"
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

/** Starts a run. The token is in the path, or else in the header. */
export const make = Effect.gen(function* () {
  const trigger = yield* Trigger
  const clock = yield* Effect.clock
  const mount = mountedAt(yield* PublicUrl)
  const readerFor = yield* RequestReader.make
  const record = yield* RequestRecord.make

  const answerTo = (
    request: Request,
    inPath: string | undefined,
    { request: read, submitted }: Triggered<RequestReader.ReadRequest>
  ) => {
    const ofRun = RunAnswer.ofRun(request, submitted)
    const answer = read.ignoresKey ? HttpServerResponse.setHeader(ofRun, "idempotency-key-status", "ignored") : ofRun
    record.accepted(request, read, submitted, answer.status)
    if (submitted._tag !== "Accepted") return answer
    return read.reply
      ? CallerCheck.replyTo(read.webhook, read.reply)
      : withLocation(request, answer, `${triggerUrl(mount, inPath)}/runs/${submitted.run_id}`)
  }

  const start = (
    webhook: WebhookRow,
    request: Request,
    { inPath, token }: { readonly inPath: string | undefined; readonly token: string | undefined },
    received_at: DateTime.Utc
  ): Answer<"trigger"> => {
    RequestFacts.add(request, { webhook_id: webhook.id })
    record.token(request, webhook)
    const reader = readerFor(request, token, received_at, webhook, record.verified)
    return Effect.matchEffect(trigger.triggerRead(webhook, reader.read), {
      onSuccess: (triggered) => Effect.succeed(answerTo(request, inPath, triggered)),
      onFailure: (refusal) => {
        if (refusal._tag === "Handshake") return Effect.succeed(CallerCheck.handshakeAnswer(refusal))
        record.refused(request, webhook, received_at, refusal, reader)
        return Effect.zipRight(CallerCheck.report(webhook, refusal), Effect.fail(refusal))
      }
    })
  }

  return (request: Request, inPath: string | undefined): Answer<"trigger"> =>
    Effect.suspend(() => {
      const token = inPath ?? bearerOf(request)
      const received_at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
      if (request.method !== "POST") return new MethodNotAllowed({ allow: "POST" })
      return Effect.flatMap(trigger.authenticate(Redacted.make(token ?? ""), { recent: true }), (webhook) =>
        start(webhook, request, { inPath, token }, received_at)
      )
    })
})
