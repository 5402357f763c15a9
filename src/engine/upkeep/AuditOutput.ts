import { Effect, Layer, Schema } from "effect"
import { AuditEvent } from "../../domain/access/AuditEvent.ts"
import { AuditStore } from "../../repo/access/AuditStore.ts"

const pause = "1 second"

/** Time until the next attempt when standard output or the database fails. */
const pauseAfterFault = "10 seconds"

const encode = Schema.encodeSync(AuditEvent)

/** The field `type` distinguishes the event from other lines. */
const lineOf = (event: AuditEvent): string => `${JSON.stringify({ type: "audit", ...encode(event) })}\n`

const write = (events: ReadonlyArray<AuditEvent>) =>
  Effect.callback<void, Error>((resume) => {
    process.stdout.write(events.map(lineOf).join(""), (error) => resume(error ? Effect.fail(error) : Effect.void))
  })

/** The error of a failed write, which its callback has as well. */
const ignored = () => {}
const ignoreErrors = Effect.acquireRelease(
  Effect.sync(() => process.stdout.on("error", ignored)),
  () => Effect.sync(() => process.stdout.off("error", ignored))
)

/**
 * Writes every audit event to standard output, as a line of JSON, after the commit of its change. Each event is written by one of
 * the replicas that have this layer; after a crash, some may be written twice.
 */
export const layer: Layer.Layer<never, never, AuditStore> = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* AuditStore
    yield* ignoreErrors
    const writeAll = Effect.repeat(store.logAudit(write), { while: (events) => events > 0 })
    const round = Effect.matchEffect(writeAll, {
      onSuccess: () => Effect.sleep(pause),
      onFailure: (error) =>
        Effect.logWarning(`Audit events could not be written to standard output: ${error.message}`).pipe(
          Effect.andThen(Effect.sleep(pauseAfterFault))
        )
    })
    // The last events before a stop.
    yield* Effect.addFinalizer(() => Effect.ignoreCause({ log: "Debug" })(writeAll))
    yield* Effect.forkScoped(Effect.forever(round))
  })
)
