import { DateTime, Duration, Effect, Exit, FiberSet, Layer, Queue, Schedule, type Scope } from "effect"
import { Bus, type Prompt } from "../bus/Bus.ts"
import type { RunId } from "../domain/Id.ts"
import type { Outcome } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import { type Change, ChangeFeed, onChanges } from "../repo/ChangeFeed.ts"
import { type LaneRun, LaneStore } from "../repo/LaneStore.ts"
import type { LeaseLost, LeaseStore, Term } from "../repo/LeaseStore.ts"
import { type RunMark, RunStore } from "../repo/RunStore.ts"
import { untilAvailable } from "./Availability.ts"
import { Checkpoints } from "./Checkpoints.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { type Flight, Lane, readAhead, type Step } from "./Lane.ts"
import { type Lease, whileHeld } from "./Lease.ts"
import { Limiter, type SlotRequest } from "./Limiter.ts"
import { Outcomes } from "./Outcomes.ts"

/** How often the rows are read for what no notification said. */
const pollInterval = Duration.seconds(1)
/** How often the broker is asked whether it still has what was sent. */
const auditInterval = Duration.seconds(5)
/** How often a lane checks whether its team's missing queue is back. */
const queueCheckInterval = Duration.seconds(1)
/** How long the reply path may take, in milliseconds, to reconnect and record what has waited for it. */
const answersCatchUp = 10_000
/** How long a stopping dispatcher takes to record what it has sent. */
const recordGrace = Duration.seconds(5)

/** A lane, and what the dispatcher remembers for it. */
interface LaneState {
  readonly lane: Lane
  /** Milliseconds since the epoch at which the team's queue was first missed. */
  queueMissedAt: number | undefined
  /** Stops watching the run that waits for a slot. */
  unwatchHead: () => void
  headWatched: RunId | undefined
  /** What was in flight and not in the queue at the last audit. */
  missedBefore: ReadonlySet<RunId>
}

/** One term as the dispatcher: first what the term before has left in flight, then the lanes. */
const dispatch = Effect.fnUntraced(function* (
  lease: Lease
): Effect.fn.Return<void, LeaseLost, Bus | ChangeFeed | LaneStore | Limiter | Outcomes | RunStore | Scope.Scope> {
  const bus = yield* Bus
  const feed = yield* ChangeFeed
  const store = yield* LaneStore
  const runs = yield* RunStore
  const limiter = yield* Limiter
  const outcomes = yield* Outcomes
  const reach = yield* Checkpoints
  const clock = yield* Effect.clock

  // Closed from the last to the first: the lanes stop, then what they have sent is recorded, then slots are given back.
  const lanes = new Map<TeamName, LaneState>()
  yield* Effect.addFinalizer(() => Effect.sync(releaseAll))
  const markSent = yield* recordSent(runs)
  const admitTogether = yield* groupedAdmission(store, lease.term)
  const fibers = yield* FiberSet.make<void, LeaseLost>()
  const fork = yield* FiberSet.runtime(fibers)<never>()

  /** Lanes whose head waits for a slot, the one that has waited longest first. */
  const blocked = new Set<LaneState>()

  const now = () => clock.unsafeCurrentTimeMillis()
  const stopwatch = () => Number(clock.unsafeCurrentTimeNanos()) / 1e6

  const laneOf = (team: TeamName): LaneState => {
    const known = lanes.get(team)
    if (known !== undefined) return known
    const fresh: LaneState = {
      lane: new Lane(team, (run) => run.webhook === undefined || limiter.tryAcquire(slotOf(run))),
      queueMissedAt: undefined,
      unwatchHead: () => {},
      headWatched: undefined,
      missedBefore: new Set()
    }
    lanes.set(team, fresh)
    return fresh
  }

  /** Does what the lane wants done, and remembers it when it waits for a slot. */
  const drive = (state: LaneState): void => {
    const step = state.lane.next()
    if (step !== undefined) fork(perform(state, step))
    watchHead(state)
    if (step?._tag === "Admit" || state.lane.blockedHead === undefined) blocked.delete(state)
    if (state.lane.blockedHead !== undefined) blocked.add(state)
  }

  /** A run that ends while it waits for a slot makes way for the one behind it. */
  const watchHead = (state: LaneState): void => {
    const head = state.lane.blockedHead
    if (head?.run_id === state.headWatched) return
    state.unwatchHead()
    state.headWatched = head?.run_id
    state.unwatchHead = head === undefined ? () => {} : outcomes.watch(head.run_id, () => ended(state, head.run_id))
  }

  const wake = (team: TeamName): void => {
    const state = laneOf(team)
    state.lane.woken()
    drive(state)
  }

  const perform = (state: LaneState, step: Step): Effect.Effect<void, LeaseLost> => {
    switch (step._tag) {
      case "Read":
        return Effect.map(untilAvailable(store.lane(state.lane.team, readAhead)), (read) => {
          state.lane.read(read)
          drive(state)
        })
      case "Admit":
        return admit(state, step.runs)
      case "Publish":
        return Effect.map(publish(state, step.flight, step.isBehind), () => drive(state))
    }
  }

  const admit = (state: LaneState, ready: ReadonlyArray<LaneRun>): Effect.Effect<void, LeaseLost> => {
    const begunAt = stopwatch()
    return untilAvailable(admitTogether(ready)).pipe(
      // Also when this is interrupted: what holds slots is always in a lane or gives them back.
      Effect.onExit((exit) =>
        Effect.sync(() => {
          const admitted = Exit.isSuccess(exit) ? exit.value : new Set()
          const flights = ready.filter(({ run_id }) => admitted.has(run_id)).map((run): Flight => ({ run, begunAt }))
          for (const run of ready) if (!admitted.has(run.run_id)) releaseSlots(run)
          state.lane.admitted(flights)
          for (const flight of flights) follow(state, flight)
        })
      ),
      Effect.zipRight(reach("admitted")),
      Effect.map(() => {
        drive(state)
        slotsAreFree()
      })
    )
  }

  const unwatch = new Map<Flight, () => void>()
  const follow = (state: LaneState, flight: Flight): void => {
    const { run_id } = flight.run
    unwatch.set(
      flight,
      outcomes.watch(run_id, () => ended(state, run_id))
    )
  }

  const ended = (state: LaneState, id: RunId): void => {
    const flight = state.lane.ended(id, stopwatch())
    if (flight !== undefined) land(flight)
    drive(state)
    if (flight?.run.webhook !== undefined) slotsAreFree()
  }

  const land = (flight: Flight): void => {
    unwatch.get(flight)?.()
    unwatch.delete(flight)
    releaseSlots(flight.run)
  }
  const releaseSlots = (run: LaneRun): void => {
    if (run.webhook !== undefined) limiter.release(slotOf(run))
  }
  function releaseAll() {
    for (const { lane, unwatchHead } of lanes.values()) {
      unwatchHead()
      for (const flight of lane.flights.values()) land(flight)
    }
  }

  /** A freed slot goes to the lane that has waited longest; one that gets it goes to the end of the line. */
  const slotsAreFree = (): void => {
    for (const state of [...blocked]) drive(state)
  }

  /** One after the other, each confirmed before the next: so the broker's order is the lane's. */
  const publish = (state: LaneState, flight: Flight, isBehind: boolean): Effect.Effect<void, LeaseLost> =>
    Effect.gen(function* () {
      const { run } = flight
      if (state.lane.flights.has(run.run_id)) {
        if (isLate(run)) yield* end(run, { status: "timeout" })
        else {
          yield* lease.check
          // A stop between the two would leave the run sent and not known to be: it would be sent twice.
          yield* Effect.uninterruptible(
            Effect.zipRight(bus.publish(promptOf(run), { sameQueue: isBehind }), reach("published")).pipe(
              Effect.map(() => markSent({ run_id: run.run_id, at: DateTime.unsafeMake(now()) }))
            )
          )
          state.queueMissedAt = undefined
        }
      }
      state.lane.published(flight, stopwatch())
    }).pipe(
      untilAvailable,
      Effect.catchTag("QueueGone", () => awaitQueue(state, flight))
    )

  /** A fire-and-forget run's deadline moves in its row; only the rows know whether it has passed. */
  const isLate = ({ mode, deadline_at }: LaneRun): boolean =>
    mode === "wait" && deadline_at !== undefined && DateTime.toEpochMillis(deadline_at) <= now()

  const end = (run: LaneRun, outcome: Outcome) => untilAvailable(outcomes.end(run.run_id, outcome))

  /** Waits for a missing queue, for as long as the run's timeout after it was first missed. */
  const awaitQueue = Effect.fnUntraced(function* (state: LaneState, flight: Flight) {
    const { team } = state.lane
    if (state.queueMissedAt === undefined) {
      state.queueMissedAt = now()
      yield* Effect.logWarning("The team's queue is gone").pipe(Effect.annotateLogs({ team }))
    }
    const back = yield* untilAvailable(bus.queue(team)).pipe(
      Effect.repeat({ schedule: Schedule.spaced(queueCheckInterval), until: ({ exists }) => exists }),
      Effect.timeoutOption(Math.max(0, state.queueMissedAt + flight.run.timeout_ms - now()))
    )
    if (back._tag === "Some") return state.lane.queueReplaced()
    yield* end(flight.run, { status: "error", error: teamGone })
    state.lane.published(flight, stopwatch())
  })

  /** Before anything is sent: what the term before has sent, or may have, is counted. */
  const recover = Effect.gen(function* () {
    const inFlight = yield* untilAvailable(store.inFlight)
    for (const run of inFlight) {
      const state = laneOf(run.team)
      const flight: Flight = { run, begunAt: stopwatch() }
      if (run.webhook !== undefined) limiter.hold(slotOf(run))
      // Known to be with a broker that outlived us: its answer will come. Else it is sent again, as the same run.
      state.lane.takenOver(flight, run.status === "running" && bus.durable)
      follow(state, flight)
    }
    if (bus.durable && inFlight.length > 0) letAnswersCatchUp()
    for (const state of lanes.values()) {
      state.lane.woken()
      drive(state)
    }
  })

  const handle = (change: Change): Effect.Effect<void> => {
    switch (change._tag) {
      case "RunAccepted":
        return Effect.sync(() => wake(change.team))
      case "WebhookChanged":
        return Effect.sync(() => {
          for (const state of lanes.values()) {
            state.lane.changed()
            drive(state)
          }
        })
      case "RunStarted":
      case "RunEnded":
      case "LeaseReleased":
        return Effect.void
    }
  }

  /**
   * Nothing expires before this, in milliseconds since the epoch. Answers that came in time while nobody could record
   * them are with the broker, and must not lose to the clock.
   */
  let expireFrom = 0
  const letAnswersCatchUp = () => {
    expireFrom = now() + answersCatchUp
  }

  const expire = Effect.suspend(() =>
    now() < expireFrom
      ? Effect.void
      : Effect.map(runs.expire(DateTime.unsafeMake(now())), (expired) => expired.forEach(outcomes.recorded))
  )

  /** An edited limit counts for runs that wait for a slot already. */
  const refreshLimits = Effect.gen(function* () {
    const webhooks = [...blocked].flatMap(({ lane }) => lane.blockedHead?.webhook?.id ?? [])
    if (webhooks.length === 0) return
    const limits = yield* store.limits(webhooks)
    for (const { lane } of blocked) lane.headLimitRead(limits)
    slotsAreFree()
  })

  const wakeLanes = Effect.map(store.lanes, (teams) => {
    for (const team of teams) wake(team)
    for (const [team, { lane }] of lanes) if (lane.isIdle) lanes.delete(team)
  })

  const poll = Effect.forEach(
    [expire, refreshLimits, wakeLanes],
    (step) => Effect.ignoreLogged(Effect.tapError(step, () => Effect.sync(letAnswersCatchUp))),
    { discard: true }
  )

  /**
   * A queue can be deleted and declared again, or a broker's disk lost, without a word to us. When fewer prompts wait in
   * the queue than should, with one in the leader's hands, twice in a row and without an answer in between, all that is in
   * flight is sent again, as the same runs; a leader answers what it has answered before from memory.
   */
  const audit = (state: LaneState) =>
    Effect.gen(function* () {
      const { lane } = state
      if (lane.isBusy || lane.flights.size === 0) return
      const expected = new Set(lane.flights.keys())
      const { messages } = yield* bus.queue(lane.team)
      if (lane.isBusy) return
      const missed = messages + 1 < expected.size
      const again = missed && sameRuns(expected, state.missedBefore)
      state.missedBefore = missed && !again ? expected : new Set()
      if (!again) return
      yield* Effect.logWarning("Prompts are missing from the team's queue; they are sent again").pipe(
        Effect.annotateLogs({ team: lane.team, in_flight: expected.size, in_queue: messages })
      )
      lane.sendAgain()
      drive(state)
    }).pipe(Effect.ignore)

  const changes = yield* feed.changes
  yield* FiberSet.run(fibers, lease.keep)
  yield* recover
  yield* FiberSet.run(
    fibers,
    onChanges(changes, (all) => Effect.forEach(all, handle, { discard: true }))
  )
  yield* FiberSet.run(fibers, Effect.repeat(poll, Schedule.spaced(pollInterval)))
  yield* FiberSet.run(
    fibers,
    Effect.repeat(
      Effect.suspend(() => Effect.forEach([...lanes.values()], audit, { discard: true })),
      Schedule.spaced(auditInterval)
    )
  )
  yield* FiberSet.join(fibers)
})

/** Several lanes share a commit, but what one lane admits together is never split: a part of it would be out of order. */
const groupedAdmission = Effect.fnUntraced(function* (store: LaneStore["Type"], term: Term) {
  const commit = yield* GroupCommit.make({
    size: 100,
    commit: (groups: ReadonlyArray<ReadonlyArray<LaneRun>>) =>
      Effect.flatMap(DateTime.now, (at) =>
        Effect.map(
          store.admit(
            groups.flatMap((runs) => runs.map(({ run_id }) => run_id)),
            term,
            at
          ),
          (admitted) => groups.map(() => admitted)
        )
      )
  })
  return (runs: ReadonlyArray<LaneRun>) => Effect.map(commit([runs]), ([admitted]) => admitted!)
})

/** Marks runs as sent, together while a commit is under way; when the scope closes, for a while longer. */
const recordSent = Effect.fnUntraced(function* (runs: RunStore["Type"]) {
  const marks = yield* Queue.unbounded<RunMark>()
  const allRecorded = Effect.unsafeMakeLatch(true)
  let unrecorded = 0
  const write = Effect.gen(function* () {
    const some = Array.from(yield* Queue.takeBetween(marks, 1, 500))
    yield* untilAvailable(runs.sent(some))
    unrecorded -= some.length
    if (unrecorded === 0) allRecorded.unsafeOpen()
  })
  yield* Effect.forkScoped(Effect.forever(write))
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(allRecorded.await), recordGrace))
  return (mark: RunMark): void => {
    unrecorded++
    allRecorded.unsafeClose()
    marks.unsafeOffer(mark)
  }
})

const slotOf = ({ team, webhook }: LaneRun): SlotRequest => ({
  webhook: webhook!.id,
  team,
  maxConcurrent: webhook!.max_concurrent
})

const sameRuns = (a: ReadonlySet<RunId>, b: ReadonlySet<RunId>): boolean =>
  a.size === b.size && [...a].every((id) => b.has(id))

const teamGone = { code: "team_gone", message: "The team's queue is gone, and did not come back in time." } as const

const promptOf = ({ run_id, source, webhook, team, prompt, mode, deadline_at }: LaneRun): Prompt => ({
  run_id,
  source,
  ...(webhook && { webhook: { id: webhook.id, name: webhook.name } }),
  team,
  prompt,
  ...(deadline_at && mode === "wait" && { deadline: deadline_at })
})

/**
 * Sends accepted runs to their teams' leaders: per team in order of acceptance, within the limits, and again after a
 * crash. Driven by the rows alone. At any time only the holder of the lease does it; what it has sent stays within the
 * limits until it has ended, whichever replica recorded the end.
 */
export const layer: Layer.Layer<
  never,
  never,
  Bus | ChangeFeed | LaneStore | LeaseStore | Limiter | Outcomes | RunStore
> = Layer.scopedDiscard(Effect.forkScoped(whileHeld(dispatch)))
