import { DateTime, Effect, FiberSet, Schedule, type Scope } from "effect"
import { Bus } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { isFinal, runStatuses } from "../../domain/run/RunStatus.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { type LaneRun, LaneStore } from "../../repo/run/LaneStore.ts"
import type { LeaseLost } from "../../repo/run/LeaseStore.ts"
import type { RunStore } from "../../repo/run/RunStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { Correlation } from "../outcome/Correlation.ts"
import { type AdmitWithEnds, Outcomes } from "../outcome/Outcomes.ts"
import type { Settings } from "../Settings.ts"
import * as AdmissionWithEnds from "./AdmissionWithEnds.ts"
import type { AdmittingLanes } from "./CurrentLanes.ts"
import type { Flight } from "./Flights.ts"
import { Lane, readAhead, type Step } from "./Lane.ts"
import * as LaneAdmission from "./LaneAdmission.ts"
import * as LaneAudit from "./LaneAudit.ts"
import type { Work } from "./LanePace.ts"
import * as LanePublisher from "./LanePublisher.ts"
import type { Lease } from "./Lease.ts"
import { Limiter } from "./Limiter.ts"
import * as Reservations from "./Reservations.ts"
import { SlotLine } from "./SlotLine.ts"

/** A deleted run has no row that says when its leader is done: its leader is asked to stop once a second for this long. */
const stopDeleted = Schedule.intersect(Schedule.spaced("1 second"), Schedule.recurs(30))
/** Lanes that are checked with the broker at a time. */
const auditsAtOnce = 8

/** The lanes of one term: does each lane's steps, and reports the results to it. */
export interface Lanes extends AdmittingLanes {
  readonly admitWithEnds: AdmitWithEnds
  /** There may be more in the rows for this team. */
  readonly wake: (team: TeamName) => void
  /** The run is in flight since before this term. Nothing is sent before its lane is woken. */
  readonly takeOver: (run: LaneRun) => void
  /** Webhooks were edited: runs that were read ahead are read again. */
  readonly webhooksChanged: () => void
  /** The teams whose next run waits for a leader. */
  readonly stopped: () => ReadonlyArray<TeamName>
  /** The teams that have a lane. */
  readonly teams: () => ReadonlyArray<TeamName>
  /** Runs in flight whose rows may not know yet that they were sent. */
  readonly notSent: () => ReadonlyArray<RunId>
  /** Applies edited limits to runs that wait for a slot. */
  readonly refreshLimits: Effect.Effect<void, Unavailable>
  /** Sends lost prompts again. */
  readonly audit: Effect.Effect<void>
  /** Drops idle lanes. */
  readonly dropIdle: () => void
  /** Fails when the lease is lost. */
  readonly join: Effect.Effect<void, LeaseLost>
}

/** Starts without runs. When the scope closes, all lanes stop and their slots are free. */
export const make = Effect.fnUntraced(function* (
  lease: Lease,
  mayExpire: () => boolean
): Effect.fn.Return<
  Lanes,
  never,
  Bus | Correlation | HistoryStore | LaneStore | Limiter | Outcomes | RunStore | Scope.Scope | Settings
> {
  const bus = yield* Bus
  const store = yield* LaneStore
  const limiter = yield* Limiter
  const outcomes = yield* Outcomes
  const clock = yield* Effect.clock

  const lanes = new Map<TeamName, Lane>()
  const line = new SlotLine(limiter, {
    advance,
    watch: (lane, head) => outcomes.watch(head, (run) => ended(lane, head, run))
  })
  /** The runs in flight. */
  const following = new Map<RunId, AdmissionWithEnds.Following>()

  // Closed from the last to the first.
  yield* Effect.addFinalizer(() => Effect.sync(releaseAll))
  const reservations = yield* Reservations.make(lease, line, {
    advance,
    follow,
    laneOf,
    fork: (effect) => fork(effect)
  })
  const admission = yield* LaneAdmission.make(lease, line, { advance, follow })
  const { offer, publish } = yield* LanePublisher.make(lease, mayExpire)
  const audit = yield* LaneAudit.make(offer)
  const fibers = yield* FiberSet.make<void, LeaseLost>()
  const fork = yield* FiberSet.runtime(fibers)<never>()
  const admissionWithEnds = yield* AdmissionWithEnds.make({ lease, line, admission, following, advance, fork })

  function laneOf(team: TeamName): Lane {
    const known = lanes.get(team)
    if (known !== undefined) return known
    const fresh = new Lane(team, line.tryAcquire)
    lanes.set(team, fresh)
    return fresh
  }

  /** Does the lane's next steps, and puts it in line if it waits for a slot. */
  function advance(lane: Lane, mayAdmit = !outcomes.areEndsWaiting()): void {
    if (!mayAdmit) admissionWithEnds.defer(lane)
    for (let step = lane.next(mayAdmit); step !== undefined; step = lane.next(mayAdmit)) {
      if (step._tag === "Admit") line.leave(lane)
      fork(perform(lane, step))
    }
    line.update(lane)
  }

  const wake = (team: TeamName): void => {
    const lane = laneOf(team)
    lane.woken()
    advance(lane)
  }

  const accepted: Lanes["accepted"] = (run, ahead) => {
    if (line.isClosed) return
    const lane = laneOf(run.team)
    lane.accepted(run, ahead)
    advance(lane)
  }

  const perform = (lane: Lane, step: Step): Effect.Effect<void, LeaseLost> => {
    switch (step._tag) {
      case "Read":
        return Effect.map(untilAvailable(store.lane(lane.team, readAhead)), (read) => {
          lane.read(read)
          advance(lane)
        })
      case "AskForLeader":
        return Effect.map(untilAvailable(bus.queue(lane.team)), ({ consumers }) => {
          lane.askedForLeader(consumers > 0)
          advance(lane)
        })
      case "Admit":
        return admission.admit({ lane, runs: step.runs, begunAt: stopwatch(clock) })
      case "Publish":
        return send(lane, step.flights, step.isBehind)
    }
  }

  /** Sends one group, confirmed before the next, so the broker keeps the lane's order. */
  const send = (lane: Lane, flights: ReadonlyArray<Flight>, isBehind: boolean): Effect.Effect<void, LeaseLost> => {
    const runs = flights.map(({ run }) => run)
    // A run that was begun is published to the end, even if it has ended: the broker may have it. Its leader is asked to
    // stop, and reports when it is done.
    const begun = new Set<RunId>()
    const isToBeSent = ({ run_id }: LaneRun) => {
      if (lane.flights.maySend(run_id)) begun.add(run_id)
      return begun.has(run_id) && lane.flights.has(run_id)
    }
    return Effect.map(publish(runs, isBehind, isToBeSent), (result) => {
      if (result === "queueReplaced") release(lane.flights.queueReplaced())
      else {
        lane.published(flights, stopwatch(clock))
        release(runs.flatMap(({ run_id }) => (lane.flights.has(run_id) && !begun.has(run_id) ? [run_id] : [])))
      }
      advance(lane)
    })
  }

  function follow(lane: Lane, flight: Flight): void {
    const { run_id } = flight.run
    const unwatch = outcomes.watch(run_id, (run) => {
      if (run?.stop_at === undefined || run.released_at !== undefined) ended(lane, run_id, run)
      else unreleased(lane, run_id, run.stop_at)
    })
    following.set(run_id, { lane, flight, unwatch, onEnd: [] })
  }

  const ended = (lane: Lane, id: RunId, run: Run | undefined): void => {
    const work = run && workOn(run)
    const flight = lane.ended(id, work)
    if (flight !== undefined) {
      endFlight(flight)
      if (run === undefined) fork(Effect.asVoid(Effect.repeat(stop(lane, id), stopDeleted)))
    }
    const audited = audit.afterAnswer(lane)
    if (audited !== undefined) fork(afterAudit(lane, audited))
    // The commit of the replies that have arrived may admit the next runs.
    advance(lane, false)
  }

  /** The run holds its slots until its leader is done with it. From `stop_at` on, the leader is asked to stop each time. */
  const unreleased = (lane: Lane, id: RunId, stop_at: DateTime.Utc): void => {
    const progress = lane.flights.unreleased(id)
    if (progress === "unsent") release([id])
    else if (progress === "sent" && stop_at.epochMillis <= clock.unsafeCurrentTimeMillis()) fork(stop(lane, id))
  }
  /** It is repeated, so a failure does no harm. */
  const stop = ({ team }: Lane, id: RunId) => Effect.ignore(bus.cancel(team, id))
  /** The leaders are done with these ended runs; this is recorded and notified like an end. */
  const release = (ids: ReadonlyArray<RunId>): void => {
    if (ids.length > 0) fork(untilAvailable(outcomes.release(ids)))
  }

  const endFlight = (flight: Flight): void => {
    const followed = following.get(flight.run.run_id)
    following.delete(flight.run.run_id)
    followed?.unwatch()
    line.release(flight.run)
    for (const onEnd of followed?.onEnd ?? []) onEnd()
  }
  function releaseAll() {
    line.close()
    reservations.close()
    for (const lane of lanes.values()) for (const flight of lane.flights.all) endFlight(flight)
  }

  const takeOver = (run: LaneRun): void => {
    const lane = laneOf(run.team)
    line.hold(run)
    // A durable broker has the prompt of a running run: its answer will come. Otherwise the run is sent again.
    const flight: Flight = { run, begunAt: stopwatch(clock) }
    const { stop_at } = run
    if (stop_at !== undefined || (run.status === "running" && bus.durable)) lane.flights.addSent(flight)
    else lane.flights.add(flight)
    follow(lane, flight)
    if (stop_at === undefined) return
    if (bus.durable) unreleased(lane, run.run_id, stop_at)
    else release([run.run_id])
  }

  const afterAudit = (lane: Lane, audited: Effect.Effect<boolean>): Effect.Effect<void> =>
    Effect.map(audited, (isLost) => {
      if (isLost) release(lane.flights.sendAgain())
      advance(lane)
    })

  const webhooksChanged = (): void => {
    for (const lane of lanes.values()) {
      lane.changed()
      advance(lane)
    }
  }

  const refreshLimits = Effect.gen(function* () {
    const webhooks = line.lanes.flatMap(({ blockedHead }) => blockedHead?.webhook?.id ?? [])
    if (webhooks.length === 0) return
    const limits = yield* store.limits(webhooks)
    for (const lane of line.lanes) lane.limitsRead(limits)
    line.advance()
  })

  return {
    term: lease.term,
    wake,
    accepted,
    takeOver,
    reserve: reservations.reserve,
    admitWithEnds: admissionWithEnds.select,
    webhooksChanged,
    stopped: () => [...lanes.values()].filter(({ isStopped }) => isStopped).map(({ team }) => team),
    teams: () => [...lanes.keys()],
    notSent: () => [
      ...reservations.unknown(),
      ...[...lanes.values()].flatMap((lane) => lane.flights.notSent(stopwatch(clock)))
    ],
    refreshLimits,
    audit: Effect.suspend(() =>
      Effect.forEach([...lanes.values()], (lane) => afterAudit(lane, audit.check(lane)), {
        concurrency: auditsAtOnce,
        discard: true
      })
    ),
    dropIdle: () => {
      for (const [team, { isIdle }] of lanes) if (isIdle) lanes.delete(team)
    },
    join: FiberSet.join(fibers)
  }
})

/** Absent for a run that the team did not answer. */
const workOn = ({ status, sent_at, started_at, finished_at }: Run): Work | undefined => {
  const began = started_at ?? sent_at
  return isFinal(status) && runStatuses[status].answered && began !== undefined && finished_at !== undefined
    ? { beganAt: DateTime.toEpochMillis(began), doneAt: DateTime.toEpochMillis(finished_at) }
    : undefined
}
