/**
 * Deadlines for promises, in plain code and in the process's own time. Not by `AbortSignal.timeout`, which `npm run check`
 * refuses: as a part of `AbortSignal.any`, Node 20 collects it as garbage, and the work never ends.
 */

/** The work took longer than it may. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed"
  readonly milliseconds: number
  constructor(milliseconds: number) {
    super(`not done within ${milliseconds / 1_000} seconds`)
    this.milliseconds = milliseconds
  }
}

/**
 * Does the work, and rejects with `DeadlinePassed` after so many milliseconds, or with the reason of `outer` once that is aborted.
 * Both abort the signal that the work gets, and neither waits for work that ignores it.
 */
export const withDeadline = <A>(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<A>,
  outer?: AbortSignal
): Promise<A> =>
  new Promise((resolve, reject) => {
    const controller = new AbortController()
    const stop = (reason: unknown) => {
      reject(reason)
      controller.abort(reason)
    }
    const stopped = () => stop(outer?.reason)
    if (outer?.aborted) return stopped()
    outer?.addEventListener("abort", stopped, { once: true })
    // It also keeps the controller, and with it the signal.
    const timer = setTimeout(() => stop(new DeadlinePassed(milliseconds)), milliseconds)
    const over = () => {
      clearTimeout(timer)
      outer?.removeEventListener("abort", stopped)
    }
    const begun = new Promise<A>((begin) => begin(work(controller.signal)))
    begun.finally(over).then(resolve, reject)
  })
