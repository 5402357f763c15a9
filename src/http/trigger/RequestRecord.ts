/** Records requests for the people who manage a webhook. */
import type { HttpServerRequest } from "@effect/platform"
import { type DateTime, Effect } from "effect"
import type { NotFound } from "../../domain/Errors.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { Submitted } from "../../engine/accept/Trigger.ts"
import { storesAccepted } from "../../engine/manage/RequestToStore.ts"
import { isOpenedByOldToken, StoredRequests } from "../../engine/manage/StoredRequests.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import * as Problems from "../request/Problems.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as CallerCheck from "./CallerCheck.ts"
import type { ReadRequest, RequestReader } from "./RequestReader.ts"
import { runIdOf } from "./RunAnswer.ts"

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

  const accepted = (
    request: Request,
    { incoming, received_at, variables, webhook }: ReadRequest,
    submitted: Submitted,
    status: number
  ): void => {
    const run_id = runIdOf(submitted)
    if (run_id !== undefined && !storesAccepted(webhook)) return
    const answered = {
      ...{ received_at, status, incoming, size: incoming.body.length },
      client_address: clientAddress(proxies, request)
    }
    if (submitted._tag === "Ignored") requests.recordIgnored(webhook, answered, variables, submitted.reason)
    else if (run_id !== undefined) requests.recordAccepted(webhook, { ...answered, run_id })
  }

  return { token, notFound, refused, accepted, verified: requests.recordVerified }
})
