import { DateTime, Effect, Exit, FiberSet, type Scope } from "effect"
import { Bus } from "../bus/Bus.ts"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { HistoryStore } from "../repo/HistoryStore.ts"
import { type LaneRun, LaneStore } from "../repo/LaneStore.ts"
import type { LeaseLost, Term } from "../repo/LeaseStore.ts"
import type { Admission, RunEnd, RunStore } from "../repo/RunStore.ts"
import { untilAvailable } from "./Availability.ts"
import type { Correlation } from "./Correlation.ts"
import { type Flight, Lane, readAhead, type Step, type Work } from "./Lane.ts"
import * as LaneAdmission from "./LaneAdmission.ts"
import * as LaneAudit from "./LaneAudit.ts"
import * as LanePublisher from "./LanePublisher.ts"
import type { Lease } from "./Lease.ts"
import { Limiter, type SlotRequest } from "./Limiter.ts"
import { Outcomes } from "./Outcomes.ts"

/**
 * After so many milliseconds without an answer a statement is not committed any more: the database ends it after 5 seconds
 * also when its connection is lost.
 */
const lastCommit = 10_000

/** Lanes of which the broker is asked at a time. */
const auditsAtOnce = 8

/** A lane, and what is remembered for it. */
interface LaneState {
  readonly lane: Lane
  /** Stops watching the run that waits for a slot. */
  unwatchHead: () => void
  headWatched: RunId | undefined
}

type Ending = Pick<RunEnd, "run_id" | "outcome">

/** A run in flight, and what happens when it has landed. */
interface Following {
  readonly state: LaneState
  readonly flight: Flight
  readonly unwatch: () => void
  readonly onLanding: Array<() => void>
}

/** Runs that are being admitted with the commit that ends others. */
export interface AdmissionBehind {
  readonly admission: Admission
  /** Those that were admitted; `undefined`: nothing is known of the commit. */
  readonly settle: (admitted: ReadonlySet<RunId> | undefined) => void
}

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
  /**
   * Takes the runs that can be admitted with the commit that ends these, in the slots that this frees: those of the lanes
   * that have waited longest, then of the lanes whose runs end. `undefined`: there are none. To be called before every commit
   * of ends that have waited for another one.
   */
  readonly admitBehind: (ends: ReadonlyArray<Ending>) => AdmissionBehind | undefined
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

  let closed = false
  // Closed from the last to the first.
  const lanes = new Map<TeamName, LaneState>()
  yield* Effect.addFinalizer(() => Effect.sync(releaseAll))
  const admitTogether = yield* LaneAdmission.make(lease.term)
  const audit = yield* LaneAudit.make
  const publish = yield* LanePublisher.make(lease, mayExpire)
  const fibers = yield* FiberSet.make<void, LeaseLost>()
  const fork = yield* FiberSet.runtime(fibers)<never>()

  /** Lanes whose head waits for a slot, the one that has waited longest first. */
  const blocked = new Set<LaneState>()

  const stopwatch = () => Number(clock.unsafeCurrentTimeNanos()) / 1e6

  const laneOf = (team: TeamName): LaneState => {
    const known = lanes.get(team)
    if (known !== undefined) return known
    const fresh: LaneState = {
      lane: new Lane(team, (run) => run.webhook === undefined || limiter.tryAcquire(slotOf(run))),
      unwatchHead: () => {},
      headWatched: undefined
    }
    lanes.set(team, fresh)
    return fresh
  }

  /** Lanes that leave their admissions to the next commit that ends runs, if it begins in this turn of the event loop. */
  const deferred = new Set<LaneState>()
  let isFlushing = false
  const defer = (state: LaneState): void => {
    deferred.add(state)
    if (isFlushing) return
    isFlushing = true
    setImmediate(() => {
      isFlushing = false
      if (closed || outcomes.areEndsWaiting()) return
      const states = new Set([...blocked, ...deferred])
      deferred.clear()
      for (const state of states) drive(state)
    })
  }

  /** Does what the lane wants done, and remembers it when it waits for a slot. */
  const drive = (state: LaneState, mayAdmit = !outcomes.areEndsWaiting()): void => {
    if (!mayAdmit) defer(state)
    for (let step = state.lane.next(mayAdmit); step !== undefined; step = state.lane.next(mayAdmit)) {
      if (step._tag === "Admit") blocked.delete(state)
      fork(perform(state, step))
    }
    noteHead(state)
  }

  const noteHead = (state: LaneState): void => {
    watchHead(state)
    if (state.lane.blockedHead === undefined) blocked.delete(state)
    else blocked.add(state)
  }

  /** A run that ends while it waits for a slot makes way for the one behind it. */
  const watchHead = (state: LaneState): void => {
    const head = state.lane.blockedHead
    if (head?.run_id === state.headWatched) return
    state.unwatchHead()
    state.headWatched = head?.run_id
    state.unwatchHead =
      head === undefined ? () => {} : outcomes.watch(head.run_id, (run) => ended(state, head.run_id, run))
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
      case "AskForLeader":
        return Effect.map(untilAvailable(bus.queue(state.lane.team)), ({ consumers }) => {
          state.lane.askedForLeader(consumers > 0)
          drive(state)
        })
      case "Admit":
        return admit(state, step.runs, stopwatch())
      case "Publish":
        return send(state, step.flights, step.isBehind)
    }
  }

  /** One group after the other, each confirmed before the next: so the broker's order is the lane's. */
  const send = (
    state: LaneState,
    flights: ReadonlyArray<Flight>,
    isBehind: boolean
  ): Effect.Effect<void, LeaseLost> => {
    const runs = flights.map(({ run }) => run)
    return Effect.map(
      publish(runs, isBehind, ({ run_id }) => state.lane.maySend(run_id)),
      (result) => {
        if (result === "queueReplaced") release(state.lane.queueReplaced())
        else state.lane.published(flights, stopwatch())
        drive(state)
      }
    )
  }

  const admit = (state: LaneState, ready: ReadonlyArray<LaneRun>, begunAt: number): Effect.Effect<void, LeaseLost> => {
    // When they got their slots: another run may get its own while these wait for their commit.
    const at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
    return untilAvailable(admitTogether(ready.map(({ run_id }) => ({ run_id, at })))).pipe(
      // Also when this is interrupted: what holds slots is always in a lane or gives them back.
      Effect.onExit((exit) =>
        Effect.sync(() => admitted(state, ready, begunAt, Exit.isSuccess(exit) ? exit.value : new Set()))
      ),
      Effect.map(() => {
        drive(state)
        slotsAreFree()
      })
    )
  }

  /** Those that were not admitted give their slots back. */
  const admitted = (
    state: LaneState,
    ready: ReadonlyArray<LaneRun>,
    begunAt: number,
    ids: ReadonlySet<RunId>
  ): void => {
    const flights = ready.filter(({ run_id }) => ids.has(run_id)).map((run): Flight => ({ run, begunAt }))
    for (const run of ready) if (!ids.has(run.run_id)) releaseSlots(run)
    state.lane.admitted(flights)
    for (const flight of flights) follow(state, flight)
  }

  /** What is in flight, until it has landed. */
  const following = new Map<RunId, Following>()
  const follow = (state: LaneState, flight: Flight): void => {
    const { run_id } = flight.run
    const unwatch = outcomes.watch(run_id, (run) => {
      if (run?.status === "cancelled" && run.released_at === undefined) cancelled(state, run_id)
      else ended(state, run_id, run)
    })
    following.set(run_id, { state, flight, unwatch, onLanding: [] })
  }

  const admitBehind: Lanes["admitBehind"] = (ends) => {
    if (closed) return undefined
    const ending = landing(ends)
    const waited = [...deferred]
    deferred.clear()
    const taken = ending === undefined ? new Map<LaneState, ReadonlyArray<LaneRun>>() : takeBehind(ending, waited)
    for (const state of waited) if (!taken.has(state)) drive(state, true)
    const runs = [...taken.values()].flat()
    if (ending === undefined || runs.length === 0) return undefined
    const begunAt = stopwatch()
    const at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
    return {
      admission: { term: lease.term, run_ids: new Set(runs.map(({ run_id }) => run_id)), at },
      settle: (ids) => {
        for (const [state, ready] of taken) {
          if (closed) for (const run of ready) releaseSlots(run)
          else if (ids === undefined) fork(admitAfter(ending, state, ready, begunAt))
          else {
            admitted(state, ready, begunAt, ids)
            drive(state)
          }
        }
        if (ids !== undefined && ids.size < runs.length) slotsAreFree()
      }
    }
  }

  /** The ends' runs, if each of them is in flight and gives its slots back. */
  const landing = (ends: ReadonlyArray<Ending>): ReadonlyArray<Following> | undefined => {
    const found = new Map<RunId, Following>()
    for (const { outcome, run_id } of ends) {
      const run = following.get(run_id)
      // A cancelled run keeps its slots until its leader is done with it.
      if (run === undefined || outcome.status === "cancelled" || !run.state.lane.maySend(run_id)) return undefined
      found.set(run_id, run)
    }
    return [...found.values()]
  }

  /** While the commit is under way they hold their slots, and those that end do as well: no other run gets between. */
  const takeBehind = (
    ending: ReadonlyArray<Following>,
    waited: ReadonlyArray<LaneState>
  ): Map<LaneState, ReadonlyArray<LaneRun>> => {
    const taken = new Map<LaneState, ReadonlyArray<LaneRun>>()
    for (const { flight } of ending) releaseSlots(flight.run)
    for (const state of new Set([...blocked, ...waited, ...ending.map(({ state }) => state)])) {
      const runs = state.lane.takeBehind(ending.filter((other) => other.state === state).length)
      if (runs.length > 0) {
        taken.set(state, runs)
        blocked.delete(state)
      }
      noteHead(state)
    }
    for (const { flight } of ending) holdSlots(flight.run)
    return taken
  }

  /** When it is not known whether the others have ended: then these may be admitted once they have. To do so twice does no harm. */
  const admitAfter = (
    ending: ReadonlyArray<Following>,
    state: LaneState,
    ready: ReadonlyArray<LaneRun>,
    begunAt: number
  ): Effect.Effect<void, LeaseLost> => {
    const landed = Effect.forEach(ending, hasLanded, { discard: true })
    const giveUp = Effect.sync(() => {
      for (const run of ready) releaseSlots(run)
    })
    return Effect.zipRight(
      Effect.onInterrupt(landed, () => giveUp),
      // Only then: it takes the time at which they got their slots.
      Effect.suspend(() => admit(state, ready, begunAt))
    )
  }
  const hasLanded = ({ flight }: Following) =>
    Effect.async<void>((resume) => {
      const now = following.get(flight.run.run_id)
      if (now === undefined) resume(Effect.void)
      else now.onLanding.push(() => resume(Effect.void))
    })

  const ended = (state: LaneState, id: RunId, run: Run | undefined): void => {
    const work = run && workOn(run)
    const flight = state.lane.ended(id, work)
    if (work !== undefined) audit.answered(run!)
    if (flight !== undefined) land(flight)
    const audited = audit.afterAnswer(state.lane)
    if (audited !== undefined) fork(afterAudit(state, audited))
    // More replies may be there, whose commit then admits what may follow.
    drive(state, false)
  }

  /** It holds its slots until its leader is done with it, which is asked to stop each time that this is reported. */
  const cancelled = (state: LaneState, id: RunId): void => {
    const progress = state.lane.cancelled(id)
    if (progress === "unsent") release([id])
    else if (progress === "sent") fork(untilAvailable(bus.cancel(state.lane.team, id)))
  }
  /** Nobody works on these cancelled runs; that their slots are free is reported like an end. */
  const release = (ids: ReadonlyArray<RunId>): void => {
    if (ids.length > 0) fork(untilAvailable(outcomes.release(ids)))
  }

  const land = (flight: Flight): void => {
    const followed = following.get(flight.run.run_id)
    following.delete(flight.run.run_id)
    followed?.unwatch()
    releaseSlots(flight.run)
    for (const onLanding of followed?.onLanding ?? []) onLanding()
  }
  const releaseSlots = (run: LaneRun): void => {
    if (run.webhook !== undefined) limiter.release(slotOf(run))
  }
  const holdSlots = (run: LaneRun): void => {
    if (run.webhook !== undefined) limiter.hold(slotOf(run))
  }
  function releaseAll() {
    closed = true
    for (const { run } of unknown.values()) releaseSlots(run)
    for (const { lane, unwatchHead } of lanes.values()) {
      unwatchHead()
      for (const flight of lane.flights.values()) land(flight)
    }
  }

  /** A freed slot goes to the lane that has waited longest; one that gets it goes to the end of the line. */
  const slotsAreFree = (): void => {
    if (closed) return
    for (const state of [...blocked]) drive(state)
  }

  const takeOver = (run: LaneRun): void => {
    const state = laneOf(run.team)
    holdSlots(run)
    // Known to be with a broker that outlived us: its answer will come. Else it is sent again, as the same run.
    const flight: Flight = { run, begunAt: stopwatch() }
    const isCancelled = run.status === "cancelled"
    state.lane.takenOver(flight, isCancelled || (run.status === "running" && bus.durable))
    follow(state, flight)
    if (!isCancelled) return
    if (bus.durable) cancelled(state, run.run_id)
    else release([run.run_id])
  }

  /** When the admission of each run that has a reservation began. */
  const reservations = new Map<RunId, number>()
  /** Reserved runs of which the database has not said what became of them; until then they may still be admitted. */
  const unknown = new Map<RunId, { readonly run: LaneRun; readonly begunAt: number; readonly until: number }>()

  const reserve = (run: LaneRun): boolean => {
    if (closed || !laneOf(run.team).lane.reserve(run)) return false
    reservations.set(run.run_id, stopwatch())
    return true
  }

  const reservationEnded: Lanes["reservationEnded"] = (run, result) => {
    const begunAt = reservations.get(run.run_id) ?? stopwatch()
    reservations.delete(run.run_id)
    // After this term it is the next one's.
    if (closed) return releaseSlots(run)
    switch (result) {
      case "admitted":
        return admittedWithAcceptance(run, begunAt)
      case "unknown":
        unknown.set(run.run_id, { run, begunAt, until: clock.unsafeCurrentTimeMillis() + lastCommit })
        // It may be in the rows: no later run of its team gets a reservation before they were read.
        return laneOf(run.team).lane.woken()
      case "waits":
      case "notStored":
        return withoutReservation(run)
    }
  }
  const admittedWithAcceptance = (run: LaneRun, begunAt: number): void => {
    const state = laneOf(run.team)
    const flight: Flight = { run, begunAt }
    state.lane.reservationEnded(flight)
    follow(state, flight)
    drive(state)
  }
  const withoutReservation = (run: LaneRun): void => {
    const state = laneOf(run.team)
    state.lane.reservationEnded()
    releaseSlots(run)
    drive(state)
    slotsAreFree()
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

  const afterAudit = (state: LaneState, audited: Effect.Effect<boolean>): Effect.Effect<void> =>
    Effect.map(audited, (isLost) => {
      if (isLost) release(state.lane.sendAgain())
      drive(state)
    })

  const webhooksChanged = (): void => {
    for (const state of lanes.values()) {
      state.lane.changed()
      drive(state)
    }
  }

  const refreshLimits = Effect.gen(function* () {
    const webhooks = [...blocked].flatMap(({ lane }) => lane.blockedHead?.webhook?.id ?? [])
    if (webhooks.length === 0) return
    const limits = yield* store.limits(webhooks)
    for (const { lane } of blocked) lane.headLimitRead(limits)
    slotsAreFree()
  })

  return {
    term: lease.term,
    wake,
    takeOver,
    reserve,
    reservationEnded,
    resolveUnknown,
    admitBehind,
    webhooksChanged,
    stopped: () => [...lanes.values()].filter(({ lane }) => lane.isStopped).map(({ lane }) => lane.team),
    teams: () => [...lanes.keys()],
    notSent: () => [...unknown.keys(), ...[...lanes.values()].flatMap(({ lane }) => lane.notSent(stopwatch()))],
    refreshLimits,
    audit: Effect.suspend(() =>
      Effect.forEach([...lanes.values()], (state) => afterAudit(state, audit.check(state.lane)), {
        concurrency: auditsAtOnce,
        discard: true
      })
    ),
    dropIdle: () => {
      for (const [team, { lane }] of lanes) if (lane.isIdle) lanes.delete(team)
    },
    join: FiberSet.join(fibers)
  }
})

const slotOf = ({ team, webhook }: LaneRun): SlotRequest => ({
  webhook: webhook!.id,
  team,
  maxConcurrent: webhook!.max_concurrent
})

/** None for a run that the team did not answer. */
const workOn = ({ status, sent_at, started_at, finished_at }: Run): Work | undefined => {
  const began = started_at ?? sent_at
  return status !== "timeout" && status !== "cancelled" && began !== undefined && finished_at !== undefined
    ? { beganAt: DateTime.toEpochMillis(began), doneAt: DateTime.toEpochMillis(finished_at) }
    : undefined
}
