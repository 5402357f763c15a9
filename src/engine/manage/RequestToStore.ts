/** What is kept of a request, for whoever manages its webhook. */
import { beginningOf, headersOf, type IncomingRequest, queryOf } from "../../domain/request/IncomingRequest.ts"
import { keptBody, shownBody } from "../../domain/request/KeptBody.ts"
import type { ReceivedRequest } from "../../domain/request/ReceivedRequest.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { secretHeaders } from "../prompt/Input.ts"

/** What is known of a call when it is refused, or accepted. */
export interface RequestToStore
  extends Pick<ReceivedRequest, "received_at" | "status" | "code" | "detail" | "client_address" | "size" | "run_id"> {
  /** With as much of the body as was received; it is kept if the webhook keeps any. */
  readonly incoming?: IncomingRequest
}

type Keeping = Pick<WebhookRow, "keep_bodies">

/** Whether the webhook wants refused requests to be kept as they came. */
export const storesRefused = ({ keep_bodies }: Keeping): boolean => keep_bodies === "refused" || keep_bodies === "all"

/** Whether the webhook wants accepted requests to be kept. */
export const storesAccepted = ({ keep_bodies }: Keeping): boolean => keep_bodies === "all"

/** The request as a template reaches it: a header that shows who calls is not kept. */
export const partsOf = (webhook: Pick<WebhookRow, "verification">, request: IncomingRequest) => ({
  body: beginningOf(request, keptBody),
  headers: headersOf(request, secretHeaders(webhook)),
  query: queryOf(request)
})

const maxDetail = 300

/** The detail of a refusal, and the beginning of a body in a list. */
export const cutDetail = (detail: string): string => detail.slice(0, maxDetail)
export const cutBody = (body: string): string => Buffer.from(body).subarray(0, shownBody).toString()
