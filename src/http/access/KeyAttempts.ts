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

export class KeyAttempts {
  private readonly buckets = new RecentMap<string, Bucket>(maxNetworks)
  /** Networks that once sent the right key. Nobody else can add to them. */
  private readonly known = new RecentMap<string, true>(maxNetworks)

  /** Whether a key from this network may be checked. A network that once sent the right key is never locked out. */
  allows(network: string, now: number): boolean {
    return this.known.has(network) || this.attemptsLeft(network, now) >= 1
  }

  /** False: the limit is exceeded. */
  addWrong(network: string, now: number): boolean {
    const left = this.attemptsLeft(network, now)
    this.buckets.set(network, { attempts: Math.max(0, left - 1), at: now })
    return left >= 1
  }

  /** True: the network is new. */
  addRight(network: string): boolean {
    const isNew = !this.known.has(network)
    this.known.set(network, true)
    return isNew
  }

  private attemptsLeft(network: string, now: number): number {
    const bucket = this.buckets.get(network)
    return bucket === undefined ? burst : Math.min(burst, bucket.attempts + (now - bucket.at) / refillInterval)
  }
}
