import { Duration, Effect } from "effect"
import { Bus, type Inspection } from "../../bus/Bus.ts"
import type { RunId } from "../../domain/Id.ts"
import { isUnreleased } from "../../domain/run/RunStatus.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import type { Lane } from "./Lane.ts"
import type { Offer } from "./LanePublisher.ts"

/** Finds prompts that the broker has lost. Returns true if everything in flight must be sent again. */
export interface LaneAudit {
  /** Called at intervals: asks the broker if the oldest run in flight is the same as at the last call. */
  readonly check: (lane: Lane) => Effect.Effect<boolean>
  /**
   * Called after an answer. If it overtook the lane's oldest run: waits until that is answered, or found lost.
   * `undefined`: it did not, or another call is waiting.
   */
  readonly afterAnswer: (lane: Lane) => Effect.Effect<boolean> | undefined
}

/** The state of a lane between checks. */
interface Watched {
  /** The run that the broker has had for longest. */
  readonly head: RunId
  /** Checks since then. */
  age: number
  /** The age at which the broker is asked next. */
  askAt: number
  /** Prompts were missing when the broker was last asked. */
  wereMissing: boolean
  /** The age at which the prompt is offered again. */
  offerAt: number
  /** How often the head was sent again. */
  readonly sentAgain: number
}

/** The broker is asked at the age of 1, 2, 4 and 8 checks, then every 4; without a leader at every check. */
const longestPause = 4
/** A team's only prompt is offered again at the age of 2, 4, 8, 16 and 32 checks, then every 32. */
const firstOffer = 2
const longestOfferPause = 32
/** Replies that several servers receive usually overtake each other by less. After that the lane publishes nothing. */
const overtaking = Duration.millis(50)
/** How long the older reply may take, before the broker is asked. */
const overtakingAtMost = Duration.millis(250)

/**
 * The broker does not report lost prompts: those of a deleted or purged queue, or of a broken disk.
 *
 * - The queue was deleted: everything in flight is lost.
 * - Prompts are missing, or a later run was answered before the oldest one. A reply may be on its way. They are lost if
 *   nothing has changed at the next check, no replies wait, and the rows have no end. Until then nothing is published.
 *
 * A team's only prompt may be with its leader, or lost. So it is offered again; the offer reaches only a leader without work.
 *
 * Everything in flight is then sent again, in order, as the same runs. Leaders answer runs that they have answered before
 * from memory. The interval grows with each attempt.
 */
export const make = Effect.fnUntraced(function* (offer: Offer): Effect.fn.Return<LaneAudit, never, Bus | RunStore> {
  const bus = yield* Bus
  const runs = yield* RunStore
  const lanes = new WeakMap<Lane, Watched>()

  const watch = (lane: Lane, head: RunId): Watched => {
    const before = lanes.get(lane)
    if (before?.head === head) return before
    const watched = { head, age: 0, askAt: 1, wereMissing: false, offerAt: firstOffer, sentAgain: 0 }
    lanes.set(lane, watched)
    return watched
  }

  /** Whether the rows have an end of any run in flight. An ended run is in flight until it is released. */
  const anyEnded = (lane: Lane) =>
    Effect.map(
      runs.ended(lane.flights.ids),
      ({ runs, deleted }) => deleted.length > 0 || runs.some((run) => !isUnreleased(run))
    )

  /** Prompts are missing in the queue. One leader is active, and has one. */
  const isShort = ({ consumers, messages }: Inspection, count: number) => count - messages > (consumers > 0 ? 1 : 0)

  const stateOf = Effect.fnUntraced(function* (lane: Lane, watched: Watched, inspection: Inspection) {
    const { head, wereMissing } = watched
    if (inspection.isReplaced) return "replaced"
    if (lane.flights.sent?.head !== head) return "present"
    if (!lane.flights.isPassedOver && !isShort(inspection, lane.flights.sent.count)) return "present"
    if (!wereMissing || (yield* bus.repliesWaiting) > 0 || (yield* anyEnded(lane))) return "missing"
    return lane.flights.sent?.head === head ? "lost" : "missing"
  })

  /** Offers the team's only prompt again; it reaches only a leader without work. */
  const offerAgain = Effect.fnUntraced(function* (lane: Lane, watched: Watched, { consumers, messages }: Inspection) {
    const { age, head } = watched
    const isAlone = lane.flights.sent?.count === 1 && consumers > 0 && messages === 0
    if (!isAlone || age < watched.offerAt || !lane.flights.maySend(head)) return
    if ((yield* bus.repliesWaiting) > 0 || (yield* anyEnded(lane))) return
    const flight = lane.flights.get(head)
    if (flight === undefined) return
    watched.offerAt = age + Math.min(age, longestOfferPause)
    yield* offer(flight.run)
  })

  /** Asks the broker which prompts it has. Nothing is published until then, nor while prompts seem to be missing. */
  const examine = (lane: Lane, watched: Watched): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const { head } = watched
      const inspection = yield* bus.inspect(lane.team)
      // No leader has the prompt, and the next one may not find it.
      if (inspection.consumers === 0 || inspection.messages >= (lane.flights.sent?.count ?? 0))
        watched.offerAt = firstOffer
      const state = yield* stateOf(lane, watched, inspection)
      if (state === "present") yield* offerAgain(lane, watched, inspection)
      // The head may have ended by now. This says nothing about the next one.
      lane.flights.release(state === "missing" ? head : undefined)
      watched.wereMissing = state === "missing"
      if (state === "missing") return false
      if (state === "present") {
        watched.askAt = watched.age + (inspection.consumers === 0 ? 1 : Math.min(watched.age, longestPause))
        return false
      }
      const sentAgain = watched.sentAgain + 1
      lanes.set(lane, {
        ...watched,
        age: 0,
        askAt: 2 ** sentAgain,
        wereMissing: false,
        offerAt: 2 ** sentAgain,
        sentAgain
      })
      yield* logLoss(lane, state)
      return true
    }).pipe(
      Effect.catchAll(() =>
        Effect.sync(() => {
          lane.flights.release()
          watched.wereMissing = false
          return false
        })
      ),
      (examined) =>
        Effect.zipRight(
          Effect.sync(() => lane.flights.hold()),
          examined
        )
    )

  const check: LaneAudit["check"] = (lane) =>
    Effect.suspend(() => {
      const head = lane.flights.sent?.head
      if (head === undefined) return Effect.succeed(false)
      const isNew = lanes.get(lane)?.head !== head
      const watched = watch(lane, head)
      if (isNew) return Effect.succeed(false)
      watched.age++
      return watched.age < watched.askAt ? Effect.succeed(false) : examine(lane, watched)
    })

  const waiting = new WeakSet<Lane>()
  const afterAnswer: LaneAudit["afterAnswer"] = (lane) => {
    if (!lane.flights.isPassedOver || waiting.has(lane)) return undefined
    waiting.add(lane)
    const wait = Effect.gen(function* () {
      while (lane.flights.isPassedOver) {
        const head = lane.flights.sent?.head
        const isAnswered = () => head !== lane.flights.sent?.head || !lane.flights.isPassedOver
        yield* Effect.sleep(overtaking)
        if (head === undefined || isAnswered()) continue
        lane.flights.release(head)
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

  return { check, afterAnswer }
})

const logLoss = ({ flights, team }: Lane, result: "replaced" | "lost"): Effect.Effect<void> =>
  Effect.logWarning(
    result === "replaced"
      ? "The team's queue was deleted; what was in it is sent again"
      : "Prompts are missing from the team's queue; they are sent again"
  ).pipe(Effect.annotateLogs({ team, in_flight: flights.size }))
