/** Checks a webhook and its destinations before any of them is stored. */
import { Effect } from "effect"
import { type Fault, Invalid, maxFaults, type Unavailable } from "../../domain/Errors.ts"
import { Destinations } from "../delivery/Destinations.ts"
import { Webhooks } from "./Webhooks.ts"

/** Unchecked drafts. */
export interface Drafts {
  readonly webhook: unknown
  readonly destinations?: ReadonlyArray<unknown>
}

export const make = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  const destinations = yield* Destinations

  const faultsAt = <R>(pointer: string, check: Effect.Effect<void, Invalid | Unavailable, R>) =>
    check.pipe(
      Effect.as([] as ReadonlyArray<Fault>),
      Effect.catchTag("Invalid", ({ faults }) =>
        Effect.succeed(faults.map((fault): Fault => ({ ...fault, pointer: pointer + fault.pointer })))
      )
    )

  return Effect.fn("Webhooks.checkAll")(function* (drafts: Drafts) {
    const faults = [
      yield* faultsAt("/webhook", webhooks.check(drafts.webhook)),
      ...(yield* Effect.forEach(drafts.destinations ?? [], (draft, at) =>
        faultsAt(`/destinations/${at}`, destinations.check("runs", draft))
      ))
    ].flat()
    if (faults.length > 0) return yield* new Invalid({ faults: faults.slice(0, maxFaults) })
  })
})
