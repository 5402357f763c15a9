/** Limits the wrong keys that one address may try: a token bucket for each. */
import type { HttpServerRequest } from "@effect/platform"
import { Clock, Duration, Effect, Option } from "effect"

type Request = HttpServerRequest.HttpServerRequest

const burst = 10
const refillInterval = Duration.seconds(10)

/** Addresses remembered at most; the oldest are forgotten first. */
const maxAddresses = 10_000

interface Bucket {
  readonly attempts: number
  readonly at: number
}

export interface SignInLimit {
  /** False: too many wrong keys came from this address recently. */
  readonly allows: (request: Request) => Effect.Effect<boolean>
  readonly recordWrongKey: (request: Request) => Effect.Effect<void>
}

export const make: Effect.Effect<SignInLimit> = Effect.sync(() => {
  const buckets = new Map<string, Bucket>()

  const attemptsLeft = (address: string, now: number) => {
    const bucket = buckets.get(address)
    if (bucket === undefined) return burst
    return Math.min(burst, bucket.attempts + (now - bucket.at) / Duration.toMillis(refillInterval))
  }

  return {
    allows: (request) => Effect.map(Clock.currentTimeMillis, (now) => attemptsLeft(addressOf(request), now) >= 1),
    recordWrongKey: (request) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const address = addressOf(request)
        const bucket = { attempts: attemptsLeft(address, now) - 1, at: now }
        buckets.delete(address)
        buckets.set(address, bucket)
        if (buckets.size > maxAddresses) buckets.delete(buckets.keys().next().value!)
      })
  }
})

/** The peer's own: behind a proxy all clients share it, because a forwarded address can be forged. */
const addressOf = ({ remoteAddress }: Request): string => Option.getOrElse(remoteAddress, () => "")
