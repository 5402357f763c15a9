import { DateTime, Duration, Effect, Layer, Option, Schedule } from "effect"
import { AuditStore } from "../../repo/access/AuditStore.ts"

const pause = Duration.hours(1)

/** The pause between portions, for other work. */
const rest = Duration.millis(50)

/** Removes audit events that are older than `retention`; without one, none. Every replica may do it. */
export const layer = (retention: Option.Option<Duration.Duration>): Layer.Layer<never, never, AuditStore> =>
  Option.match(retention, {
    onNone: () => Layer.empty,
    onSome: (age) => Layer.scopedDiscard(Effect.forkScoped(Effect.repeat(purge(age), Schedule.spaced(pause))))
  })

const purge = (age: Duration.Duration) =>
  Effect.gen(function* () {
    const store = yield* AuditStore
    const before = DateTime.subtractDuration(yield* DateTime.now, age)
    while ((yield* store.purgeAudit(before)) > 0) yield* Effect.sleep(rest)
  }).pipe(
    // The next round removes what this one could not.
    Effect.ignoreLogged
  )
