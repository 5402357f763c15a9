import { DateTime, Effect, FiberSet, type Scope } from "effect"
import { Bus } from "../bus/Bus.ts"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { HistoryStore } from "../repo/HistoryStore.ts"
import { type LaneRun, LaneStore } from "../repo/LaneStore.ts"
import type { LeaseLost, Term } from "../repo/LeaseStore.ts"
import type { RunStore } from "../repo/RunStore.ts"
import * as AdmissionBehind from "./AdmissionBehind.ts"
import { untilAvailable } from "./Availability.ts"
import type { Correlation } from "./Correlation.ts"
import { type Flight, Lane, readAhead, type Step, type Work } from "./Lane.ts"
import * as LaneAdmission from "./LaneAdmission.ts"
import { stopwatch } from "./LaneAdmission.ts"
import * as LaneAudit from "./LaneAudit.ts"
import * as LanePublisher from "./LanePublisher.ts"
import type { Lease } from "./Lease.ts"
import { Limiter } from "./Limiter.ts"
import { Outcomes } from "./Outcomes.ts"
import { SlotLine } from "./SlotLine.ts"

/**
 * After so many milliseconds without an answer a statement is not committed any more: the database ends it after 5 seconds
 * also when its connection is lost.
 */
const lastCommit = 10_000

/** Lanes of which the broker is asked at a time. */
const auditsAtOnce = 8

/** The lanes of one term: whatever a lane wants done next is done here, and reported back to it. */
export interface Lanes {
  readonly term: Term
  /** There may be more in the rows for this team. */
  readonly wake: (team: TeamName) => void
  /** The team's run is in flight since before this term; nothing is sent for it before the lane is woken. */
  readonly takeOver: (run: LaneRun) => void
  /** Takes the slots of a run that is about to be accepted, when it would be the next to be sent. */
  readonly reserve: (run: LaneRun) => boolean
  /**
   * What became of a run that has a reservation: it was admitted with its acceptance; it waits in its lane; it was not
   * stored; or that is not known, because the database did not answer.
   */
  readonly reservationEnded: (run: LaneRun, result: "admitted" | "waits" | "notStored" | "unknown") => void
  /**
   * Finds out what became of reserved runs when the database did not say so; until then they keep their slots and
   * their place, and their lanes admit no other.
   */
  readonly resolveUnknown: Effect.Effect<void, Unavailable>
  /** Takes the runs that are to be admitted with the commit that ends these, in their slots. */
  readonly admitBehind: AdmissionBehind.AdmissionBehind["take"]
  /** Webhooks were edited: what was read ahead is read again. */
  readonly webhooksChanged: () => void
  /** The teams whose next run waits for a leader. */
  readonly stopped: () => ReadonlyArray<TeamName>
  /** The teams that have a lane now. */
  readonly teams: () => ReadonlyArray<TeamName>
  /** Runs in flight of which the rows need not know when they were sent. */
  readonly notSent: () => ReadonlyArray<RunId>
  /** Applies edited limits to runs that wait for a slot. */
  readonly refreshLimits: Effect.Effect<void, Unavailable>
  /** Sends again what the broker has lost. */
  readonly audit: Effect.Effect<void>
  /** Drops the lanes that have nothing to do. */
  readonly dropIdle: () => void
  /** Fails when the lease is lost. */
  readonly join: Effect.Effect<void, LeaseLost>
}

/** Lanes without runs; when the scope closes they stop, what they have sent is recorded, and their slots are free. */
export const make = Effect.fnUntraced(function* (
  lease: Lease,
  mayExpire: () => boolean
): Effect.fn.Return<
  Lanes,
  never,
  Bus | Correlation | HistoryStore | LaneStore | Limiter | Outcomes | RunStore | Scope.Scope
> {
  const bus = yield* Bus
  const store = yield* LaneStore
  const limiter = yield* Limiter
  const outcomes = yield* Outcomes
  const clock = yield* Effect.clock

  const lanes = new Map<TeamName, Lane>()
  const line = new SlotLine(limiter, {
    drive,
    watch: (lane, head) => outcomes.watch(head, (run) => ended(lane, head, run))
  })
  /** What is in flight, until it has landed. */
  const following = new Map<RunId, AdmissionBehind.Following>()

  // Closed from the last to the first.
  yield* Effect.addFinalizer(() => Effect.sync(releaseAll))
  const admission = yield* LaneAdmission.make(lease.term, line, { drive, follow })
  const audit = yield* LaneAudit.make
  const publish = yield* LanePublisher.make(lease, mayExpire)
  const fibers = yield* FiberSet.make<void, LeaseLost>()
  const fork = yield* FiberSet.runtime(fibers)<never>()
  const behind = yield* AdmissionBehind.make({ term: lease.term, line, admission, following, drive, fork })

  const laneOf = (team: TeamName): Lane => {
    const known = lanes.get(team)
    if (known !== undefined) return known
    const fresh = new Lane(team, (run) => line.tryAcquire(run))
    lanes.set(team, fresh)
    return fresh
  }

  /** Does what the lane wants done, and puts it in line when it waits for a slot. */
  function drive(lane: Lane, mayAdmit = !outcomes.areEndsWaiting()): void {
    if (!mayAdmit) behind.defer(lane)
    for (let step = lane.next(mayAdmit); step !== undefined; step = lane.next(mayAdmit)) {
      if (step._tag === "Admit") line.leave(lane)
      fork(perform(lane, step))
    }
    line.update(lane)
  }

  const wake = (team: TeamName): void => {
    const lane = laneOf(team)
    lane.woken()
    drive(lane)
  }

  const perform = (lane: Lane, step: Step): Effect.Effect<void, LeaseLost> => {
    switch (step._tag) {
      case "Read":
        return Effect.map(untilAvailable(store.lane(lane.team, readAhead)), (read) => {
          lane.read(read)
          drive(lane)
        })
      case "AskForLeader":
        return Effect.map(untilAvailable(bus.queue(lane.team)), ({ consumers }) => {
          lane.askedForLeader(consumers > 0)
          drive(lane)
        })
      case "Admit":
        return admission.admit({ lane, runs: step.runs, begunAt: stopwatch(clock) })
      case "Publish":
        return send(lane, step.flights, step.isBehind)
    }
  }

  /** One group after the other, each confirmed before the next: so the broker's order is the lane's. */
  const send = (lane: Lane, flights: ReadonlyArray<Flight>, isBehind: boolean): Effect.Effect<void, LeaseLost> => {
    const runs = flights.map(({ run }) => run)
    return Effect.map(
      publish(runs, isBehind, ({ run_id }) => lane.maySend(run_id)),
      (result) => {
        if (result === "queueReplaced") release(lane.queueReplaced())
        else lane.published(flights, stopwatch(clock))
        drive(lane)
      }
    )
  }

  function follow(lane: Lane, flight: Flight): void {
    const { run_id } = flight.run
    const unwatch = outcomes.watch(run_id, (run) => {
      if (run?.status === "cancelled" && run.released_at === undefined) cancelled(lane, run_id)
      else ended(lane, run_id, run)
    })
    following.set(run_id, { lane, flight, unwatch, onLanding: [] })
  }

  const ended = (lane: Lane, id: RunId, run: Run | undefined): void => {
    const work = run && workOn(run)
    const flight = lane.ended(id, work)
    if (work !== undefined) audit.answered(run!)
    if (flight !== undefined) land(flight)
    const audited = audit.afterAnswer(lane)
    if (audited !== undefined) fork(afterAudit(lane, audited))
    // More replies may be there, whose commit then admits what may follow.
    drive(lane, false)
  }

  /** It holds its slots until its leader is done with it, which is asked to stop each time that this is reported. */
  const cancelled = (lane: Lane, id: RunId): void => {
    const progress = lane.cancelled(id)
    if (progress === "unsent") release([id])
    else if (progress === "sent") fork(untilAvailable(bus.cancel(lane.team, id)))
  }
  /** Nobody works on these cancelled runs; that their slots are free is reported like an end. */
  const release = (ids: ReadonlyArray<RunId>): void => {
    if (ids.length > 0) fork(untilAvailable(outcomes.release(ids)))
  }

  const land = (flight: Flight): void => {
    const followed = following.get(flight.run.run_id)
    following.delete(flight.run.run_id)
    followed?.unwatch()
    line.release(flight.run)
    for (const onLanding of followed?.onLanding ?? []) onLanding()
  }
  function releaseAll() {
    line.close()
    for (const { run } of unknown.values()) line.release(run)
    for (const lane of lanes.values()) for (const flight of lane.flights.values()) land(flight)
  }

  const takeOver = (run: LaneRun): void => {
    const lane = laneOf(run.team)
    line.hold(run)
    // Known to be with a broker that outlived us: its answer will come. Else it is sent again, as the same run.
    const flight: Flight = { run, begunAt: stopwatch(clock) }
    const isCancelled = run.status === "cancelled"
    lane.takenOver(flight, isCancelled || (run.status === "running" && bus.durable))
    follow(lane, flight)
    if (!isCancelled) return
    if (bus.durable) cancelled(lane, run.run_id)
    else release([run.run_id])
  }

  /** When the admission of each run that has a reservation began. */
  const reservations = new Map<RunId, number>()
  /** Reserved runs of which the database has not said what became of them; until then they may still be admitted. */
  const unknown = new Map<RunId, { readonly run: LaneRun; readonly begunAt: number; readonly until: number }>()

  const reserve = (run: LaneRun): boolean => {
    if (line.isClosed || !laneOf(run.team).reserve(run)) return false
    reservations.set(run.run_id, stopwatch(clock))
    return true
  }

  const reservationEnded: Lanes["reservationEnded"] = (run, result) => {
    const begunAt = reservations.get(run.run_id) ?? stopwatch(clock)
    reservations.delete(run.run_id)
    // After this term it is the next one's.
    if (line.isClosed) return line.release(run)
    switch (result) {
      case "admitted":
        return admittedWithAcceptance(run, begunAt)
      case "unknown":
        unknown.set(run.run_id, { run, begunAt, until: clock.unsafeCurrentTimeMillis() + lastCommit })
        // It may be in the rows: no later run of its team gets a reservation before they were read.
        return laneOf(run.team).woken()
      case "waits":
      case "notStored":
        return withoutReservation(run)
    }
  }
  const admittedWithAcceptance = (run: LaneRun, begunAt: number): void => {
    const lane = laneOf(run.team)
    const flight: Flight = { run, begunAt }
    lane.reservationEnded(flight)
    follow(lane, flight)
    drive(lane)
  }
  const withoutReservation = (run: LaneRun): void => {
    const lane = laneOf(run.team)
    lane.reservationEnded()
    line.release(run)
    drive(lane)
    line.advance()
  }

  const resolveUnknown = Effect.gen(function* () {
    if (unknown.size === 0) return
    const now = clock.unsafeCurrentTimeMillis()
    const admitted = new Set((yield* store.inFlight).map(({ run_id }) => run_id))
    for (const [id, { run, begunAt, until }] of unknown) {
      if (!admitted.has(id) && now < until) continue
      unknown.delete(id)
      if (admitted.has(id)) admittedWithAcceptance(run, begunAt)
      else withoutReservation(run)
    }
  })

  const afterAudit = (lane: Lane, audited: Effect.Effect<boolean>): Effect.Effect<void> =>
    Effect.map(audited, (isLost) => {
      if (isLost) release(lane.sendAgain())
      drive(lane)
    })

  const webhooksChanged = (): void => {
    for (const lane of lanes.values()) {
      lane.changed()
      drive(lane)
    }
  }

  const refreshLimits = Effect.gen(function* () {
    const webhooks = line.lanes.flatMap(({ blockedHead }) => blockedHead?.webhook?.id ?? [])
    if (webhooks.length === 0) return
    const limits = yield* store.limits(webhooks)
    for (const lane of line.lanes) lane.headLimitRead(limits)
    line.advance()
  })

  return {
    term: lease.term,
    wake,
    takeOver,
    reserve,
    reservationEnded,
    resolveUnknown,
    admitBehind: behind.take,
    webhooksChanged,
    stopped: () => [...lanes.values()].filter(({ isStopped }) => isStopped).map(({ team }) => team),
    teams: () => [...lanes.keys()],
    notSent: () => [...unknown.keys(), ...[...lanes.values()].flatMap((lane) => lane.notSent(stopwatch(clock)))],
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

/** None for a run that the team did not answer. */
const workOn = ({ status, sent_at, started_at, finished_at }: Run): Work | undefined => {
  const began = started_at ?? sent_at
  return status !== "timeout" && status !== "cancelled" && began !== undefined && finished_at !== undefined
    ? { beganAt: DateTime.toEpochMillis(began), doneAt: DateTime.toEpochMillis(finished_at) }
    : undefined
}
