/** Records requests for the people who manage a webhook. */
import { DateTime, Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { NotFound } from "../../domain/Errors.ts"
import type { Submitted } from "../../domain/run/Submitted.ts"
import { startedRunOf } from "../../domain/run/Submitted.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { storesAccepted } from "../../engine/manage/RequestToStore.ts"
import { isOpenedByOldToken, StoredRequests, type UncodedRequest } from "../../engine/manage/StoredRequests.ts"
import type { Offered } from "../../engine/trigger/Offers.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import * as Problems from "../request/Problems.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as CallerCheck from "./CallerCheck.ts"
import type { ReadRequest, RequestReader } from "./RequestReader.ts"

type Request = HttpServerRequest.HttpServerRequest

export const make = Effect.gen(function* () {
  const proxies = yield* TrustedProxies
  const requests = yield* StoredRequests

  /** Notes that an old token is still in use. */
  const token = (request: Request, webhook: WebhookRow): void => {
    if (isOpenedByOldToken(webhook)) requests.recordOldToken(webhook, clientAddress(proxies, request))
  }

  /** A refusal of a token that would open a webhook if that were enabled. Others name no webhook to record it for. */
  const notFound = (request: Request, { disabled_webhook }: NotFound, received_at: DateTime.Utc): void => {
    if (disabled_webhook === undefined) return
    requests.recordDisabled(disabled_webhook, {
      ...{ received_at, status: 404, size: Number(request.headers["content-length"] ?? 0) },
      client_address: clientAddress(proxies, request)
    })
  }

  /** Server errors are not recorded. */
  const refused = (
    request: Request,
    webhook: WebhookRow,
    received_at: DateTime.Utc,
    refusal: Problems.Refusal,
    { known, size }: Pick<RequestReader, "known" | "size">
  ): void => {
    if (refusal._tag === "NotFound") {
      notFound(request, refusal, received_at)
      return
    }
    const { code, detail, status } = Problems.bodyOf(refusal)
    if (status >= 500) return
    const incoming = known()
    requests.recordRefused(webhook, {
      ...{ received_at, status, code, size: size() },
      client_address: clientAddress(proxies, request),
      detail: refusal._tag === "NotVerified" ? CallerCheck.causeTexts[refusal.why] : detail,
      ...(incoming !== undefined && { incoming })
    })
  }

  type Answered = Omit<UncodedRequest, "status" | "run_id"> & Pick<ReadRequest, "variables">

  const answeredOf = (request: Request, { incoming, received_at, variables }: ReadRequest): Answered => ({
    ...{ received_at, incoming, variables, size: incoming.body.length },
    client_address: clientAddress(proxies, request)
  })

  const acceptedBy = (
    webhook: WebhookRow,
    { variables, ...answered }: Answered,
    submitted: Submitted,
    status: number
  ): void => {
    const run_id = startedRunOf(submitted)
    if (run_id !== undefined && !storesAccepted(webhook)) return
    if (submitted._tag === "Ignored")
      requests.recordIgnored(webhook, { ...answered, status }, variables, submitted.reason)
    else if (run_id !== undefined) requests.recordAccepted(webhook, { ...answered, status, run_id })
  }

  const accepted = (request: Request, read: ReadRequest, submitted: Submitted, status: number): void =>
    acceptedBy(read.webhook, answeredOf(request, read), submitted, status)

  /**
   * For what webhooks that share the URL decide, maybe after the response. A server error is the sharing webhook's own, such as
   * its CPU time that is used up.
   */
  const shared = (request: Request, read: ReadRequest): ((offered: Offered) => void) => {
    const answered = answeredOf(request, read)
    return ({ again_until, result, webhook }) => {
      if (Result.isSuccess(result)) {
        acceptedBy(webhook, answered, result.success, startedRunOf(result.success) === undefined ? 200 : 202)
        return
      }
      const { code, detail, status } = Problems.bodyOf(result.failure)
      const { variables: _, ...request } = answered
      const again = again_until && ` The webhook is offered it again until ${DateTime.formatIso(again_until)}.`
      requests.recordRefused(webhook, { ...request, status, code, detail: `${detail}${again ?? ""}` })
    }
  }

  return { token, notFound, refused, accepted, shared, verified: requests.recordVerified }
})
