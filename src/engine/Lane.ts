import { Clock, type Context, Duration, Effect, ExecutionStrategy, Exit, Option, Schedule, Scope } from "effect"
import type { Bus, Prompt } from "../bus/Bus.ts"
import type { Outcome } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { Dispatchable, LeaseLost, Repo } from "../repo/Repo.ts"
import type { Lease } from "./Lease.ts"
import type { Limiter } from "./Limiter.ts"
import type { Ended, Outcomes } from "./Outcomes.ts"
import { persistently } from "./Persistently.ts"
import { reach } from "./RacePoint.ts"

/** Runs of a lane that are read ahead. */
const pageSize = 64
/** Runs of a lane that are admitted by one commit: 174 runs a second from a backlog, 68 when each has a commit. */
const admittedAtOnce = 16
/** How often a lane looks whether its team's missing queue is back. */
const queueLookInterval = Duration.seconds(1)

/** One team's line: strictly in order of acceptance, and only its head waits for a slot. */
export interface Lane {
  /** There may be more in the rows. The lane is busy from this call on, not only from the effect's. */
  readonly wake: () => Effect.Effect<void>
  /** What was read ahead is no longer as it was read. */
  readonly readAgain: () => void
  /** Takes on, at the start, a run that the dispatcher before had in flight. */
  readonly takeOver: (run: Dispatchable) => Effect.Effect<void>
  /** Looks whether the broker still has what it should have, and sends it again when not. */
  readonly audit: Effect.Effect<void>
  /** Nothing is queued or in flight. */
  readonly isIdle: () => boolean
}

/** A run from its admission to its end; its scope holds its slots. */
interface Flight {
  readonly run: Dispatchable
  readonly end: Effect.Effect<Ended>
  readonly scope: Scope.CloseableScope
}

/** What a lane is given: the right to send, and a home for its fibers and scopes, which end with the term. */
export interface Term {
  readonly bus: Context.Tag.Service<Bus>
  readonly limiter: Context.Tag.Service<Limiter>
  readonly outcomes: Context.Tag.Service<Outcomes>
  readonly repo: Context.Tag.Service<Repo>
  readonly lease: Lease
  readonly scope: Scope.Scope
  readonly fork: (effect: Effect.Effect<void, LeaseLost>) => Effect.Effect<unknown>
  /** For what is to be finished even when the term ends. */
  readonly forkToTheEnd: (effect: Effect.Effect<void>) => Effect.Effect<unknown>
}

export const make = (team: TeamName, term: Term): Lane => {
  const { bus, limiter, outcomes, repo, lease, fork, forkToTheEnd } = term

  /** Admitted and not ended, oldest first. */
  const flights = new Set<Flight>()
  /** Those of them that the broker does not have for certain, oldest first. */
  let unsent: ReadonlyArray<Flight> = []
  /** Somebody said that there is more, after the rows were last read. */
  let more = false
  let stale = false
  let busy = false
  /** Milliseconds since the epoch at which the team's queue was first missed. */
  let goneSince: number | undefined

  const wake = () => {
    more = true
    if (busy) return Effect.void
    busy = true
    return Effect.asVoid(fork(drain))
  }

  /** Works through the lane until it is empty. */
  const drain = Effect.gen(function* () {
    while (more) {
      more = false
      yield* publishUnsent
      stale = false
      const runs = yield* persistently(repo.lane(team, pageSize))
      for (let rest = runs; rest.length > 0 && !stale; ) rest = yield* send(rest)
      if (runs.length > 0) more = true
    }
    busy = false
  })

  /**
   * Sends the head once it has its slots, and with it those behind it that have theirs at once: one commit admits them
   * all. Runs that have ended meanwhile are passed over. Returns what is left.
   */
  const send = Effect.fnUntraced(function* (runs: ReadonlyArray<Dispatchable>) {
    const ready: Array<Flight> = []
    for (const run of runs.slice(0, admittedAtOnce)) {
      const flight = yield* takeOff(run)
      if ((yield* takeFreeSlots(flight)) || (ready.length === 0 && (yield* awaitSlots(flight)))) ready.push(flight)
      else {
        yield* land(flight)
        break
      }
    }
    const admitted = yield* persistently(
      repo.admit(
        ready.map(({ run }) => run.run_id),
        lease.term
      )
    )
    yield* reach("admitted")
    for (const flight of ready) {
      if (!admitted.has(flight.run.run_id)) yield* land(flight)
      else {
        yield* follow(flight)
        unsent = [...unsent, flight]
      }
    }
    yield* publishUnsent
    return runs.slice(Math.max(1, ready.length))
  })

  const takeOff = Effect.fnUntraced(function* (run: Dispatchable) {
    const scope = yield* Scope.fork(term.scope, ExecutionStrategy.sequential)
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

  const takeFreeSlots = ({ run, scope }: Flight) =>
    run.webhook === undefined
      ? Effect.succeed(true)
      : Scope.extend(limiter.acquireNow(run.webhook.id, run.webhook.max_concurrent), scope)

  /** Gives the slots back when the run has ended. */
  const follow = (flight: Flight) => {
    flights.add(flight)
    return fork(
      Effect.zipRight(
        flight.end,
        Effect.suspend(() => {
          flights.delete(flight)
          return land(flight)
        })
      )
    )
  }

  /** One after the other, each confirmed before the next: so the broker's order is the lane's. */
  const publishUnsent = Effect.gen(function* () {
    for (;;) {
      const [flight, ...rest] = unsent
      if (flight === undefined) return
      if (yield* publish(flight)) unsent = rest
      else if (yield* queueComesBack(flight.run)) {
        // What was in the queue went with it; whatever has not been answered is sent again, as the same runs.
        unsent = [...flights]
      } else {
        yield* end(flight.run, { status: "error", error: teamGone })
        unsent = rest
      }
    }
  })

  /** True once the broker has the prompt for good, or nobody needs it any more; false when the queue is gone. */
  const publish = (flight: Flight) =>
    Effect.gen(function* () {
      const { run } = flight
      if (!flights.has(flight)) return
      if (yield* isLate(run)) return yield* end(run, { status: "timeout" })
      yield* lease.check
      // A stop between the two would leave the run sent and not known to be: it would be sent twice.
      yield* Effect.uninterruptible(
        bus
          .publish(promptOf(run), { sameQueue: isBehind(flight) })
          .pipe(Effect.zipRight(reach("published")), Effect.zipRight(recordSent(run)))
      )
      goneSince = undefined
    }).pipe(
      persistently,
      Effect.as(true),
      Effect.catchTag("QueueGone", () => Effect.succeed(false))
    )

  /** Older ones are with the broker: were they lost, they would have to be sent again before this one. */
  const isBehind = (flight: Flight) => flights.values().next().value !== flight

  const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

  /** A fire-and-forget run's deadline moves in its row; only the rows know whether it has passed. */
  const isLate = ({ mode, deadline_at }: Dispatchable) =>
    Effect.map(now, (now) => mode === "wait" && deadline_at !== undefined && deadline_at <= now)

  const recordSent = (run: Dispatchable) =>
    Effect.flatMap(now, (at) => forkToTheEnd(Effect.interruptible(persistently(repo.sent(run.run_id, at)))))

  const end = (run: Dispatchable, outcome: Outcome) => Effect.asVoid(persistently(outcomes.end(run.run_id, outcome)))

  /** Waits for a missing queue, for as long as the run's timeout after it was first missed. */
  const queueComesBack = Effect.fnUntraced(function* (run: Dispatchable) {
    const now = yield* Clock.currentTimeMillis
    if (goneSince === undefined) {
      goneSince = now
      yield* Effect.logWarning("The team's queue is gone").pipe(Effect.annotateLogs({ team }))
    }
    const back = persistently(bus.queue(team)).pipe(
      Effect.repeat({ schedule: Schedule.spaced(queueLookInterval), until: ({ exists }) => exists }),
      Effect.timeoutOption(Math.max(0, goneSince + run.timeout_ms - now))
    )
    return Option.isSome(yield* back)
  })

  const takeOver = Effect.fnUntraced(function* (run: Dispatchable) {
    const flight = yield* takeOff(run)
    if (run.webhook !== undefined) {
      yield* Scope.extend(limiter.hold(run.webhook.id, run.webhook.max_concurrent), flight.scope)
    }
    yield* follow(flight)
    // Known to be with a broker that outlived us: its answer will come. Else it is sent again, as the same run.
    if (run.status !== "running" || !bus.durable) unsent = [...unsent, flight]
  })

  /** What was in flight and overdue at the last audit. */
  let missedBefore: ReadonlySet<Flight> = new Set()

  /**
   * A queue can be deleted and declared again, or a broker's disk lost, without a word to us. When fewer prompts wait
   * in the queue than should, with one in the leader's hands, twice in a row and without an answer in between, all
   * that is in flight is sent again, as the same runs; a leader answers what it has answered before from memory.
   */
  const audit = Effect.gen(function* () {
    if (busy || flights.size === 0) return
    const expected = new Set(flights)
    const { messages } = yield* bus.queue(team)
    if (busy) return
    const missed = messages + 1 < expected.size
    const still = missed && expected.size === missedBefore.size && [...expected].every((one) => missedBefore.has(one))
    missedBefore = missed && !still ? expected : new Set()
    if (!still) return
    yield* Effect.logWarning("Prompts are missing from the team's queue; they are sent again").pipe(
      Effect.annotateLogs({ team, in_flight: expected.size, in_queue: messages })
    )
    unsent = [...flights]
    yield* wake()
  }).pipe(Effect.ignore)

  const readAgain = () => {
    stale = true
  }

  return { wake, readAgain, takeOver, audit, isIdle: () => !busy && flights.size === 0 }
}

const teamGone = { code: "team_gone", message: "The team's queue is gone, and did not come back in time." } as const

const promptOf = (run: Dispatchable): Prompt => ({
  run_id: run.run_id,
  source: run.source,
  ...(run.webhook && { webhook: { id: run.webhook.id, name: run.webhook.name } }),
  team: run.team,
  prompt: run.prompt,
  ...(run.deadline_at && run.mode === "wait" && { deadline: run.deadline_at })
})
