import { Effect, Exit, FiberSet, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { Report } from "./Bus.ts"
import { deliver } from "./Deliveries.ts"
import { acceptable } from "./Report.ts"

/** Reports that wait in this process to be handled. */
export interface ReportQueue {
  readonly put: (report: Report) => void
  /** As `Bus.consume`: many at a time; one whose handling was cut short waits for the next consumer. */
  readonly consume: (
    handle: (report: Report) => Effect.Effect<void, Unavailable>
  ) => Effect.Effect<void, never, Scope.Scope>
}

export const make = (): ReportQueue => {
  const waiting: Array<Report> = []
  // Opened on every change. Whoever finds nothing closes it, in the step that looked: no wake-up is lost.
  const changed = Effect.unsafeMakeLatch()

  const consume: ReportQueue["consume"] = Effect.fnUntraced(function* (handle) {
    const handling = yield* FiberSet.make()
    const handleOne = (report: Report) =>
      Effect.map(Effect.exit(Effect.interruptible(deliver(handle, report))), (exit) => {
        if (Exit.isSuccess(exit) && exit.value) return
        waiting.unshift(report)
        changed.unsafeOpen()
      })
    // A fiber forked here begins uninterruptible: a report that was taken is handled or put back.
    const next = Effect.suspend(() => {
      const report = waiting.shift()
      if (report !== undefined) return Effect.asVoid(FiberSet.run(handling, handleOne(report)))
      changed.unsafeClose()
      return Effect.interruptible(changed.await)
    })
    yield* next.pipe(Effect.uninterruptible, Effect.forever, Effect.interruptible, Effect.forkScoped)
  })

  return {
    put: (report) => {
      waiting.push(acceptable(report))
      changed.unsafeOpen()
    },
    consume
  }
}
