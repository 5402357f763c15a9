/** Random bytes are taken from the system in portions of this size: a portion takes as long as sixteen bytes. */
const pool = new Uint8Array(4096)
let used = pool.length

/** This many random bytes (up to 4096), for IDs and the like. They share memory, so use them immediately. */
export const randomBytes = (count: number): Uint8Array => {
  if (used + count > pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}
