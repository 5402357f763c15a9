/** Wrong keys that each network may try: a token bucket for each. Plain code, so that counting is one step. */

/** Wrong keys at once; then one each `refillInterval`, in milliseconds. */
export const burst = 10
const refillInterval = 10_000

/** Networks remembered at most; those seen longest ago are forgotten first. */
const maxNetworks = 10_000

interface Bucket {
  readonly attempts: number
  readonly at: number
}

/** Sets the newest, and forgets the oldest when there are too many. */
const remember = <A>(all: Map<string, A>, network: string, value: A): void => {
  all.delete(network)
  all.set(network, value)
  if (all.size > maxNetworks) all.delete(all.keys().next().value!)
}

export class KeyAttempts {
  private readonly buckets = new Map<string, Bucket>()
  /** Networks that had the key right. Nobody else can make this list longer. */
  private readonly known = new Map<string, true>()

  /** Whether a key from there may be looked at. One that had it right is always heard. */
  allows(network: string, now: number): boolean {
    return this.known.has(network) || this.attemptsLeft(network, now) >= 1
  }

  /** False: that was one too many. */
  addWrong(network: string, now: number): boolean {
    const left = this.attemptsLeft(network, now)
    remember(this.buckets, network, { attempts: Math.max(0, left - 1), at: now })
    return left >= 1
  }

  /** True: the first time. */
  addRight(network: string): boolean {
    const isNew = !this.known.has(network)
    remember(this.known, network, true)
    return isNew
  }

  private attemptsLeft(network: string, now: number): number {
    const bucket = this.buckets.get(network)
    return bucket === undefined ? burst : Math.min(burst, bucket.attempts + (now - bucket.at) / refillInterval)
  }
}
