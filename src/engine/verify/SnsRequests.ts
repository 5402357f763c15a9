/** This server's requests to Amazon SNS: for certificates, and to confirm subscriptions. */
import { X509Certificate } from "node:crypto"
import { Cache, Clock, Context, Duration, Effect, Layer, Semaphore } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { Poster } from "../egress/Poster.ts"
import type { Certificate } from "./RequestLookup.ts"

/** In bytes. A certificate of SNS has about 2,000. */
const maxCertificate = 20_000

/** In milliseconds. */
const keptFor = Duration.toMillis("1 day")

/** Unsigned messages name certificates too, so all look-ups together are few. */
const maxLookups = 4

const unavailable = (detail: string) => new Unavailable({ what: "server", detail })

export class SnsRequests extends Context.Service<
  SnsRequests,
  {
    /** The certificate at this URL of SNS. It is kept for a day. A webhook looks for one at a time. */
    readonly certificate: (webhook: WebhookId, url: string) => Effect.Effect<Certificate, Unavailable>
    /** Confirms a subscription. */
    readonly confirm: (url: string) => Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/SnsRequests") {
  static readonly layer: Layer.Layer<SnsRequests, never, Poster> = Layer.effect(
    SnsRequests,
    Effect.gen(function* () {
      const { post } = yield* Poster

      const get = (url: string) =>
        Effect.mapError(post({ method: "GET", url, headers: {}, read: maxCertificate }), ({ reason }) =>
          unavailable(`Amazon SNS could not be reached: ${reason}.`)
        )

      const fetched = (url: string) =>
        Effect.flatMap(get(url), ({ http_status, text = "" }) =>
          http_status === 200
            ? Effect.try({
                try: (): Certificate => ({ url, x509: new X509Certificate(text) }),
                catch: () => unavailable("Amazon SNS sent no certificate.")
              })
            : Effect.fail(unavailable(`Amazon SNS answered ${http_status} instead of its certificate.`))
        )

      // Apart from failures, which anybody can cause: these must not evict it.
      const known = new RecentMap<string, { readonly certificate: Certificate; readonly fetched_at: number }>(100)
      const permits = yield* Semaphore.make(maxLookups)
      const searching = new Map<WebhookId, string>()

      const lookUp = (webhook: WebhookId, url: string) =>
        Effect.acquireUseRelease(
          Effect.sync(() => searching.set(webhook, url)),
          () => permits.withPermits(1)(fetched(url)),
          () => Effect.sync(() => searching.delete(webhook))
        )

      const lookUps = yield* Cache.make({
        capacity: 100,
        timeToLive: "2 seconds",
        lookup: (key: string) => {
          const [webhook, url] = key.split(" ") as [WebhookId, string]
          return lookUp(webhook, url)
        }
      })

      const certificate = (webhook: WebhookId, url: string) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const before = known.get(url)
          if (before !== undefined && now - before.fetched_at < keptFor) return before.certificate
          const other = searching.get(webhook)
          if (other !== undefined && other !== url) return yield* unavailable("Another certificate is being fetched.")
          const found = yield* Cache.get(lookUps, `${webhook} ${url}`)
          known.set(url, { certificate: found, fetched_at: now })
          return found
        })

      return SnsRequests.of({
        certificate,
        confirm: (url) =>
          Effect.flatMap(get(url), ({ http_status }) =>
            http_status === 200 ? Effect.void : unavailable(`Amazon SNS answered ${http_status} to the confirmation.`)
          )
      })
    })
  )
}
