import vm from "node:vm"
import { Data, Result } from "effect"
import { Unavailable } from "../domain/Errors.ts"
import { threadTime } from "./ThreadTime.ts"

const context = vm.createContext({ run: undefined as unknown })
const script = new vm.Script("run()")

/** How many times its limit an attempt may last on a machine that is busy with other work. */
const longest = 8

/** The share of its limit that a stopped attempt must have had in CPU time to count as slow. */
const share = 0.9

/** It takes more CPU time than it may, and would again at the next try. */
export class TooSlow extends Data.TaggedError("TooSlow") {}

/** The CPU was busy with other work. */
export const busy = new Unavailable({
  what: "server",
  detail: "The server is too busy to check this request. Try again in a moment."
})

/**
 * Returns the function's result, unless it takes this many milliseconds of CPU time or nests its calls too deep. This is
 * the last resort for work that is not counted, such as a regular expression's. V8 stops the function, but not in the
 * middle of a native call. Costs a tenth of a millisecond. Must not be nested.
 *
 * V8 measures wall-clock time. If the CPU was busy with other work, the function is called again with twice the time.
 */
export const withinTime = <A>(
  milliseconds: number,
  run: () => A,
  processorTime = threadTime
): Result.Result<A, TooSlow | Unavailable> => {
  context.run = run
  try {
    for (let timeout = milliseconds; timeout <= longest * milliseconds; timeout *= 2) {
      const begun = processorTime()
      try {
        return Result.succeed(script.runInContext(context, { timeout: Math.ceil(timeout) }) as A)
      } catch (error) {
        if (error instanceof RangeError) return Result.fail(new TooSlow())
        if (!isTimeout(error)) throw error
        if (processorTime() - begun >= share * milliseconds) return Result.fail(new TooSlow())
      }
    }
    return Result.fail(busy)
  } finally {
    context.run = undefined
  }
}

const isTimeout = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
