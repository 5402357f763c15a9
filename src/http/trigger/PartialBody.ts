import type { HttpServerRequest } from "@effect/platform"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { isGzipped } from "../../domain/request/IncomingRequest.ts"
import { storedBodyBytes } from "../../domain/request/StoredBody.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { storesRefused } from "../../engine/manage/RequestToStore.ts"
import type * as Body from "../request/Body.ts"
import type { BodyBudget } from "../request/BodyBudget.ts"

/** The received part of a body. */
export interface PartialBody extends Body.BodyListener {
  bytes: number
  /** The body's beginning, if the webhook stores it. */
  head: Buffer | undefined
}

/** Follows the body of a trigger. It counts against the budget until the request has ended. */
export const make = (
  request: HttpServerRequest.HttpServerRequest,
  webhook: WebhookRow,
  budget: typeof BodyBudget.Service
): PartialBody => {
  /** Of the budget. */
  let taken = 0
  const isGzip = isGzipped(request.headers)
  const keep = (chunk: Buffer) => {
    if (storesRefused(webhook) && (partial.head?.length ?? 0) < storedBodyBytes) {
      partial.head = Buffer.concat([partial.head ?? Buffer.alloc(0), chunk.subarray(0, storedBodyBytes)])
    }
  }
  const count = ({ length }: Buffer) => {
    if (!budget.take(webhook.id, length)) return false
    if (taken === 0) {
      NodeHttpServerRequest.toServerResponse(request).once("close", () => budget.giveBack(webhook.id, taken))
    }
    taken += length
    return true
  }
  const partial: PartialBody = {
    bytes: 0,
    head: undefined,
    take: (chunk) => {
      partial.bytes += chunk.length
      if (!isGzip) keep(chunk)
      return count(chunk)
    },
    takeInflated: (chunk) => {
      keep(chunk)
      return count(chunk)
    }
  }
  return partial
}
