/** Audit events for wrong keys and refused sign-ins: a few per minute, for any number of attempts. */
import { Duration, Effect, type Scope } from "effect"
import type { AuditAction } from "../../domain/access/AuditEvent.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import { draft, Origin, record } from "./Audit.ts"

/** An address's first attempt is an event of its own; its others within this time are one more. */
const window = Duration.minutes(1)

/** Maximum number of addresses with their own events in that time. The others share one. */
const mostAddresses = 20

/** Writes the events of one action. The result counts an attempt from an address. */
export const make = (
  action: Extract<AuditAction, `${string}.refused`>
): Effect.Effect<(client_address: string) => Effect.Effect<void>, never, AuditStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* AuditStore
    const scope = yield* Effect.scope
    const more = new Map<string, number>()
    let ofOthers = 0

    const write = (attempts: number, client_address?: string) =>
      Effect.flatMap(draft(action), (event) => record({ ...event, attempts })).pipe(
        Effect.provideService(Origin, { actor: "unknown", ...(client_address !== undefined && { client_address }) }),
        Effect.provideService(AuditStore, store)
      )
    const writeRest = Effect.suspend(() => {
      const rest = [...more].filter(([, attempts]) => attempts > 0)
      const others = ofOthers
      more.clear()
      ofOthers = 0
      return Effect.andThen(
        Effect.forEach(rest, ([address, attempts]) => write(attempts, address), { discard: true }),
        others > 0 ? write(others) : Effect.void
      )
    })
    yield* Effect.addFinalizer(() => writeRest)
    yield* Effect.forkScoped(Effect.forever(Effect.delay(writeRest, window)))

    return (address) =>
      Effect.suspend(() => {
        const attempts = more.get(address)
        if (attempts !== undefined) more.set(address, attempts + 1)
        else if (more.size >= mostAddresses) ofOthers++
        else {
          more.set(address, 0)
          // The answer does not wait for it.
          return Effect.asVoid(Effect.forkIn(write(1, address), scope))
        }
        return Effect.void
      })
  })
