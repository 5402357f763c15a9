/**
 * The clock of a server whose own may be wrong, or be set while it runs: servers that share a database compare the moments
 * that others have stored with the present, so the present is the database's. In between it goes on by the process's
 * monotonic time, so that a clock that is set shortens or prolongs nothing.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { stopwatch } from "../domain/Stopwatch.ts"
import { TimeStore } from "../repo/TimeStore.ts"
import { untilAvailable } from "./Availability.ts"

/** How far this server's clock is ahead of the database's, in milliseconds; none: it has not been compared. */
export class ClockOffset extends Context.Reference<ClockOffset>()("webhook-trigger/ClockOffset", {
  defaultValue: (): { readonly millis: () => number | undefined } => ({ millis: () => undefined })
}) {}

/** How often the two are compared. */
const interval = Duration.seconds(5)
/** Milliseconds by which they may differ before it is reported. */
const tolerated = 1_000

class DatabaseClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos: Effect.Effect<bigint>
  private readonly own: Clock.Clock
  /** What is added to the monotonic time. */
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

  /** The database said that it was `now`, between these two of the monotonic time: corrected only as far as that is certain. */
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
 * Sets the clock of everything that is built on it. Whatever stops Effect's clock, such as a test, stops this one, too, but
 * for what the database says.
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
        ? Effect.logWarning(`${difference(millis)}, which counts: see that both are synchronized (NTP)`)
        : Effect.logInfo("This server's clock agrees with the database's again")
    }).pipe(Effect.withClock(clock))

    yield* untilAvailable(compare)
    yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignoreLogged(compare), interval)))
    return Layer.merge(Layer.setClock(clock), Layer.succeed(ClockOffset, { millis: () => clock.offset() }))
  })
)
