/** So many are asked of the system at a time: to ask for sixteen takes as long. */
const pool = new Uint8Array(4096)
let used = pool.length

/** As many random bytes, for ids and the like: good for one use, immediately, as they share their memory. At most 4096. */
export const randomBytes = (count: number): Uint8Array => {
  if (used + count > pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}
