import type { HttpServerRequest } from "@effect/platform"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { keptBody } from "../../domain/request/KeptBody.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { storesRefused } from "../../engine/manage/RequestToStore.ts"
import type * as Body from "../request/Body.ts"
import type { BodyBudget } from "./BodyBudget.ts"

/** What has arrived of a body. */
export interface PartialBody extends Body.BodyListener {
  bytes: number
  /** The body's beginning, if the webhook keeps that. */
  head: Buffer | undefined
}

/** Follows the body of a webhook's caller. It counts against the budget until the request has ended. */
export const make = (
  request: HttpServerRequest.HttpServerRequest,
  webhook: WebhookRow,
  budget: typeof BodyBudget.Service
): PartialBody => {
  /** Of the budget. */
  let taken = 0
  const partial: PartialBody = {
    bytes: 0,
    head: undefined,
    take: (chunk) => {
      partial.bytes += chunk.length
      if (storesRefused(webhook) && (partial.head?.length ?? 0) < keptBody) {
        partial.head = Buffer.concat([partial.head ?? Buffer.alloc(0), chunk.subarray(0, keptBody)])
      }
      if (!budget.take(webhook.id, chunk.length)) return false
      if (taken === 0) {
        NodeHttpServerRequest.toServerResponse(request).once("close", () => budget.giveBack(webhook.id, taken))
      }
      taken += chunk.length
      return true
    }
  }
  return partial
}
