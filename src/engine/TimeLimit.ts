import vm from "node:vm"
import { Option } from "effect"

const context = vm.createContext({ run: undefined as unknown })
const script = new vm.Script("run()")

/**
 * What the function returns, unless it runs for longer than that many milliseconds or nests its calls too deep. For what a
 * webhook's author and its callers decide together, such as a regular expression: it may take exponential time, and would
 * hold up the whole server. V8 stops it wherever it is. Costs a tenth of a millisecond. Not to be nested.
 */
export const withinTime = <A>(milliseconds: number, run: () => A): Option.Option<A> => {
  context.run = run
  try {
    return Option.some(script.runInContext(context, { timeout: milliseconds }) as A)
  } catch (error) {
    if (isTooMuch(error)) return Option.none()
    throw error
  } finally {
    context.run = undefined
  }
}

const isTooMuch = (error: unknown): boolean =>
  error instanceof RangeError || (error as { readonly code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
