import { Clock, Duration, Effect, FiberSet, Layer, Schedule, Scope } from "effect"
import { Bus } from "../bus/Bus.ts"
import type { TeamName } from "../domain/Team.ts"
import { type Change, type LeaseLost, onChanges, Repo } from "../repo/Repo.ts"
import { detached } from "./Detached.ts"
import * as Lane from "./Lane.ts"
import { type Lease, whileHeld } from "./Lease.ts"
import { Limiter } from "./Limiter.ts"
import { Outcomes } from "./Outcomes.ts"
import { persistently } from "./Persistently.ts"

/** How often the rows are asked what no notification told. */
const pollInterval = Duration.seconds(1)
/** How often the broker is asked whether it still has what was sent. */
const auditInterval = Duration.seconds(5)
/** How long the reply path may take, in milliseconds, to reconnect and record what has waited for it. */
const answersCatchUp = 10_000
/** How long a stopping dispatcher takes to record what it has sent. */
const recordGrace = Duration.seconds(5)

/** One term as the dispatcher: first what the term before has left in flight, then the lanes. */
const dispatch = (lease: Lease): Effect.Effect<void, LeaseLost, Bus | Limiter | Outcomes | Repo | Scope.Scope> =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const limiter = yield* Limiter
    const outcomes = yield* Outcomes
    const repo = yield* Repo

    // Closed from the last to the first: the lanes stop, then what they have sent is recorded, then slots are given back.
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const records = yield* FiberSet.make<void>()
    yield* Effect.addFinalizer(() => detached(Effect.timeoutOption(FiberSet.awaitEmpty(records), recordGrace)))
    const fibers = yield* FiberSet.make<void, LeaseLost>()
    const fork = FiberSet.run(fibers)
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
      const inFlight = yield* persistently(repo.inFlight)
      for (const run of inFlight) yield* laneOf(run.team).takeOver(run)
      if (bus.durable && inFlight.length > 0) yield* letAnswersCatchUp
      for (const lane of lanes.values()) yield* lane.wake()
    })

    const heed = (change: Change) => {
      switch (change._tag) {
        case "RunAccepted":
          return wake(change.team)
        case "WebhookChanged":
          for (const lane of lanes.values()) lane.readAgain()
          return Effect.ignoreLogged(refreshLimits)
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

    /**
     * Nothing expires before this, in milliseconds since the epoch. Answers that came in time while nobody could record
     * them are with the broker, and must not lose to the clock.
     */
    let expireFrom = 0
    const letAnswersCatchUp = Effect.map(Clock.currentTimeMillis, (now) => {
      expireFrom = now + answersCatchUp
    })

    const expire = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (now < expireFrom) return
      for (const run of yield* repo.expire(new Date(now))) yield* outcomes.recorded(run)
    })

    const wakeLanes = Effect.gen(function* () {
      for (const team of yield* repo.lanes) yield* wake(team)
      for (const [team, lane] of lanes) if (lane.isIdle()) lanes.delete(team)
    })

    const poll = Effect.forEach(
      [expire, refreshLimits, wakeLanes],
      (step) => Effect.ignoreLogged(Effect.tapError(step, () => letAnswersCatchUp)),
      { discard: true }
    )

    const audit = Effect.suspend(() => Effect.forEach(lanes.values(), (lane) => lane.audit, { discard: true }))

    const changes = yield* repo.changes
    yield* fork(lease.keep)
    yield* recover
    yield* fork(onChanges(changes, (all) => Effect.forEach(all, heed, { discard: true })))
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
