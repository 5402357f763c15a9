import { Clock, Duration, Effect, FiberSet, Layer, Schedule, type Scope, Stream } from "effect"
import type { TeamName } from "../domain/Team.ts"
import { Bus } from "./Bus.ts"
import * as Lane from "./Lane.ts"
import { type Lease, whileHeld } from "./Lease.ts"
import { Limiter } from "./Limiter.ts"
import { Outcomes } from "./Outcomes.ts"
import { persistently } from "./Persistently.ts"
import { type Change, type LeaseLost, Repo } from "./Repo.ts"

/** How often the rows are asked what no notification told. */
const pollInterval = Duration.seconds(1)
/** How often the broker is asked whether it still has what was sent. */
const auditInterval = Duration.seconds(5)
/** How long a stopping dispatcher takes to record what it has sent. */
const recordGrace = Duration.seconds(5)

/** One term as the dispatcher: first what the term before has left in flight, then the lanes. */
const dispatch = (lease: Lease): Effect.Effect<void, LeaseLost, Bus | Limiter | Outcomes | Repo | Scope.Scope> =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const limiter = yield* Limiter
    const outcomes = yield* Outcomes
    const repo = yield* Repo
    const scope = yield* Effect.scope

    const fibers = yield* FiberSet.make<void, LeaseLost>()
    const fork = FiberSet.run(fibers)
    const records = yield* FiberSet.make<void>()
    yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(records), recordGrace))
    const term: Lane.Term = {
      bus,
      limiter,
      outcomes,
      repo,
      lease,
      scope,
      fork,
      forkToTheEnd: FiberSet.run(records)
    }

    const lanes = new Map<TeamName, Lane.Lane>()
    const laneOf = (team: TeamName) => {
      const lane = lanes.get(team) ?? Lane.make(team, term)
      lanes.set(team, lane)
      return lane
    }
    const wake = (team: TeamName) => Effect.suspend(() => laneOf(team).wake())

    /** Before anything is sent: what the term before has sent, or may have, is counted. */
    const recover = Effect.gen(function* () {
      for (const run of yield* persistently(repo.inFlight)) {
        yield* laneOf(run.team).takeOver(run)
      }
      for (const lane of lanes.values()) yield* lane.wake()
    })

    const heed = (change: Change) => {
      switch (change._tag) {
        case "RunAccepted":
          return wake(change.team)
        case "WebhookChanged":
          for (const lane of lanes.values()) lane.readAgain()
          return Effect.ignore(refreshLimits)
        default:
          return Effect.void
      }
    }

    const refreshLimits = Effect.gen(function* () {
      const webhooks = yield* limiter.webhooks
      if (webhooks.length === 0) return
      const limits = yield* repo.limits(webhooks)
      for (const webhook of webhooks) yield* limiter.setLimit(webhook, limits.get(webhook))
    })

    const expire = Effect.gen(function* () {
      for (const run of yield* repo.expire(new Date(yield* Clock.currentTimeMillis))) yield* outcomes.announce(run)
    })

    const poll = Effect.gen(function* () {
      yield* expire
      yield* refreshLimits
      for (const team of yield* repo.lanes) yield* wake(team)
      for (const [team, lane] of lanes) if (lane.isIdle()) lanes.delete(team)
    }).pipe(Effect.ignore)

    const audit = Effect.suspend(() => Effect.forEach(lanes.values(), (lane) => lane.audit, { discard: true }))

    const changes = yield* repo.changes
    yield* recover
    yield* fork(Stream.runForEach(changes, heed))
    yield* fork(Effect.repeat(poll, Schedule.spaced(pollInterval)))
    yield* fork(Effect.repeat(audit, Schedule.spaced(auditInterval)))
    yield* FiberSet.join(fibers)
  })

/**
 * Sends accepted runs to their teams' leaders: per team in order of acceptance, within the limits, and again after a
 * crash. Driven by the rows alone. At any time only the holder of the lease does it; what it has sent stays within the
 * limits until it has ended, whoever recorded the end.
 */
export const layer: Layer.Layer<never, never, Bus | Limiter | Outcomes | Repo> = Layer.scopedDiscard(
  Effect.forkScoped(whileHeld(dispatch))
)
