/** Limits the wrong keys of each network with a token bucket. */
import { RecentMap } from "../../runtime/RecentMap.ts"

/** Wrong keys allowed at once; then one per `refillInterval`, in milliseconds. */
export const burst = 10
export const refillInterval = 10_000

/** Maximum number of networks in memory. */
const maxNetworks = 20_000

interface Bucket {
  readonly attempts: number
  readonly at: number
}

/** The admin key, or an API key; of a wrong key, the one that it could be. */
export type KeyKind = "admin" | "api"

export class KeyAttempts {
  private readonly buckets = new RecentMap<string, Bucket>(maxNetworks)
  /** Networks that once sent the admin key, and such that once sent an API key. Nobody else can add to them. */
  private readonly known = {
    admin: new RecentMap<string, true>(maxNetworks),
    api: new RecentMap<string, true>(maxNetworks)
  }

  /**
   * Whether a key from this network may be checked. A network that once sent the admin key is never locked out. One that
   * once sent an API key is not locked out with API keys: these cannot be guessed, but an admin key that a person chose can.
   */
  allows(kind: KeyKind, network: string, now: number): boolean {
    const isKnown = this.known.admin.has(network) || (kind === "api" && this.known.api.has(network))
    return isKnown || this.attemptsLeft(network, now) >= 1
  }

  /** False: the limit is exceeded. */
  addWrong(network: string, now: number): boolean {
    const left = this.attemptsLeft(network, now)
    this.buckets.set(network, { attempts: Math.max(0, left - 1), at: now })
    return left >= 1
  }

  /** True: the network is new for this kind. */
  addRight(kind: KeyKind, network: string): boolean {
    const known = this.known[kind]
    const isNew = !known.has(network)
    known.set(network, true)
    return isNew
  }

  private attemptsLeft(network: string, now: number): number {
    const bucket = this.buckets.get(network)
    return bucket === undefined ? burst : Math.min(burst, bucket.attempts + (now - bucket.at) / refillInterval)
  }
}
