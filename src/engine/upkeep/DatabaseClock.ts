/**
 * The clock of a server whose own clock may be wrong, or be changed while it runs. Servers that share a database
 * compare the current time with timestamps that others stored, so the current time is the database's. Between
 * comparisons, it follows the process's monotonic time, so a change of the system clock shortens or prolongs nothing.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { TimeStore } from "../../repo/TimeStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"

/** How far this server's clock is ahead of the database's, in milliseconds; undefined until the first comparison. */
export class ClockOffset extends Context.Reference<ClockOffset>()("webhook-trigger/ClockOffset", {
  defaultValue: (): { readonly millis: () => number | undefined } => ({ millis: () => undefined })
}) {}

/** How often the two are compared. */
const interval = Duration.seconds(5)
/** How many milliseconds they may differ without a warning. */
const tolerated = 1_000

class DatabaseClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos: Effect.Effect<bigint>
  private readonly own: Clock.Clock
  /** The correction added to the monotonic time. */
  private correction: number

  constructor(own: Clock.Clock) {
    this.own = own
    this.currentTimeNanos = own.currentTimeNanos
    this.correction = own.unsafeCurrentTimeMillis() - stopwatch(own)
  }

  unsafeCurrentTimeMillis(): number {
    return Math.floor(stopwatch(this.own) + this.correction)
  }

  unsafeCurrentTimeNanos(): bigint {
    return this.own.unsafeCurrentTimeNanos()
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return this.own.sleep(duration)
  }

  /** The database reported `now` between these two monotonic times. Corrects only as far as this proves the clock wrong. */
  compare(now: number, asked: number, answered: number): void {
    this.correction = Math.min(Math.max(this.correction, now - answered), now - asked)
  }

  offset(): number {
    return this.own.unsafeCurrentTimeMillis() - this.unsafeCurrentTimeMillis()
  }
}

const difference = (millis: number): string =>
  `This server's clock is ${Math.abs(millis / 1_000).toFixed(1)} s ${millis > 0 ? "ahead of" : "behind"} the database's`

/**
 * Sets the clock of everything built on this layer. A test that stops Effect's clock stops this one too, except for
 * corrections from the database.
 */
export const layer: Layer.Layer<ClockOffset, never, TimeStore> = Layer.unwrapScoped(
  Effect.gen(function* () {
    const own = yield* Effect.clock
    const { databaseTime } = yield* TimeStore
    const clock = new DatabaseClock(own)
    let isReported = false

    const compare = Effect.gen(function* () {
      const asked = stopwatch(own)
      clock.compare(yield* databaseTime, asked, stopwatch(own))
      const millis = clock.offset()
      const differs = Math.abs(millis) > tolerated
      if (differs === isReported) return
      isReported = differs
      yield* differs
        ? Effect.logWarning(`${difference(millis)}. The database's is used; synchronize both (NTP)`)
        : Effect.logInfo("This server's clock agrees with the database's again")
    }).pipe(Effect.withClock(clock))

    yield* untilAvailable(compare, { subject: "the start waits for the database" })
    yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignoreLogged(compare), interval)))
    return Layer.merge(Layer.setClock(clock), Layer.succeed(ClockOffset, { millis: () => clock.offset() }))
  })
)
