import vm from "node:vm"
import { Option } from "effect"

const context = vm.createContext({ run: undefined as unknown })
const script = new vm.Script("run()")

/** How often a function is begun again that was ended while the machine was doing something else. */
const attempts = 10

/**
 * What the function returns, unless it works for longer than that many milliseconds or nests its calls too deep. For what a
 * webhook's author and its callers decide together, such as a regular expression: it may take exponential time, and would
 * hold up the whole server. V8 stops it wherever it is. Costs a tenth of a millisecond. The function may be begun more than
 * once: on a busy machine the time may pass without its having worked. Not to be nested.
 */
export const withinTime = <A>(milliseconds: number, run: () => A): Option.Option<A> => {
  context.run = run
  try {
    for (let attempt = 1; ; attempt++) {
      const before = process.cpuUsage()
      try {
        return Option.some(script.runInContext(context, { timeout: milliseconds }) as A)
      } catch (error) {
        if (error instanceof RangeError) return Option.none()
        if (!isTimeout(error)) throw error
        const { user, system } = process.cpuUsage(before)
        const hasWorked = (user + system) / 1000 > milliseconds / 2
        if (hasWorked || attempt === attempts) return Option.none()
      }
    }
  } finally {
    context.run = undefined
  }
}

const isTimeout = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
