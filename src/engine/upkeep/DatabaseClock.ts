/**
 * The clock of a server whose own clock may be wrong, or be changed while it runs. Servers that share a database
 * compare the current time with timestamps that others stored, so the current time is the database's. Between
 * comparisons, it follows the process's monotonic time, so a change of the system clock shortens or prolongs nothing.
 *
 * If the database's clock is set while the server runs, the deadlines that are stored are of the time before. So that change is
 * followed by half a second every five seconds. If the server's own clock has changed as much, the machine was asleep, and the
 * change is followed at once.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { TimeStore } from "../../repo/TimeStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"

/** How far this server's clock is ahead of the database's, in milliseconds; undefined until the first comparison. */
export class ClockOffset extends Context.Reference("webhook-trigger/ClockOffset", {
  defaultValue: (): { readonly millis: () => number | undefined } => ({ millis: () => undefined })
}) {}

/** How often the two are compared. */
const interval = Duration.seconds(5)
/** How many milliseconds they may differ without a warning. */
const tolerated = 1_000
/** How many milliseconds of a change of the database's clock are followed at each comparison. */
const followed = 500

class DatabaseClock implements Clock.Clock {
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos: Effect.Effect<bigint>
  readonly monotonicTimeNanos: Effect.Effect<bigint>
  private readonly own: Clock.Clock
  /** The correction added to the monotonic time. */
  private correction: number
  /** The same for the server's own clock, at the last comparison. */
  private ownCorrection: number
  private isCompared = false

  constructor(own: Clock.Clock) {
    this.own = own
    this.currentTimeNanos = own.currentTimeNanos
    this.monotonicTimeNanos = own.monotonicTimeNanos
    this.correction = this.ownCorrection = own.currentTimeMillisUnsafe() - stopwatch(own)
  }

  currentTimeMillisUnsafe(): number {
    return Math.floor(stopwatch(this.own) + this.correction)
  }

  currentTimeNanosUnsafe(): bigint {
    return this.own.currentTimeNanosUnsafe()
  }

  monotonicTimeNanosUnsafe(): bigint {
    return this.own.monotonicTimeNanosUnsafe()
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return this.own.sleep(duration)
  }

  /**
   * The database reported `now` between these two monotonic times. Corrects only as far as this proves the clock wrong. Returns
   * how much the database's clock is ahead after that.
   */
  compare(now: number, asked: number, answered: number): number {
    const ownCorrection = this.own.currentTimeMillisUnsafe() - stopwatch(this.own)
    const ownChange = ownCorrection - this.ownCorrection
    const change = Math.min(Math.max(this.correction, now - answered), now - asked) - this.correction
    const isTime = !this.isCompared || Math.abs(change - ownChange) <= tolerated
    const step = isTime ? change : Math.sign(change) * Math.min(Math.abs(change), followed)
    this.correction += step
    this.ownCorrection = ownCorrection
    this.isCompared = true
    return change - step
  }

  offset(): number {
    return this.own.currentTimeMillisUnsafe() - this.currentTimeMillisUnsafe()
  }
}

const difference = (millis: number): string =>
  `This server's clock is ${Math.abs(millis / 1_000).toFixed(1)} s ${millis > 0 ? "ahead of" : "behind"} the database's`

const changed = (millis: number): string =>
  `The database's clock was set ${Math.abs(millis / 1_000).toFixed(1)} s ${millis > 0 ? "forward" : "back"}`

/**
 * Sets the clock of everything built on this layer. A test that stops Effect's clock stops this one too, except for
 * corrections from the database.
 */
export const layer: Layer.Layer<never, never, TimeStore> = Layer.unwrap(
  Effect.gen(function* () {
    const own = yield* Clock.Clock
    const { databaseTime } = yield* TimeStore
    const clock = new DatabaseClock(own)
    let isReported = false
    let isSet = false

    const compare = Effect.gen(function* () {
      const asked = stopwatch(own)
      const left = clock.compare(yield* databaseTime, asked, stopwatch(own))
      const wasSet = isSet
      isSet = Math.abs(left) > tolerated
      if (isSet && !wasSet) yield* Effect.logWarning(`${changed(left)}. Deadlines are kept; it is followed slowly`)
      const millis = clock.offset()
      const differs = Math.abs(millis) > tolerated
      if (differs === isReported) return
      isReported = differs
      yield* differs
        ? Effect.logWarning(`${difference(millis)}. The database's is used; synchronize both (NTP)`)
        : Effect.logInfo("This server's clock agrees with the database's again")
    }).pipe(Effect.provideService(Clock.Clock, clock))

    yield* untilAvailable(compare, { subject: "the start waits for the database" })
    yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignoreCause({ log: "Debug" })(compare), interval)))
    return Layer.merge(Layer.succeed(Clock.Clock, clock), Layer.succeed(ClockOffset, { millis: () => clock.offset() }))
  })
)
