/**
 * Requests to a URL that webhooks share. The URL's own webhook answers; the others are offered what it was sent, and change
 * or delay nothing. What one of them refuses for a moment is kept, and offered to it again.
 */
import { createHash, randomUUID } from "node:crypto"
import { Clock, DateTime, Duration, Effect, Fiber, FiberSet, Predicate, Result } from "effect"
import { NotFound, Unavailable } from "../../domain/Errors.ts"
import { runIdAt, type WebhookId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import type { StoredFile } from "../../domain/run/RunFile.ts"
import type { Submitted } from "../../domain/run/Submitted.ts"
import type { OpenedWebhook, WebhookRow } from "../../domain/webhook/Webhook.ts"
import { type Offer, OfferStore } from "../../repo/run/OfferStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { OnThread } from "../prompt/Evaluator.ts"
import type { RunRequest } from "./Candidates.ts"
import { passesAfter, type TriggerRefused } from "./Refusals.ts"

/** A webhook's result for a request to a shared URL. */
export interface Offered {
  readonly webhook: WebhookRow
  readonly result: Result.Result<Submitted, TriggerRefused>
  /** It refused the request for a moment, and is offered it again until then. */
  readonly again_until?: DateTime.Utc
}

/** The webhook has not decided yet. */
export interface Undecided {
  readonly webhook: WebhookRow
  readonly result?: never
}

/** Offers a request to one webhook, which may have been edited; `NotFound`: it no longer shares the URL. */
export type OfferTo = (owner: OpenedWebhook, webhook: WebhookRow, request: RunRequest) => Effect.Effect<Offered>

/** The webhooks that ignore the request for their filter alone, as far as that is known at once: mostly all but one. */
export type Ignoring = (
  owner: OpenedWebhook,
  request: RunRequest
) => Effect.Effect<{ readonly webhooks: ReadonlyArray<WebhookRow>; readonly submitted: (of: WebhookRow) => Submitted }>

/**
 * How long the answer waits for what the others decide, in milliseconds: twice as long as its own webhook took, within these
 * limits. One that evaluates on a thread is not waited for.
 */
const patience = { least: 1_000, most: 5_000 }
/** An offer is made again if a webhook has not decided after this time, since the process may have ended. */
const decidesWithin = Duration.minutes(1)
/** Offers of a webhook that are under way and not waited for. Further ones are kept. */
const mostUnderWay = 20

/** A webhook is offered what it refused for this long. */
const offeredFor = Duration.minutes(10)
/** The limits of a webhook: more requests are not offered again. */
const limits = { offers: 1_000, length: 50_000_000 }
/** Webhooks whose offers are made at once. */
const atOnce = 20

/** If it passes before `until`, when to offer the request again. */
const dueAfter = (
  refusal: TriggerRefused,
  { now, tries, until }: { readonly now: DateTime.Utc; readonly tries: number; readonly until: DateTime.Utc }
): DateTime.Utc | undefined => {
  const pause = passesAfter(refusal, tries)
  const due = pause && DateTime.addDuration(now, pause)
  return due && DateTime.isLessThanOrEqualTo(due, until) ? due : undefined
}

/** All webhooks' offers of one request are one request, however often they are made. */
const anyRequest = createHash("sha256").update("offer").digest()

/** For a webhook that did not get the request itself: nobody waits for its run, and an offer that is repeated starts one run. */
const asOffered = ({
  callback_url: _,
  follows: __,
  onAccepted: ___,
  ...request
}: RunRequest): RunRequest & Required<Pick<RunRequest, "idempotency">> => ({
  ...request,
  wait: false,
  // The line break keeps it apart from callers' keys.
  idempotency: request.idempotency ?? { key: `offer\n${randomUUID()}`, request_hash: anyRequest }
})

const encode = (request: ReturnType<typeof asOffered>): string => {
  const { asked_by, chain_depth, files, idempotency, received_at, traceparent, variables } = request
  const { key, life, request_hash } = idempotency
  return Json.stringify({
    ...{ variables, asked_by, chain_depth, traceparent, received_at: received_at.epochMilliseconds },
    // A run that somebody cancelled is not started again.
    idempotency: { key, request_hash: base64(request_hash), life: life && Duration.toMillis(life) },
    files: files?.map((file) => ({ ...file, ...(file.bytes && { bytes: base64(file.bytes) }) }))
  })
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, "base64"))

const decode = (text: string): RunRequest => {
  const { files, idempotency, received_at, ...request } = Json.parse(text) as any
  const { life, ...key } = idempotency
  return {
    ...request,
    wait: false,
    received_at: DateTime.makeUnsafe(received_at),
    idempotency: {
      ...key,
      request_hash: bytesOf(key.request_hash),
      ...(life !== undefined && { life: Duration.millis(life) })
    },
    ...(files && { files: files.map((file: any): StoredFile => ({ ...file, bytes: bytesOf(file.bytes) })) })
  }
}

const busy = new Unavailable({
  what: "server",
  detail: "The webhook has not decided about earlier requests yet.",
  not_done: true
})

export const make = Effect.gen(function* () {
  const store = yield* OfferStore
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const now = () => DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())

  const keep = yield* GroupCommit.make({
    size: 100,
    weight: { of: ({ request }: Offer) => request.length, limit: 4_000_000 },
    commit: (offers: ReadonlyArray<Offer>) => store.keepOffers(offers, limits)
  })

  /** Offers of each webhook that are under way, and that no answer waits for. */
  const underWay = new Map<WebhookId, number>()
  const countUnderWay = (id: WebhookId, more: 1 | -1) => {
    const count = (underWay.get(id) ?? 0) + more
    if (count === 0) underWay.delete(id)
    else underWay.set(id, count)
  }

  const withoutDefects = (effect: Effect.Effect<Offered>, webhook: WebhookRow): Effect.Effect<Offered> =>
    Effect.catchDefect(effect, (defect) =>
      Effect.as(Effect.logError("A webhook that shares a URL could not be offered a request", defect), {
        webhook,
        result: Result.fail(new Unavailable({ what: "server", detail: "An unexpected error in the server." }))
      })
    )

  /** The offer of a request to one webhook, made once. */
  const single = (offerTo: OfferTo, owner: OpenedWebhook, webhook: WebhookRow, request: RunRequest) => {
    const asked = asOffered(request)
    const id = runIdAt(now().epochMilliseconds)
    const until = DateTime.addDuration(asked.received_at, offeredFor)
    const keepUntil = (due_at: DateTime.Utc, tries: number) => {
      const { id: webhook_id, team } = webhook
      const offer = { id, webhook_id, shares: owner.id, team, request: encode(asked), tries, due_at, until }
      return Effect.match(keep([offer]), {
        // The webhook's log shows that it was refused.
        onFailure: () => false,
        onSuccess: ([isKept]) => isKept === true
      })
    }
    let keeping: Fiber.Fiber<unknown> | undefined

    /** Keeps an offer that the webhook refused for a moment, and forgets one that it decided for good. */
    const decided = (offered: Offered): Effect.Effect<Offered> => {
      const refusal = Result.isFailure(offered.result) ? offered.result.failure : undefined
      const due_at = refusal && dueAfter(refusal, { now: now(), tries: 1, until })
      if (due_at !== undefined) {
        return Effect.map(keepUntil(due_at, 1), (isKept) => (isKept ? { ...offered, again_until: until } : offered))
      }
      if (keeping === undefined) return Effect.succeed(offered)
      return Effect.as(Effect.andThen(Fiber.await(keeping), Effect.ignore(store.removeOffer(id))), offered)
    }
    const isFull = (underWay.get(webhook.id) ?? 0) > mostUnderWay
    const offered = isFull ? Effect.succeed({ webhook, result: Result.fail(busy) }) : offerTo(owner, webhook, asked)
    return {
      decision: Effect.flatMap(withoutDefects(offered, webhook), decided),
      /** The answer does not wait for the decision, so the offer is kept until then: this process may end before. */
      keepUndecided: Effect.suspend(() => {
        keeping = fork(Effect.asVoid(keepUntil(DateTime.addDuration(now(), decidesWithin), 0)))
        return Fiber.await(keeping)
      })
    }
  }

  /**
   * Begins to offer a request. The effect inside waits for what the webhooks decide, but not for one that needs time.
   * `onEnd` gets what each has decided, also after that.
   */
  const offer =
    (offerTo: OfferTo, ignoring: Ignoring) =>
    (
      owner: OpenedWebhook,
      request: RunRequest,
      onEnd: (offered: Offered) => void
    ): Effect.Effect<Effect.Effect<ReadonlyArray<Offered | Undecided>>> =>
      Effect.sync(() => {
        const { shared_by = [] } = owner
        const ended = new Map<WebhookId, Offered>()
        const awaited = new Set<WebhookId>(shared_by.map(({ id }) => id))
        const late = new Set<WebhookId>()
        const offers = new Map<WebhookId, ReturnType<typeof single>>()
        let resolve = () => {}
        const wait = new Promise<void>((done) => {
          resolve = done
        })
        const settled = (id: WebhookId) => {
          if (awaited.delete(id) && awaited.size === 0) resolve()
        }
        const offerOf = (webhook: WebhookRow) => {
          const offer = offers.get(webhook.id) ?? single(offerTo, owner, webhook, request)
          offers.set(webhook.id, offer)
          return offer
        }
        const leave = (webhook: WebhookRow) => {
          const { id } = webhook
          if (ended.has(id) || late.has(id)) return
          late.add(id)
          countUnderWay(id, 1)
          fork(Effect.map(offerOf(webhook).keepUndecided, () => settled(id)))
        }
        const end = (offered: Offered, id = offered.webhook.id) => {
          ended.set(id, offered)
          if (late.has(id)) countUnderWay(id, -1)
          if (!isGone(offered)) onEnd(offered)
          settled(id)
        }
        // In the process's own time, since a test clock makes no webhook faster.
        const took = now().epochMilliseconds - request.received_at.epochMilliseconds
        const timer = setTimeout(
          () => shared_by.filter(({ id }) => awaited.has(id)).forEach(leave),
          Math.min(Math.max(patience.least, 2 * took), patience.most)
        )
        fork(
          Effect.flatMap(ignoring(owner, request), ({ submitted, webhooks }) => {
            for (const webhook of webhooks) end({ webhook, result: Result.succeed(submitted(webhook)) })
            const others = shared_by.filter(({ id }) => !ended.has(id))
            for (const webhook of others) {
              // It is late already.
              if (underWay.has(webhook.id)) leave(webhook)
              fork(
                Effect.map(
                  Effect.provideService(offerOf(webhook).decision, OnThread, () => leave(webhook)),
                  (offered) => end(offered, webhook.id)
                )
              )
            }
            return Effect.void
          })
        )
        return Effect.map(
          Effect.promise(() => wait),
          () => {
            clearTimeout(timer)
            return shared_by.flatMap((webhook): ReadonlyArray<Offered | Undecided> => {
              const offered = ended.get(webhook.id)
              return offered === undefined ? [{ webhook }] : isGone(offered) ? [] : [offered]
            })
          }
        )
      })

  /** The webhooks to which this server makes offers again. */
  const making = new Set<WebhookId>()

  const makeAgain = (
    again: (offer: Offer, request: RunRequest) => Effect.Effect<Offered | undefined, Unavailable>,
    id: WebhookId
  ) =>
    Effect.gen(function* () {
      for (;;) {
        const offer = yield* store.nextOffer(id, now())
        if (offer === undefined) return
        const offered = yield* again(offer, decode(offer.request))
        const refusal = offered && Result.isFailure(offered.result) ? offered.result.failure : undefined
        const due_at = refusal && dueAfter(refusal, { now: now(), tries: offer.tries + 1, until: offer.until })
        if (due_at !== undefined) {
          yield* store.delayOffer(offer, due_at, { delaysOthers: refusal!._tag !== "Unavailable" })
          continue
        }
        yield* store.removeOffer(offer.id)
        if (refusal !== undefined && refusal._tag !== "NotFound") {
          yield* Effect.annotateLogs(
            Effect.logInfo("A webhook that shares a URL refused a request for good", { reason: refusal._tag }),
            { webhook_id: id }
          )
        }
      }
    })

  /** Makes the offers that are due again, each until its webhook has decided. Two servers at once do no harm. */
  const offerAgain = (
    offerTo: OfferTo,
    read: (id: WebhookId) => Effect.Effect<OpenedWebhook, NotFound | Unavailable>
  ) => {
    /** `undefined`: the webhook no longer shares the URL, has moved to another team, or one of the two is disabled. */
    const again = ({ shares, team, webhook_id }: Offer, request: RunRequest) =>
      read(shares).pipe(
        Effect.flatMap((owner) => {
          const webhook = owner.shared_by?.find(({ id }) => id === webhook_id)
          return webhook?.team === team ? offerTo(owner, webhook, request) : new NotFound()
        }),
        Effect.catchTag("NotFound", () => Effect.succeed(undefined))
      )
    return Effect.gen(function* () {
      const at = now()
      if (making.size >= atOnce) return
      const due = yield* store.webhooksWithOffers(at, { limit: atOnce - making.size, except: [...making] })
      for (const id of due) {
        making.add(id)
        fork(
          makeAgain(again, id).pipe(
            Effect.catchCause((cause) => Effect.logDebug("Offers are not made again now", cause)),
            Effect.ensuring(Effect.sync(() => making.delete(id)))
          )
        )
      }
    })
  }

  return { offer, offerAgain }
})

const isGone = ({ result }: Offered): boolean =>
  Result.isFailure(result) && Predicate.isTagged(result.failure, "NotFound")
