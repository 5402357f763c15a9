import { Cause, DateTime, Duration, Effect, Either, Exit, Option, type Scope } from "effect"
import type { IdempotencyKeyReused, Unavailable, WebhookPaused } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { LaneRun, LaneStore } from "../../repo/run/LaneStore.ts"
import { type Acceptance, type AcceptanceRefused, type NewRun, RunStore } from "../../repo/run/RunStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { type AcceptResult, CurrentLanes } from "../dispatch/CurrentLanes.ts"
import { Settings } from "../Settings.ts"
import * as Backlog from "./Backlog.ts"

/** A run to be accepted, and the fields of its webhook that its lane needs. */
export interface Candidate {
  readonly run: NewRun
  readonly webhook?: NonNullable<LaneRun["webhook"]>
  /** The run waits for a leader. */
  readonly isTeamStopped?: boolean
  /** Only a repeat of an accepted request is answered. This is why a new one is refused. */
  readonly refusedIfNew?: IdempotencyKeyReused | WebhookPaused
}

/** False turns this off (decision 0028): a lane reads each run that waits. */
const isAheadUsed: boolean = true

type Answers = ReadonlyArray<Either.Either<Acceptance, AcceptanceRefused>>

/** Accepts runs in this order. The answers have the same order. */
export type Accept = (candidates: ReadonlyArray<Candidate>) => Effect.Effect<Answers, Unavailable>

/**
 * Accepts runs in groups. When this process is the dispatcher, a run that would be the next of its lane to be sent is
 * admitted with the same commit, and then published without being read back.
 */
export const make: Effect.Effect<Accept, never, CurrentLanes | LaneStore | RunStore | Scope.Scope | Settings> =
  Effect.gen(function* () {
    const runs = yield* RunStore
    const current = yield* CurrentLanes
    const { maxQueued } = yield* Settings
    const clock = yield* Effect.clock

    const backlog = yield* Backlog.make(maxQueued)

    const commit = (items: ReadonlyArray<Item>) =>
      Effect.suspend(() => {
        const lanes = current.get()
        const newRuns = items.map(({ run }) => run)
        const { options: counts, ended } = backlog(newRuns)
        const limits = { maxQueued, ...counts }
        if (lanes === undefined) {
          return Effect.onExit(runs.accept(newRuns, limits), (exit) =>
            Effect.sync(() => ended((index) => mayWait(laneState(exit, index))))
          )
        }
        const reservations = items.map(({ laneRun, mayBeSent }) => (mayBeSent ? lanes.reserve(laneRun) : undefined))
        const run_ids = new Set(newRuns.flatMap(({ run_id }, index) => (reservations[index] ? [run_id] : [])))
        // After the slots were taken: the runs that held them before have ended by then.
        const at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
        const options = { ...limits, admission: { term: lanes.term(), run_ids, at } }
        return Effect.onExit(runs.accept(newRuns, options), (exit) =>
          Effect.sync(() => {
            const states = items.map((_, index) => laneState(exit, index))
            ended((index) => mayWait(states[index]!))
            for (const [index, { collects, laneRun, mayBeSent }] of items.entries()) {
              const result = states[index]!
              reservations[index]?.settle(result)
              if (result === "waits" && !collects)
                lanes.accepted(laneRun, mayBeSent && isAheadUsed ? aheadOf(exit, index) : undefined)
            }
          })
        )
      })

    const together = yield* GroupCommit.make({
      size: 500,
      weight: { of: ({ size }: Item) => size, limit: 4_000_000 },
      commit
    })
    return (candidates) => together(candidates.map(itemOf))
  })

const mayWait = (state: AcceptResult): boolean => state === "waits" || state === "unknown"

/**
 * Where the run is now. A statement that the database did not get, or refused, is not committed; one without an answer may
 * have been.
 */
const laneState = (exit: Exit.Exit<Answers, Unavailable>, index: number): AcceptResult => {
  if (Exit.isFailure(exit)) return isNotStored(exit.cause) ? "notStored" : "unknown"
  const answer = exit.value[index]
  if (answer === undefined || Either.isLeft(answer) || answer.right._tag !== "Accepted") return "notStored"
  return answer.right.admitted ? "admitted" : "waits"
}

const isNotStored = (cause: Cause.Cause<Unavailable>): boolean =>
  Cause.isDie(cause) || Option.exists(Cause.failureOption(cause), ({ not_done }) => not_done === true)

/** The runs that wait before an accepted one, if known. */
const aheadOf = (exit: Exit.Exit<Answers, Unavailable>, index: number): ReadonlyArray<RunId> | undefined => {
  const answer = Exit.isSuccess(exit) ? exit.value[index] : undefined
  return answer && Either.isRight(answer) && answer.right._tag === "Accepted" ? answer.right.ahead : undefined
}

interface Item {
  readonly run: NewRun
  readonly laneRun: LaneRun
  /** It opens a window, and has no place in the lane until the window closes. */
  readonly collects: boolean
  /** It neither opens a window nor waits for a leader. */
  readonly mayBeSent: boolean
  /** Of its texts, in UTF-16 code units. */
  readonly size: number
}

const itemOf = ({ run, webhook, isTeamStopped = false }: Candidate): Item => ({
  run,
  collects: run.coalesce !== undefined,
  mayBeSent: !isTeamStopped && run.coalesce === undefined,
  laneRun: {
    run_id: run.run_id,
    source: run.source,
    team: run.team,
    mode: run.mode,
    status: "queued",
    prompt: run.prompt,
    ...(run.layout && { layout: run.layout }),
    timeout_ms: Duration.toMillis(run.timeout),
    accepted_at: run.accepted_at,
    ...(run.deadline_at && { deadline_at: run.deadline_at }),
    ...(run.traceparent && { traceparent: run.traceparent }),
    ...(run.thread_key !== undefined && { thread_key: run.thread_key }),
    ...(webhook && { webhook })
  },
  size: run.prompt.length + JSON.stringify(run.variables).length
})
