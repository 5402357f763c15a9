/** Records requests for the people who manage a webhook. */
import type { HttpServerRequest } from "@effect/platform"
import { type DateTime, Effect } from "effect"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { Submitted } from "../../engine/accept/Trigger.ts"
import { storesAccepted } from "../../engine/manage/RequestToStore.ts"
import { isOpenedByOldToken, StoredRequests } from "../../engine/manage/StoredRequests.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import * as Problems from "../request/Problems.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as CallerCheck from "./CallerCheck.ts"
import type { ReadRequest, RequestReader } from "./RequestReader.ts"

type Request = HttpServerRequest.HttpServerRequest

const runIdOf = (submitted: Submitted) => {
  switch (submitted._tag) {
    case "Ignored":
      return undefined
    case "Accepted":
      return submitted.run_id
    case "Ended":
      return submitted.run.run_id
  }
}

export const make = Effect.gen(function* () {
  const proxies = yield* TrustedProxies
  const requests = yield* StoredRequests

  /** Notes that an old token is still in use. */
  const token = (request: Request, webhook: WebhookRow): void => {
    if (isOpenedByOldToken(webhook)) requests.recordOldToken(webhook, clientAddress(proxies, request))
  }

  /** Server errors are not recorded. */
  const refused = (
    request: Request,
    webhook: WebhookRow,
    received_at: DateTime.Utc,
    refusal: Problems.Refusal,
    { known, size }: RequestReader
  ): void => {
    const { code, detail, status } = Problems.of(refusal)
    if (status === 404 || status >= 500) return
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
    { incoming, received_at, webhook }: ReadRequest,
    submitted: Submitted,
    status: number
  ): void => {
    if (!storesAccepted(webhook)) return
    const isIgnored = submitted._tag === "Ignored"
    const run_id = runIdOf(submitted)
    requests.recordAccepted(webhook, {
      ...{ received_at, status, incoming, size: incoming.body.length },
      code: isIgnored ? "ignored" : "accepted",
      detail: isIgnored ? "`accept_if` does not hold." : "",
      client_address: clientAddress(proxies, request),
      ...(run_id !== undefined && { run_id })
    })
  }

  return { token, refused, accepted, verified: requests.recordVerified }
})
