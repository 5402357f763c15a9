/** The parts of a request that are stored for the people who manage its webhook. */
import { beginningOf, headersOf, type IncomingRequest, queryOf } from "../../domain/request/IncomingRequest.ts"
import type { ReceivedRequest, RequestKind } from "../../domain/request/ReceivedRequest.ts"
import { listedBodyBytes, storedBodyBytes } from "../../domain/request/StoredBody.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { secretHeaders } from "../prompt/Input.ts"

/** A request that was just answered. */
export interface RequestToStore
  extends Pick<ReceivedRequest, "received_at" | "status" | "code" | "detail" | "client_address" | "size" | "run_id"> {
  /** With the received part of the body. It is stored if the webhook stores bodies. */
  readonly incoming?: IncomingRequest
}

type StoreRequests = Pick<WebhookRow, "store_requests">

/** Whether the webhook stores the content of refused requests. */
export const storesRefused = ({ store_requests }: StoreRequests): boolean =>
  store_requests === "refused" || store_requests === "all"

/** Whether the webhook stores accepted requests, and the content of ignored ones. */
export const storesAccepted = ({ store_requests }: StoreRequests): boolean => store_requests === "all"

/** Whether the webhook stores the content of such requests. */
export const storesContent = (webhook: StoreRequests, kind: RequestKind): boolean =>
  kind === "refused" ? storesRefused(webhook) : storesAccepted(webhook)

/** The request as templates see it, without headers that hold secrets. */
export const partsOf = (webhook: Pick<WebhookRow, "verification">, request: IncomingRequest) => ({
  body: beginningOf(request, storedBodyBytes),
  headers: headersOf(request, secretHeaders(webhook)),
  query: queryOf(request)
})

const maxDetail = 300

/** The detail of a request, and the beginning of a body in a list. */
export const cutDetail = (detail: string): string => detail.slice(0, maxDetail)
export const cutBody = (body: string): string => Buffer.from(body).subarray(0, listedBodyBytes).toString()
