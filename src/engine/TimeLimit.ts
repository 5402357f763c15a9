import vm from "node:vm"
import { Function, Option } from "effect"

const context = vm.createContext({ run: undefined as unknown })
const script = new vm.Script("run()")

/** How often a function has to be too slow before it is taken for that: once may be the machine, or a garbage collection. */
const slowAttempts = 2

/** How often it is begun in all, on a machine that is busy with something else. */
const attempts = 10

/** For how long what was too slow is to rest, in milliseconds: so that it takes a tenth of the server at most. */
export const restAfter = (milliseconds: number): number => 9 * slowAttempts * milliseconds

/**
 * What the function returns, unless it works for longer than that many milliseconds or nests its calls too deep. For what a
 * webhook's author and its callers decide together, such as a regular expression: it may take exponential time, and would
 * hold up the whole server. V8 stops it wherever it is. Costs a tenth of a millisecond. Not to be nested.
 *
 * `isTooSlow`: the result says so of itself. What was too slow is begun again, until it was so twice and has had the
 * processor for that long.
 */
export const withinTime = <A>(
  milliseconds: number,
  run: () => A,
  isTooSlow: (result: A) => boolean = Function.constFalse
): Option.Option<A> => {
  const begun = processorTime()
  context.run = run
  try {
    for (let attempt = 1; ; attempt++) {
      const result = beforeTimeout<A>(milliseconds)
      if (Option.isSome(result) && !isTooSlow(result.value)) return result
      const hasWorked = attempt >= slowAttempts && processorTime() - begun >= milliseconds
      if (hasWorked || attempt === attempts) return result
    }
  } catch (error) {
    if (error instanceof RangeError) return Option.none()
    throw error
  } finally {
    context.run = undefined
  }
}

const beforeTimeout = <A>(milliseconds: number): Option.Option<A> => {
  try {
    return Option.some(script.runInContext(context, { timeout: milliseconds }) as A)
  } catch (error) {
    if (isTimeout(error)) return Option.none()
    throw error
  }
}

const isTimeout = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

/** In milliseconds. */
const processorTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
