import { DateTime, Duration, Effect } from "effect"
import { Bus, type Inspection } from "../bus/Bus.ts"
import type { RunId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import { HistoryStore } from "../repo/HistoryStore.ts"
import { RunStore } from "../repo/RunStore.ts"
import type { Lane } from "./Lane.ts"

/** Finds prompts that the broker has lost; true: what is in flight is to be sent again. */
export interface LaneAudit {
  /** To be called once in a while: asks the broker when the oldest run in flight is the same as at the last call. */
  readonly check: (lane: Lane) => Effect.Effect<boolean>
  /**
   * To be called after an answer: what to do when it has passed over the lane's oldest run, which is to wait until that is
   * answered, or lost. `undefined`: it has not, or that is being done.
   */
  readonly afterAnswer: (lane: Lane) => Effect.Effect<boolean> | undefined
  /** To be called with a run that the team has answered: its leader may report when it starts. */
  readonly answered: (run: Run) => void
}

/** What is remembered of a lane from one check to the next. */
interface Watched {
  /** The run that the broker has had for longest. */
  readonly head: RunId
  /** Checks since then. */
  age: number
  /** The age at which the broker is asked. */
  askAt: number
  /** Prompts were missing when it was asked last. */
  wereMissing: boolean
  /** The leader has reported that it works on it. */
  isStarted: boolean
  /** How often the head was sent again. */
  readonly sentAgain: number
}

/** The broker is asked about a run in work at the age of 1, 2, 4 and 8 checks, then every 4; every time without a leader. */
const longestPause = 4
/** A leader that reports when it starts has done so within so many checks after the run before it was answered. */
const startsWithin = 4
/** How long replies that several servers receive overtake each other as a rule; after that nothing is published behind them. */
const overtaking = Duration.millis(50)
/** How long the older reply may take in all, before the broker is asked. */
const overtakingAtMost = Duration.millis(250)

/**
 * Prompts can be lost without a word to us: with a queue that is deleted, a queue that is purged, or a broker's disk.
 *
 * - The queue was deleted: everything in flight is lost.
 * - Prompts are missing, or a later run was answered before the oldest one: that may be a reply on its way. When it is still
 *   so a moment later, no replies wait, and the rows know no end either, they are lost. Until then nothing is published.
 * - The only prompt that the leader could have does not start, although the team's leaders report that: the same.
 *
 * What is lost is to be sent again with all that is in flight, in order, as the same runs: a leader answers what it has
 * answered before from memory. When that does not help, the next time comes later and later.
 */
export const make: Effect.Effect<LaneAudit, never, Bus | HistoryStore | RunStore> = Effect.gen(function* () {
  const bus = yield* Bus
  const history = yield* HistoryStore
  const runs = yield* RunStore
  const lanes = new WeakMap<Lane, Watched>()

  const watch = (lane: Lane, head: RunId): Watched => {
    const before = lanes.get(lane)
    if (before?.head === head) return before
    const watched = { head, age: 0, askAt: 1, wereMissing: false, isStarted: false, sentAgain: 0 }
    lanes.set(lane, watched)
    return watched
  }

  /** Whether a run is in flight no longer, as the rows know; a cancelled one is until it is released. */
  const anyEnded = (lane: Lane) =>
    Effect.map(
      runs.ended([...lane.flights.keys()]),
      ({ runs, deleted }) =>
        deleted.length > 0 || runs.some(({ status, released_at }) => status !== "cancelled" || released_at)
    )

  /** Teams whose leaders report that they start. */
  const reporting = new Set<TeamName>()
  const answered: LaneAudit["answered"] = ({ sent_at, started_at, team }) => {
    if (sent_at === undefined || started_at === undefined) return
    // A run of which no start was reported has the time of its sending (`sentBefore`).
    if (DateTime.Equivalence(started_at, sent_at)) reporting.delete(team)
    else reporting.add(team)
  }

  /**
   * The leader seems to have a prompt, and would have begun it. Not while the broker takes nothing: then no report comes.
   */
  const isIdle = Effect.fnUntraced(function* (lane: Lane, watched: Watched) {
    if (!reporting.has(lane.team) || watched.isStarted || watched.age < startsWithin) return false
    yield* bus.ping
    const { started_at } = yield* history.run(watched.head)
    watched.isStarted = started_at !== undefined
    return !watched.isStarted
  })

  /** Fewer prompts wait in the queue than should: of several leaders one is active, and has one. */
  const isShort = (lane: Lane, watched: Watched, { consumers, messages }: Inspection, count: number) => {
    const missing = count - messages
    return missing === 1 && consumers > 0 ? isIdle(lane, watched) : Effect.succeed(missing > (consumers > 0 ? 1 : 0))
  }

  const stateOf = Effect.fnUntraced(function* (lane: Lane, watched: Watched, inspection: Inspection) {
    const { head, wereMissing } = watched
    if (inspection.isReplaced) return "replaced"
    if (lane.sent?.head !== head) return "present"
    if (!lane.isPassedOver && !(yield* isShort(lane, watched, inspection, lane.sent.count))) return "present"
    if (!wereMissing || (yield* bus.repliesWaiting) > 0 || (yield* anyEnded(lane))) return "missing"
    return lane.sent?.head === head ? "lost" : "missing"
  })

  /** Asks the broker what it has; nothing is published meanwhile, nor after it while prompts seem to be missing. */
  const examine = (lane: Lane, watched: Watched): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const { head } = watched
      const inspection = yield* bus.inspect(lane.team)
      const state = yield* stateOf(lane, watched, inspection)
      // Meanwhile it may have ended; the next one was not looked at.
      lane.release(state === "missing" ? head : undefined)
      watched.wereMissing = state === "missing"
      if (state === "missing") return false
      if (state === "present") {
        watched.askAt = watched.age + (inspection.consumers === 0 ? 1 : Math.min(watched.age, longestPause))
        return false
      }
      const sentAgain = watched.sentAgain + 1
      lanes.set(lane, { ...watched, age: 0, askAt: 2 ** sentAgain, wereMissing: false, sentAgain })
      yield* logLoss(lane, state)
      return true
    }).pipe(
      Effect.catchAll(() =>
        Effect.sync(() => {
          lane.release()
          watched.wereMissing = false
          return false
        })
      ),
      (examined) =>
        Effect.zipRight(
          Effect.sync(() => lane.hold()),
          examined
        )
    )

  const check: LaneAudit["check"] = (lane) =>
    Effect.suspend(() => {
      const head = lane.sent?.head
      if (head === undefined) return Effect.succeed(false)
      const isNew = lanes.get(lane)?.head !== head
      const watched = watch(lane, head)
      if (isNew) return Effect.succeed(false)
      watched.age++
      return watched.age < watched.askAt ? Effect.succeed(false) : examine(lane, watched)
    })

  const waiting = new WeakSet<Lane>()
  const afterAnswer: LaneAudit["afterAnswer"] = (lane) => {
    if (!lane.isPassedOver || waiting.has(lane)) return undefined
    waiting.add(lane)
    const wait = Effect.gen(function* () {
      while (lane.isPassedOver) {
        const head = lane.sent?.head
        const isAnswered = () => head !== lane.sent?.head || !lane.isPassedOver
        yield* Effect.sleep(overtaking)
        if (head === undefined || isAnswered()) continue
        lane.release(head)
        yield* Effect.sleep(Duration.subtract(overtakingAtMost, overtaking))
        if (isAnswered()) continue
        const watched = watch(lane, head)
        watched.wereMissing = true
        if (yield* examine(lane, watched)) return true
      }
      return false
    })
    return Effect.ensuring(
      wait,
      Effect.sync(() => waiting.delete(lane))
    )
  }

  return { check, afterAnswer, answered }
})

const logLoss = ({ flights, team }: Lane, result: "replaced" | "lost"): Effect.Effect<void> =>
  Effect.logWarning(
    result === "replaced"
      ? "The team's queue was deleted; what was in it is sent again"
      : "Prompts are missing from the team's queue; they are sent again"
  ).pipe(Effect.annotateLogs({ team, in_flight: flights.size }))
