/** What this server asks of Amazon SNS: certificates, and the confirmation of subscriptions. */
import { X509Certificate } from "node:crypto"
import { Cache, Context, Duration, Effect, Exit, Layer } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import { Poster } from "../delivery/Poster.ts"
import type { Certificate } from "./AmazonSns.ts"

/** In bytes. A certificate of SNS has about 2,000. */
const maxCertificate = 20_000

const unavailable = (detail: string) => new Unavailable({ what: "server", detail })

export class SnsRequests extends Context.Tag("webhook-trigger/SnsRequests")<
  SnsRequests,
  {
    /** The certificate at this URL of SNS. It is kept for a day. */
    readonly certificate: (url: string) => Effect.Effect<Certificate, Unavailable>
    /** Confirms a subscription. */
    readonly confirm: (url: string) => Effect.Effect<void, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<SnsRequests, never, Poster> = Layer.effect(
    SnsRequests,
    Effect.gen(function* () {
      const { post } = yield* Poster

      const get = (url: string) =>
        Effect.mapError(post({ method: "GET", url, headers: {}, read: maxCertificate }), ({ reason }) =>
          unavailable(`Amazon SNS could not be reached: ${reason}.`)
        )

      const certificates = yield* Cache.makeWith({
        capacity: 100,
        timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.days(1) : Duration.seconds(2)),
        lookup: (url: string) =>
          Effect.flatMap(get(url), ({ http_status, text = "" }) =>
            http_status === 200
              ? Effect.try({
                  try: (): Certificate => ({ url, x509: new X509Certificate(text) }),
                  catch: () => unavailable("Amazon SNS sent no certificate.")
                })
              : Effect.fail(unavailable(`Amazon SNS answered ${http_status} instead of its certificate.`))
          )
      })

      return SnsRequests.of({
        certificate: (url) => certificates.get(url),
        confirm: (url) =>
          Effect.flatMap(get(url), ({ http_status }) =>
            http_status === 200 ? Effect.void : unavailable(`Amazon SNS answered ${http_status} to the confirmation.`)
          )
      })
    })
  )
}
