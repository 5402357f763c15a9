/** Checks a webhook and its destinations before any of them is stored. */
import { Effect } from "effect"
import { type Fault, Invalid, maxFaults, type Unavailable } from "../../domain/Errors.ts"
import { Webhooks } from "../manage/Webhooks.ts"
import { type CheckedDraft, Destinations } from "./Destinations.ts"

/** Unchecked drafts. */
interface Drafts {
  readonly webhook: unknown
  readonly destinations?: ReadonlyArray<unknown>
}

export const make = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  const destinations = yield* Destinations

  return Effect.fn("Webhooks.checkAll")(function* (drafts: Drafts) {
    const faults: Array<Fault> = []
    const faultsAt = <R>(pointer: string, check: Effect.Effect<unknown, Invalid | Unavailable, R>) =>
      Effect.catchTag(Effect.asVoid(check), "Invalid", (invalid) =>
        Effect.sync(() => {
          for (const fault of invalid.faults) faults.push({ ...fault, pointer: pointer + fault.pointer })
        })
      )
    yield* faultsAt("/webhook", webhooks.check(drafts.webhook))
    const beside: Array<CheckedDraft> = []
    for (const [at, draft] of (drafts.destinations ?? []).entries()) {
      const check = Effect.map(destinations.check("runs", draft, beside), (checked) => beside.push(checked))
      yield* faultsAt(`/destinations/${at}`, check)
    }
    if (faults.length > 0) return yield* new Invalid({ faults: faults.slice(0, maxFaults) })
  })
})
