/**
 * A map that forgets what was added long ago: it keeps at most `capacity` entries, and of those added last at least half as
 * many. They are forgotten by halves. To delete the oldest entry of a `Map` for each one that is added costs more the larger
 * it is (8 microseconds at 10,000 entries), since its iterator passes the places of all that were deleted before.
 */
export class RecentMap<Key, Value> {
  readonly #half: number
  #newer = new Map<Key, Value>()
  #older = new Map<Key, Value>()

  constructor(capacity: number) {
    this.#half = capacity / 2
  }

  get(key: Key): Value | undefined {
    return this.#newer.get(key) ?? this.#older.get(key)
  }

  /** Adds an entry, or puts one with a new value among those added last. */
  set(key: Key, value: Value): void {
    if (this.#newer.size >= this.#half && !this.#newer.has(key)) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(key, value)
  }
}
