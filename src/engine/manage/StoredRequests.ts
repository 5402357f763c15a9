import { Clock, Context, DateTime, Duration, Effect, Layer, Semaphore } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import { runIdAt, type WebhookId } from "../../domain/Id.ts"
import { requestIdOf, webhookIdOf } from "../../domain/ParsedId.ts"
import { textOfReason } from "../../domain/prompt/FilterReason.ts"
import {
  kindOf,
  type ReceivedRequest,
  type RequestKind,
  storedFor,
  storedRequests
} from "../../domain/request/ReceivedRequest.ts"
import { listedBodyBytes, storedBodyBytes } from "../../domain/request/StoredBody.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { RequestStore } from "../../repo/history/RequestStore.ts"
import { type FirstVerified, type OldTokenUse, WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { Origin } from "../access/Audit.ts"
import { InputChecks } from "../prompt/InputChecks.ts"
import { cutBody, cutDetail, partsOf, type RequestToStore, storesContent } from "./RequestToStore.ts"

/** Whether the caller used a replaced token. */
export const isOpenedByOldToken = ({ old_token_hash, token_hash }: WebhookRow): boolean =>
  old_token_hash !== undefined && Buffer.compare(old_token_hash, token_hash) === 0

/** The time between two writes. */
const writeEvery = Duration.seconds(1)
const forgetEvery = Duration.minutes(10)

/** Maximum requests of one webhook, and of all, between two writes. Further ones only count as repeats. */
const maxPending: { readonly [Kind in RequestKind]: number } = { refused: 20, ignored: 5, accepted: 5 }
const maxAllPending = 500
/** Maximum bytes of all bodies between two writes. */
const maxBytes = 8 * 1024 * 1024

/** Ignored requests are counted in periods of ten minutes. */
const countedIn = Duration.toMillis("10 minutes")

/** The time as the beginning of a period. */
const periodOf = (now: DateTime.Utc) => DateTime.makeUnsafe(now.epochMilliseconds - (now.epochMilliseconds % countedIn))

type Pending = { -readonly [Field in keyof ReceivedRequest]: ReceivedRequest[Field] }

/** A request whose code and detail follow from its kind. */
export type UncodedRequest = Omit<RequestToStore, "code" | "detail">

interface ListedRequests {
  readonly data: ReadonlyArray<ReceivedRequest>
  readonly ignored: number
}

/**
 * Stores refused and ignored requests, and accepted ones if their webhook wants that. Recording never waits and never
 * fails, and uses bounded memory and writes, so that refusing stays cheap.
 */
export class StoredRequests extends Context.Service<
  StoredRequests,
  {
    readonly recordRefused: (webhook: WebhookRow, request: RequestToStore) => void
    /** A request for a disabled webhook, whose caller is told only that there is none. Stores no content. */
    readonly recordDisabled: (webhook: Pick<WebhookRow, "id" | "team">, request: UncodedRequest) => void
    /** Counts each, and stores some of each second with the reason. Default: why `input` does not pass the filter. */
    readonly recordIgnored: (webhook: WebhookRow, request: UncodedRequest, input: Variables, why?: string) => void
    /** Only for a webhook that `storesAccepted`. Stores some requests of each second. */
    readonly recordAccepted: (webhook: WebhookRow, request: UncodedRequest) => void
    /** Notes that an old token is still in use. */
    readonly recordOldToken: (webhook: WebhookRow, client_address: string) => void
    /** Notes the first verified request of a webhook. */
    readonly recordVerified: (webhook: WebhookRow) => void
    /**
     * The requests of the last day that came in one of the actor's teams, newest first, with the beginnings of their
     * bodies, and how many were ignored. This server's own are included at once, others' within a second.
     */
    readonly list: (
      id: string,
      options: { readonly kinds: ReadonlyArray<RequestKind> }
    ) => Effect.Effect<ListedRequests, NotFound | Unavailable>
    /** One of them, as stored. */
    readonly show: (id: string, request_id: string) => Effect.Effect<ReceivedRequest, NotFound | Unavailable>
  }
>()("webhook-trigger/StoredRequests") {
  static readonly layer: Layer.Layer<StoredRequests, never, InputChecks | RequestStore | WebhookStore> = Layer.effect(
    StoredRequests,
    Effect.gen(function* () {
      const store = yield* RequestStore
      const webhooks = yield* WebhookStore
      const inputChecks = yield* InputChecks
      const clock = yield* Clock.Clock
      const noneYet = (): Record<RequestKind, Map<WebhookId, Array<Pending>>> => ({
        refused: new Map(),
        ignored: new Map(),
        accepted: new Map()
      })
      let pending = noneYet()
      const ignored = new Map<WebhookId, number>()
      let all = 0
      let bytes = 0

      const record = (
        webhook: Pick<WebhookRow, "id" | "store_requests" | "team" | "verification">,
        { incoming, ...request }: Omit<RequestToStore, "detail">,
        detailOf: () => string
      ): void => {
        const kind = kindOf(request)
        const of = pending[kind].get(webhook.id) ?? []
        if (of.length >= maxPending[kind] || all >= maxAllPending) {
          const alike = of.findLast(({ code }) => code === request.code) ?? of.at(-1)
          if (alike !== undefined) alike.repeats++
          return
        }
        const keeps = incoming !== undefined && storesContent(webhook, kind) && bytes < maxBytes
        if (keeps) bytes += Math.min(incoming.body.length, storedBodyBytes)
        pending[kind].set(webhook.id, of)
        all++
        of.push({
          request_id: runIdAt(request.received_at.epochMilliseconds),
          webhook_id: webhook.id,
          team: webhook.team,
          ...request,
          detail: cutDetail(detailOf()),
          ...(keeps && partsOf(webhook, incoming)),
          repeats: 0
        })
      }

      const recordIgnored = (webhook: WebhookRow, request: UncodedRequest, input: Variables, why?: string): void => {
        ignored.set(webhook.id, (ignored.get(webhook.id) ?? 0) + 1)
        record(webhook, { ...request, code: "ignored" }, () => {
          if (why !== undefined) return why
          const reason = inputChecks.ignoredBecause(webhook, input)
          // Values are content of the request.
          const withValues = storesContent(webhook, "ignored")
          return reason === undefined ? "`accept_if` does not hold." : textOfReason(reason, { withValues })
        })
      }

      const writeIgnored = Effect.flatMap(DateTime.now, (now) => {
        const begins_at = periodOf(now)
        const counts = Array.from(ignored, ([webhook_id, count]) => ({ webhook_id, begins_at, count }))
        ignored.clear()
        return counts.length === 0 ? Effect.void : store.countIgnored(counts)
      })

      const uses = new Map<WebhookId, OldTokenUse>()
      const recordOldToken = ({ id, token_hash }: WebhookRow, client_address: string): void => {
        uses.set(id, {
          webhook_id: id,
          old_token_hash: token_hash,
          old_token_used_at: DateTime.makeUnsafe(clock.currentTimeMillisUnsafe()),
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
        firsts.set(id, { webhook_id: id, version, verified_at: DateTime.makeUnsafe(clock.currentTimeMillisUnsafe()) })
      }

      const writeFirsts = Effect.suspend(() => {
        const first = [...firsts.values()]
        firsts.clear()
        return first.length === 0 ? Effect.void : webhooks.verified(first)
      })

      const turn = Semaphore.makeUnsafe(1)

      /**
       * A failed write loses its requests, so that they use no memory while the database is unreachable. Waits for a write
       * in progress, so that a list contains what that one has taken.
       */
      const write = Effect.suspend(() => {
        const requests = Object.values(pending).flatMap((of) => [...of.values()].flat())
        pending = noneYet()
        all = 0
        bytes = 0
        return requests.length === 0 ? Effect.void : store.recordRequests(requests, storedRequests)
      }).pipe(Effect.andThen(writeIgnored), Effect.andThen(writeUses), Effect.andThen(writeFirsts), turn.withPermits(1))

      const dayAgo = Effect.map(DateTime.now, (now) => DateTime.subtractDuration(now, storedFor))

      yield* Effect.addFinalizer(() => Effect.ignoreCause({ log: "Debug" })(write))
      yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignoreCause({ log: "Debug" })(write), writeEvery)))
      yield* Effect.forkScoped(
        Effect.forever(Effect.delay(Effect.ignore(Effect.flatMap(dayAgo, store.forgetRequests)), forgetEvery))
      )

      return StoredRequests.of({
        recordRefused: (webhook, request) => record(webhook, request, () => request.detail),
        recordDisabled: (webhook, request) =>
          record(
            { ...webhook, store_requests: "none" },
            { ...request, code: "webhook_disabled" },
            () => "It is disabled."
          ),
        recordIgnored,
        recordAccepted: (webhook, request) => record(webhook, { ...request, code: "accepted" }, () => ""),
        recordOldToken,
        recordVerified,
        list: Effect.fn("StoredRequests.list")(function* (id, { kinds }) {
          const { id: webhook_id } = yield* Effect.flatMap(webhookIdOf(id), webhooks.webhookRow)
          yield* write
          const since = yield* dayAgo
          const { teams: owners } = yield* Origin
          const shown = listedBodyBytes
          const found = yield* store.requests(webhook_id, since, { kinds, shown, ...(owners && { owners }) })
          const data = found.map((request) =>
            request.body === undefined ? request : { ...request, body: cutBody(request.body) }
          )
          return { data, ignored: yield* store.ignored(webhook_id, since) }
        }),
        show: Effect.fn("StoredRequests.show")(function* (id, request_id) {
          const { id: webhook_id } = yield* Effect.flatMap(webhookIdOf(id), webhooks.webhookRow)
          const { teams: owners } = yield* Origin
          return yield* store.request(webhook_id, yield* requestIdOf(request_id), owners)
        })
      })
    })
  )
}
