import { Context, DateTime, Duration, Effect, Layer } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import { runIdAt, type WebhookId } from "../../domain/Id.ts"
import { requestIdOf, webhookIdOf } from "../../domain/ParsedId.ts"
import {
  type AcceptedCode,
  type ReceivedRequest,
  storedFor,
  storedRequests
} from "../../domain/request/ReceivedRequest.ts"
import { listedBodyBytes, storedBodyBytes } from "../../domain/request/StoredBody.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { RequestStore } from "../../repo/history/RequestStore.ts"
import { type FirstVerified, type OldTokenUse, WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { cutBody, cutDetail, partsOf, type RequestToStore, storesRefused } from "./RequestToStore.ts"

/** Whether the caller used a replaced token. */
export const isOpenedByOldToken = ({ old_token_hash, token_hash }: WebhookRow): boolean =>
  old_token_hash !== undefined && Buffer.compare(old_token_hash, token_hash) === 0

/** The time between two writes. */
const writeEvery = Duration.seconds(1)
const forgetEvery = Duration.minutes(10)

/** Maximum requests of one webhook, and of all, between two writes. Further ones only count as repeats. */
const maxPending = 20
const maxAllPending = 500
/** Maximum accepted requests of one webhook, and bytes of all bodies, between two writes. */
const maxAccepted = 5
const maxBytes = 8 * 1024 * 1024

type Pending = { -readonly [Field in keyof ReceivedRequest]: ReceivedRequest[Field] }

/**
 * Stores refused requests, and accepted ones if their webhook wants that. Recording never waits and never fails, and
 * uses bounded memory and writes, so that refusing stays cheap.
 */
export class StoredRequests extends Context.Tag("webhook-trigger/StoredRequests")<
  StoredRequests,
  {
    readonly recordRefused: (webhook: WebhookRow, request: RequestToStore) => void
    /** Only for a webhook that `storesAccepted`. Stores some requests of each second. */
    readonly recordAccepted: (webhook: WebhookRow, request: RequestToStore & { readonly code: AcceptedCode }) => void
    /** Notes that an old token is still in use. */
    readonly recordOldToken: (webhook: WebhookRow, client_address: string) => void
    /** Notes the first verified request of a webhook. */
    readonly recordVerified: (webhook: WebhookRow) => void
    /**
     * The requests of the last day, newest first, with the beginnings of their bodies. This server's own are included
     * at once, others' within a second.
     */
    readonly list: (
      id: string,
      options: { readonly accepted: boolean }
    ) => Effect.Effect<ReadonlyArray<ReceivedRequest>, NotFound | Unavailable>
    /** One of them, as stored. */
    readonly show: (id: string, request_id: string) => Effect.Effect<ReceivedRequest, NotFound | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<StoredRequests, never, RequestStore | WebhookStore> = Layer.scoped(
    StoredRequests,
    Effect.gen(function* () {
      const store = yield* RequestStore
      const webhooks = yield* WebhookStore
      const pending = new Map<WebhookId, Array<Pending>>()
      const clock = yield* Effect.clock
      const pendingAccepted = new Map<WebhookId, Array<Pending>>()
      let all = 0
      let bytes = 0

      const push = (to: typeof pending, webhook: WebhookRow, { incoming, ...request }: RequestToStore): void => {
        const keeps = incoming !== undefined && storesRefused(webhook) && bytes < maxBytes
        if (keeps) bytes += Math.min(incoming.body.length, storedBodyBytes)
        const of = to.get(webhook.id) ?? []
        to.set(webhook.id, of)
        all++
        of.push({
          request_id: runIdAt(request.received_at.epochMillis),
          webhook_id: webhook.id,
          ...request,
          detail: cutDetail(request.detail),
          ...(keeps && partsOf(webhook, incoming)),
          repeats: 0
        })
      }

      const recordRefused = (webhook: WebhookRow, request: RequestToStore): void => {
        const of = pending.get(webhook.id) ?? []
        const alike = of.findLast(({ code }) => code === request.code) ?? of.at(-1)
        if (of.length < maxPending && all < maxAllPending) push(pending, webhook, request)
        else if (alike !== undefined) alike.repeats++
      }

      const recordAccepted = (webhook: WebhookRow, request: RequestToStore): void => {
        const of = pendingAccepted.get(webhook.id)
        if ((of === undefined || of.length < maxAccepted) && all < maxAllPending)
          push(pendingAccepted, webhook, request)
      }

      const uses = new Map<WebhookId, OldTokenUse>()
      const recordOldToken = ({ id, token_hash }: WebhookRow, client_address: string): void => {
        uses.set(id, {
          webhook_id: id,
          old_token_hash: token_hash,
          old_token_used_at: DateTime.unsafeMake(clock.unsafeCurrentTimeMillis()),
          old_token_used_from: client_address
        })
      }

      const writeUses = Effect.suspend(() => {
        const used = [...uses.values()]
        uses.clear()
        return used.length === 0 ? Effect.void : webhooks.oldTokensUsed(used)
      })

      const firsts = new Map<WebhookId, FirstVerified>()
      const recordVerified = ({ id, verification, verified_at, version }: WebhookRow): void => {
        if (verification === undefined || verified_at !== undefined) return
        firsts.set(id, { webhook_id: id, version, verified_at: DateTime.unsafeMake(clock.unsafeCurrentTimeMillis()) })
      }

      const writeFirsts = Effect.suspend(() => {
        const first = [...firsts.values()]
        firsts.clear()
        return first.length === 0 ? Effect.void : webhooks.verified(first)
      })

      /** A failed write loses its requests, so that they use no memory while the database is unreachable. */
      const write = Effect.suspend(() => {
        const requests = [...pending.values(), ...pendingAccepted.values()].flat()
        pending.clear()
        pendingAccepted.clear()
        all = 0
        bytes = 0
        return requests.length === 0 ? Effect.void : store.recordRequests(requests, storedRequests)
      }).pipe(Effect.zipRight(writeUses), Effect.zipRight(writeFirsts))

      const dayAgo = Effect.map(DateTime.now, (now) => DateTime.subtractDuration(now, storedFor))

      yield* Effect.addFinalizer(() => Effect.ignoreLogged(write))
      yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignoreLogged(write), writeEvery)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.delay(Effect.ignore(Effect.flatMap(dayAgo, store.forgetRequests)), forgetEvery))
      )

      return StoredRequests.of({
        recordRefused,
        recordAccepted,
        recordOldToken,
        recordVerified,
        list: Effect.fn("StoredRequests.list")(function* (id, { accepted }) {
          const { id: webhook_id } = yield* Effect.flatMap(webhookIdOf(id), webhooks.webhookRow)
          yield* write
          const found = yield* store.requests(webhook_id, yield* dayAgo, { accepted, shown: listedBodyBytes })
          return found.map((request) =>
            request.body === undefined ? request : { ...request, body: cutBody(request.body) }
          )
        }),
        show: Effect.fn("StoredRequests.show")(function* (id, request_id) {
          const { id: webhook_id } = yield* Effect.flatMap(webhookIdOf(id), webhooks.webhookRow)
          return yield* store.request(webhook_id, yield* requestIdOf(request_id))
        })
      })
    })
  )
}
