import { Context, DateTime, Duration, Effect, Layer } from "effect"
import type { NotFound, Unavailable } from "../domain/Errors.ts"
import { runIdAt, type WebhookId } from "../domain/Id.ts"
import { keptBody, keptFor, keptRequests, type ReceivedRequest } from "../domain/ReceivedRequest.ts"
import type { WebhookRow } from "../domain/Webhook.ts"
import { RequestStore } from "../repo/RequestStore.ts"
import { type FirstVerified, type OldTokenUse, WebhookStore } from "../repo/WebhookStore.ts"
import { webhookIdOf } from "./Webhooks.ts"

/** What is known of a call when it is refused. */
export interface RefusedRequest
  extends Pick<ReceivedRequest, "received_at" | "status" | "code" | "detail" | "client_address" | "size"> {
  /** As much of the body as was kept; `keepsBodies` says whether any is. */
  readonly body?: Uint8Array
}

/** Whether the webhook wants the beginning of refused bodies to be kept. */
export const keepsBodies = ({ keep_bodies }: WebhookRow): boolean => keep_bodies === "refused"

/** Whether it was opened by a token that was replaced. */
export const isOpenedByOldToken = ({ old_token_hash, token_hash }: WebhookRow): boolean =>
  old_token_hash !== undefined && Buffer.compare(old_token_hash, token_hash) === 0

/** Between two writes of what was refused meanwhile. */
const writeEvery = Duration.seconds(1)
const forgetEvery = Duration.minutes(10)

/** Of one webhook, and of all, between two writes. What is more is counted on those before. */
const maxPending = 20
const maxAllPending = 500

const maxDetail = 300

type Pending = { -readonly [Field in keyof ReceivedRequest]: ReceivedRequest[Field] }

/**
 * What was refused, kept for people to look at. Recording never waits, never fails and costs a bounded amount of memory and of
 * writes, however many are refused: a refusal must not become dearer than what it refuses.
 */
export class Requests extends Context.Tag("webhook-trigger/Requests")<
  Requests,
  {
    readonly recordRefused: (webhook: WebhookRow, request: RefusedRequest) => void
    /** For whoever has replaced a token and waits until nobody uses the old one any more. */
    readonly recordOldToken: (webhook: WebhookRow, client_address: string) => void
    /** For whoever sets up a webhook and waits for the first request that shows what it asks for. */
    readonly recordVerified: (webhook: WebhookRow) => void
    /** Those of the last day, newest first, of this server at once and of others within a second. */
    readonly list: (id: string) => Effect.Effect<ReadonlyArray<ReceivedRequest>, NotFound | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Requests, never, RequestStore | WebhookStore> = Layer.scoped(
    Requests,
    Effect.gen(function* () {
      const store = yield* RequestStore
      const webhooks = yield* WebhookStore
      const pending = new Map<WebhookId, Array<Pending>>()
      const clock = yield* Effect.clock
      let all = 0

      const recordRefused = (webhook: WebhookRow, { body, ...request }: RefusedRequest): void => {
        const of = pending.get(webhook.id) ?? []
        if (of.length >= maxPending || all >= maxAllPending) {
          const alike = of.findLast(({ code }) => code === request.code) ?? of.at(-1)
          if (alike !== undefined) alike.repeats++
          return
        }
        pending.set(webhook.id, of)
        all++
        of.push({
          request_id: runIdAt(request.received_at.epochMillis),
          webhook_id: webhook.id,
          ...request,
          detail: request.detail.slice(0, maxDetail),
          ...(body !== undefined &&
            keepsBodies(webhook) && { body: Buffer.from(body.subarray(0, keptBody)).toString() }),
          repeats: 0
        })
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

      /** What cannot be written is gone: it is not worth the memory of a database that is away. */
      const write = Effect.suspend(() => {
        const requests = [...pending.values()].flat()
        pending.clear()
        all = 0
        return requests.length === 0 ? Effect.void : store.recordRequests(requests, keptRequests)
      }).pipe(Effect.zipRight(writeUses), Effect.zipRight(writeFirsts))

      const dayAgo = Effect.map(DateTime.now, (now) => DateTime.subtractDuration(now, keptFor))

      yield* Effect.addFinalizer(() => Effect.ignoreLogged(write))
      yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignoreLogged(write), writeEvery)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.delay(Effect.ignore(Effect.flatMap(dayAgo, store.forgetRequests)), forgetEvery))
      )

      return Requests.of({
        recordRefused,
        recordOldToken,
        recordVerified,
        list: Effect.fn("Requests.list")(function* (id) {
          const { id: webhook_id } = yield* Effect.flatMap(webhookIdOf(id), webhooks.webhookRow)
          yield* write
          return yield* store.requests(webhook_id, yield* dayAgo)
        })
      })
    })
  )
}
