import { setTimeout as sleep } from "node:timers/promises"

/** Looks until there is something to see; fails, saying what was waited for, when there is nothing after `ms`. */
export const until = async <A>(
  what: string,
  look: () => A | undefined | false | Promise<A | undefined | false>,
  ms = 30_000,
  every = 25
): Promise<A> => {
  const end = performance.now() + ms
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    if (performance.now() > end) throw new Error(`waited ${ms} ms in vain: ${what}`)
    await sleep(every)
  }
}

/** The promise, or an error when it takes longer than `ms`. */
export const within = async <A>(ms: number, what: string, promise: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`longer than ${ms} ms: ${what}`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
