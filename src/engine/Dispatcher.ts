import {
  Clock,
  Duration,
  Effect,
  ExecutionStrategy,
  Exit,
  FiberSet,
  Layer,
  Option,
  Schedule,
  Scope,
  Stream
} from "effect"
import type { Outcome, Run } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import { Bus, type Prompt } from "./Bus.ts"
import { type Lease, whileHeld } from "./Lease.ts"
import { Limiter } from "./Limiter.ts"
import { type Ended, Outcomes } from "./Outcomes.ts"
import { persistently } from "./Persistently.ts"
import { reach } from "./RacePoint.ts"
import { type Change, type Dispatchable, type LeaseLost, Repo } from "./Repo.ts"

/** How often the rows are asked what no notification told. */
const pollInterval = Duration.seconds(1)
/** Runs of a lane that are read ahead. */
const pageSize = 64
/** How often a lane looks whether its team's missing queue is back. */
const queueLookInterval = Duration.seconds(1)

/** How long a stopping dispatcher takes to record what it has sent. */
const recordGrace = Duration.seconds(5)

/** A run that is being sent or has been sent; its scope holds its slots. */
interface Flight {
  readonly run: Dispatchable
  readonly end: Effect.Effect<Ended>
  readonly scope: Scope.CloseableScope
}

/** One team's line: strictly in order of acceptance, and only its head waits for a slot. */
interface Lane {
  readonly team: TeamName
  /** Admitted and not ended, oldest first. */
  readonly flights: Set<Flight>
  /** Those of them that the broker does not have for certain, oldest first. */
  unsent: ReadonlyArray<Flight>
  /** Somebody said that there is more, after the rows were last read. */
  more: boolean
  busy: boolean
  /** Milliseconds since the epoch at which the team's queue was first missed. */
  goneSince?: number
}

/**
 * Sends accepted runs to their teams' leaders: per team in order of acceptance, within the limits, and again after a
 * crash. Driven by the rows alone. At any time only the holder of the lease does it; what it has sent stays within the
 * limits until it has ended, whoever recorded the end.
 */
export const layer: Layer.Layer<never, never, Bus | Limiter | Outcomes | Repo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const bus = yield* Bus
    const limiter = yield* Limiter
    const outcomes = yield* Outcomes
    const repo = yield* Repo

    const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

    const end = Effect.fn("Dispatcher.end")(function* (run: Dispatchable, outcome: Outcome) {
      const ending = yield* persistently(repo.end(run.run_id, outcome, yield* now))
      if (Option.isSome(ending.run)) yield* outcomes.announce(ending.run.value)
    })

    /** One term as the dispatcher: first what the term before has left in flight, then the lanes. */
    const dispatch = (lease: Lease): Effect.Effect<void, LeaseLost, Scope.Scope> =>
      Effect.gen(function* () {
        const term = yield* Effect.scope
        const fibers = yield* FiberSet.make<void, LeaseLost>()
        const fork = FiberSet.run(fibers)
        const records = yield* FiberSet.make<void>()
        yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(records), recordGrace))
        const lanes = new Map<TeamName, Lane>()

        const laneOf = (team: TeamName) => {
          const lane: Lane = lanes.get(team) ?? { team, flights: new Set(), unsent: [], more: false, busy: false }
          lanes.set(team, lane)
          return lane
        }
        const forgetIdle = (lane: Lane) => {
          if (!lane.busy && lane.flights.size === 0) lanes.delete(lane.team)
        }

        const wake = (team: TeamName) => {
          const lane = laneOf(team)
          lane.more = true
          if (lane.busy) return Effect.void
          lane.busy = true
          return fork(drain(lane))
        }

        /** Works through a lane until it is empty. */
        const drain = Effect.fn("Dispatcher.drain")(function* (lane: Lane) {
          while (lane.more) {
            lane.more = false
            yield* publishUnsent(lane)
            const runs = yield* persistently(repo.lane(lane.team, pageSize))
            for (const run of runs) yield* send(lane, run)
            if (runs.length > 0) lane.more = true
          }
          lane.busy = false
          forgetIdle(lane)
        })

        /** Sends the head of a lane once it has its slots, or passes it over when it has ended meanwhile. */
        const send = Effect.fn("Dispatcher.send")(function* (lane: Lane, run: Dispatchable) {
          const flight = yield* takeOff(run)
          const ready = yield* awaitSlots(flight)
          if (!ready || !(yield* persistently(repo.admit(run.run_id, lease.term)))) return yield* land(flight)
          yield* reach("admitted")
          yield* follow(lane, flight)
          lane.unsent = [...lane.unsent, flight]
          yield* publishUnsent(lane)
        })

        const takeOff = Effect.fn("Dispatcher.takeOff")(function* (run: Dispatchable) {
          const scope = yield* Scope.fork(term, ExecutionStrategy.sequential)
          const end = yield* Scope.extend(outcomes.watch(run.run_id), scope)
          return { run, end, scope } satisfies Flight
        })
        const land = (flight: Flight) => Scope.close(flight.scope, Exit.void)

        const awaitSlots = ({ run, end, scope }: Flight) =>
          run.webhook === undefined
            ? Effect.succeed(true)
            : Effect.raceFirst(
                Effect.as(Scope.extend(limiter.acquire(run.webhook.id, run.webhook.max_concurrent), scope), true),
                Effect.as(end, false)
              )

        /** Gives the slots back when the run has ended. */
        const follow = (lane: Lane, flight: Flight) => {
          lane.flights.add(flight)
          return fork(
            Effect.zipRight(
              flight.end,
              Effect.suspend(() => {
                lane.flights.delete(flight)
                forgetIdle(lane)
                return land(flight)
              })
            )
          )
        }

        /** One after the other, each confirmed before the next: so the broker's order is the lane's. */
        const publishUnsent = Effect.fn("Dispatcher.publishUnsent")(function* (lane: Lane) {
          for (;;) {
            const [flight, ...rest] = lane.unsent
            if (flight === undefined) return
            const taken = !lane.flights.has(flight) || (yield* publish(flight))
            if (taken) {
              delete lane.goneSince
              lane.unsent = rest
            } else if (yield* queueComesBack(lane, flight.run)) {
              // What was in the queue went with it; whatever has not been answered is sent again, as the same runs.
              lane.unsent = [...lane.flights]
            } else {
              yield* end(flight.run, { status: "error", error: teamGone })
              lane.unsent = rest
            }
          }
        })

        /** True once the broker has the prompt for good, or nobody needs it any more; false when the queue is gone. */
        const publish = ({ run, end: ended }: Flight) =>
          Effect.gen(function* () {
            if (yield* isLate(run)) return yield* end(run, { status: "timeout" })
            yield* lease.check
            // A stop between the two would leave the run sent and not known to be: it would be sent twice.
            yield* Effect.uninterruptible(
              bus.publish(promptOf(run)).pipe(Effect.zipRight(reach("published")), Effect.zipRight(recordSent(run)))
            )
          }).pipe(
            persistently,
            Effect.raceFirst(ended),
            Effect.as(true),
            Effect.catchTag("QueueGone", () => Effect.succeed(false))
          )

        const isLate = ({ deadline_at }: Dispatchable) =>
          Effect.map(now, (now) => deadline_at !== undefined && deadline_at <= now)

        const recordSent = (run: Dispatchable) =>
          Effect.flatMap(now, (at) => FiberSet.run(records, persistently(repo.sent(run.run_id, at))))

        /** Waits for a missing queue, for as long as the run's timeout after it was first missed. */
        const queueComesBack = Effect.fn("Dispatcher.queueComesBack")(function* (lane: Lane, run: Dispatchable) {
          const now = yield* Clock.currentTimeMillis
          if (lane.goneSince === undefined) {
            lane.goneSince = now
            yield* Effect.logWarning("The team's queue is gone").pipe(Effect.annotateLogs({ team: lane.team }))
          }
          const left = lane.goneSince + run.timeout_ms - now
          const back = persistently(bus.queue(lane.team)).pipe(
            Effect.repeat({ schedule: Schedule.spaced(queueLookInterval), until: ({ exists }) => exists }),
            Effect.timeoutOption(Math.max(0, left))
          )
          return Option.isSome(yield* back)
        })

        const recover = Effect.gen(function* () {
          for (const run of yield* persistently(repo.inFlight)) {
            const lane = laneOf(run.team)
            const flight = yield* takeOff(run)
            if (run.webhook !== undefined) {
              yield* Scope.extend(limiter.hold(run.webhook.id, run.webhook.max_concurrent), flight.scope)
            }
            yield* follow(lane, flight)
            // Known to be with a broker that outlived us: its answer will come. Else it is sent again, as the same run.
            if (run.status !== "running" || !bus.durable) lane.unsent = [...lane.unsent, flight]
          }
        })

        const heed = (change: Change) => {
          switch (change._tag) {
            case "RunAccepted":
              return wake(change.team)
            case "WebhookChanged":
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
          const expired: ReadonlyArray<Run> = yield* repo.expire(yield* now)
          for (const run of expired) yield* outcomes.announce(run)
        })

        const poll = Effect.gen(function* () {
          yield* expire
          yield* refreshLimits
          for (const team of yield* repo.lanes) yield* wake(team)
        }).pipe(Effect.ignore)

        yield* recover
        for (const lane of lanes.values()) yield* wake(lane.team)
        yield* fork(Stream.runForEach(repo.changes, heed))
        yield* fork(Effect.repeat(poll, Schedule.spaced(pollInterval)))
        yield* FiberSet.join(fibers)
      })

    yield* Effect.forkScoped(whileHeld(dispatch).pipe(Effect.provideService(Repo, repo)))
  })
)

const teamGone = { code: "team_gone", message: "The team's queue is gone, and did not come back in time." } as const

const promptOf = (run: Dispatchable): Prompt => ({
  run_id: run.run_id,
  source: run.source,
  ...(run.webhook && { webhook: { id: run.webhook.id, name: run.webhook.name } }),
  team: run.team,
  prompt: run.prompt,
  ...(run.deadline_at && run.mode === "wait" && { deadline: run.deadline_at })
})
