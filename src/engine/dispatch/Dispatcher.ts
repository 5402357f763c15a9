import { DateTime, Duration, Effect, FiberSet, Layer, Schedule, type Scope } from "effect"
import { Bus } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { type Change, ChangeFeed } from "../../repo/ChangeFeed.ts"
import type { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { LaneStore } from "../../repo/run/LaneStore.ts"
import type { LeaseLost, LeaseStore } from "../../repo/run/LeaseStore.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { Correlation } from "../outcome/Correlation.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Settings } from "../Settings.ts"
import { CurrentLanes } from "./CurrentLanes.ts"
import * as Lanes from "./Lanes.ts"
import { type Lease, whileHeld } from "./Lease.ts"
import type { Limiter } from "./Limiter.ts"

/** How often the rows are read, as notifications can be lost. */
const pollInterval = Duration.seconds(1)
/** How often lanes are checked for prompts that the broker may have lost. */
const auditInterval = Duration.seconds(1)
/** How long the reply path may take, in milliseconds, to reconnect and record the waiting replies. */
const answersCatchUp = 10_000

/** One term as the dispatcher: takes over the runs in flight, then advances the lanes. `before` is done first. */
const dispatch = Effect.fnUntraced(function* (
  lease: Lease,
  before: Effect.Effect<void, Unavailable>
): Effect.fn.Return<
  void,
  LeaseLost,
  | Bus
  | ChangeFeed
  | Correlation
  | CurrentLanes
  | HistoryStore
  | LaneStore
  | Limiter
  | Outcomes
  | RunStore
  | Scope.Scope
  | Settings
> {
  const bus = yield* Bus
  const feed = yield* ChangeFeed
  const store = yield* LaneStore
  const runs = yield* RunStore
  const outcomes = yield* Outcomes
  const { stopGrace } = yield* Settings
  const clock = yield* Effect.clock
  /**
   * Nothing expires before this stopwatch time. Answers that came in time may still be at the broker, because no server
   * could receive or record them; they must not lose to the clock.
   */
  let expireFrom = Number.NEGATIVE_INFINITY
  const mayExpire = () => stopwatch(clock) >= expireFrom
  const lanes = yield* Lanes.make(lease, mayExpire)

  const letAnswersCatchUp = () => {
    expireFrom = stopwatch(clock) + answersCatchUp
  }

  let recovered = false
  /** Counts the runs that earlier terms sent, or may have sent, before anything is sent. */
  const recover = Effect.map(untilAvailable(Effect.zipRight(before, store.inFlight)), (inFlight) => {
    recovered = true
    for (const run of inFlight) lanes.takeOver(run)
    if (bus.durable && inFlight.length > 0) letAnswersCatchUp()
    for (const team of lanes.teams()) lanes.wake(team)
  })

  const handle = (change: Change): void => {
    switch (change._tag) {
      case "RunAccepted":
        lanes.wake(change.team)
        break
      case "WebhookChanged":
        lanes.webhooksChanged()
        break
      case "RunAdmitted":
      case "RunChanged":
      case "RunStarted":
      case "RunEnded":
      case "LeaseReleased":
        break
    }
  }

  /** The stopwatch time since which replies were waiting at every check. */
  let repliesWaitSince: number | undefined
  const expire = Effect.gen(function* () {
    // A broker that takes no prompts takes no answers: the leaders still have them.
    yield* bus.ping
    const isWaiting = (yield* bus.repliesWaiting) > 0
    const now = stopwatch(clock)
    repliesWaitSince = isWaiting ? (repliesWaitSince ?? now) : undefined
    if (!mayExpire() || (repliesWaitSince !== undefined && now - repliesWaitSince < answersCatchUp)) return
    const options = { notSent: lanes.notSent(), stopped: lanes.stopped() }
    const at = yield* DateTime.now
    yield* Effect.map(runs.expire(at, options), (expired) => expired.forEach(outcomes.recorded))
    for (const { run_id, team } of yield* runs.releaseUnconfirmed(DateTime.subtractDuration(at, stopGrace), at)) {
      yield* Effect.logWarning(
        `The leader has not confirmed within ${Duration.format(stopGrace)} that the agent has stopped; it may still work. Its team and its slots are free`
      ).pipe(Effect.annotateLogs({ team, run_id }))
    }
  })

  const closeWindows = Effect.flatMap(DateTime.now, store.closeWindows)

  const wakeLanes = Effect.map(store.lanes, (teams) => {
    for (const team of teams) lanes.wake(team)
    lanes.dropIdle()
  })

  const poll = Effect.forEach(
    [expire, lanes.refreshLimits, closeWindows, wakeLanes],
    (step) => Effect.ignoreLogged(Effect.tapError(step, () => Effect.sync(letAnswersCatchUp))),
    { discard: true }
  )

  // The lanes' first reads find earlier changes.
  yield* feed.listen((changes) => {
    if (recovered) changes.forEach(handle)
  })
  const fibers = yield* FiberSet.make<void, LeaseLost>()
  yield* FiberSet.run(fibers, lease.keep)
  yield* FiberSet.run(fibers, lanes.join)
  yield* recover
  yield* (yield* CurrentLanes).serve(lanes)
  yield* outcomes.admitWithEnds(lanes.admitWithEnds)
  yield* FiberSet.run(fibers, Effect.repeat(poll, Schedule.spaced(pollInterval)))
  yield* FiberSet.run(fibers, Effect.repeat(lanes.audit, Schedule.spaced(auditInterval)))
  yield* FiberSet.join(fibers)
})

/**
 * Sends accepted runs to their teams' leaders: per team in order of acceptance, within the limits, and again after a
 * crash. It works from the rows alone. Only the holder of the lease sends.
 */
export const layer: Layer.Layer<
  never,
  never,
  | Bus
  | ChangeFeed
  | Correlation
  | CurrentLanes
  | HistoryStore
  | LaneStore
  | LeaseStore
  | Limiter
  | Outcomes
  | RunStore
  | Settings
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const store = yield* LaneStore
    let resend = (yield* Settings).resendRunning
    const forgetSent = Effect.gen(function* () {
      if (!resend) return
      yield* store.forgetSent(yield* DateTime.now)
      resend = false
      yield* Effect.logWarning("Everything in flight is sent again, as RESEND_RUNNING says")
    })
    yield* Effect.forkScoped(whileHeld((lease) => dispatch(lease, forgetSent)))
  })
)
