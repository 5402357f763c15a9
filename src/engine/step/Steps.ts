import { Clock, Context, DateTime, Effect, Exit, FiberSet, Layer, Result } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import { type Outcome, outcomeFields, type Run, waitsForLeader } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { LaneStore } from "../../repo/run/LaneStore.ts"
import type { EndedRun, RunEnd, RunEvent } from "../../repo/run/RunEnd.ts"
import {
  type Acceptance,
  type AcceptanceRefused,
  type CancelEvent,
  type LimitedRun,
  type NewRun,
  type OutRun,
  RunStore,
  type SingletonRuns,
  type StepResult
} from "../../repo/run/RunStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import { type FoundLeaders, TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Settings } from "../Settings.ts"
import * as Backlog from "./Backlog.ts"
import { Limiter } from "./Limiter.ts"

/** A run to be accepted, and whether its team has a leader. */
interface ToAccept {
  readonly run: NewRun
  readonly isLed: boolean
}

type Accepted = Result.Result<Acceptance, AcceptanceRefused>

type Ending = Pick<RunEnd, "run_id" | "outcome" | "wantsRun" | "isChecked">

/** A step's task for one caller. */
type Item =
  | ({ readonly _tag: "Accept" } & ToAccept)
  | ({ readonly _tag: "End" } & RunEnd)
  | ({ readonly _tag: "Release" } & RunEvent)
  | { readonly _tag: "Admit"; readonly teams: ReadonlyArray<TeamName>; readonly found?: FoundLeaders }

type Answer = Accepted | EndedRun | undefined

/** In milliseconds: for so long, a team whose leader was found counts as led. */
const ledFor = 1_000

/** Who sends and stops the runs. */
interface StepListener {
  /** This process admitted these runs, and sends them. */
  readonly admitted: (runs: ReadonlyArray<OutRun>) => void
  /** These runs have ended, now or before. */
  readonly ended: (runs: ReadonlyArray<Run>) => void
}

/**
 * The middle of the flow. A step is one commit: it ends and releases runs, accepts others, and admits the next ones of their
 * teams and of those that wait for a slot (`RunStore.step`). What it admits, this process sends.
 */
export class Steps extends Context.Service<
  Steps,
  {
    /**
     * In this order. The answers have the same order. `apart`: not in one commit with the runs of others, who would wait as
     * well if a row is locked.
     */
    readonly accept: (
      runs: ReadonlyArray<ToAccept>,
      options?: { readonly apart?: boolean }
    ) => Effect.Effect<ReadonlyArray<Accepted>, Unavailable>
    /** The run that this one's idempotency key names. Accepts nothing. */
    readonly repeatOnly: (run: NewRun) => Effect.Effect<Accepted, Unavailable>
    /** Makes this the run's end, unless another came first. Returns the run as it ended; `undefined`: it does not exist. */
    readonly end: (id: RunId, outcome: Outcome) => Effect.Effect<Run | undefined, Unavailable>
    /** The same for several, in their order. */
    readonly endAll: (
      ends: ReadonlyArray<Omit<Ending, "wantsRun">>
    ) => Effect.Effect<ReadonlyArray<EndedRun>, Unavailable>
    /** Approves or denies the run (`RunStore.decide`). Returns whether this was the decision. */
    readonly decide: (...decision: Parameters<typeof RunStore.Service.decide>) => Effect.Effect<boolean, Unavailable>
    /** Cancels the runs with a key that are on and older than the event (`RunStore.cancelSingletons`). */
    readonly cancelSingletons: (of: SingletonRuns, event: CancelEvent) => Effect.Effect<ReadonlyArray<Run>, Unavailable>
    /**
     * Takes runs back whose agents have reached a usage limit, and lets their teams rest (`RunStore.rest`). Returns those that
     * had ended before.
     */
    readonly rest: (runs: ReadonlyArray<Omit<LimitedRun, "at">>) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
    /** No leader has, or will have, a prompt of these ended runs: their teams and slots are free. */
    readonly release: (ids: ReadonlyArray<RunId>) => Effect.Effect<void, Unavailable>
    /** Admits the next runs of these teams. `found`: what is known of their leaders. */
    readonly admit: (teams: ReadonlyArray<TeamName>, found?: FoundLeaders) => Effect.Effect<void, Unavailable>
    /** From now on, this is told of each step. */
    readonly listen: (listener: StepListener) => void
  }
>()("webhook-trigger/Steps") {
  static readonly layer: Layer.Layer<Steps, never, LaneStore | Limiter | Outcomes | RunStore | Settings | TeamLeaders> =
    Layer.effect(
      Steps,
      Effect.gen(function* () {
        const leaders = yield* TeamLeaders
        const store = yield* RunStore
        const limiter = yield* Limiter
        const outcomes = yield* Outcomes
        const { maxQueued } = yield* Settings
        const clock = yield* Clock.Clock
        const backlog = yield* Backlog.make(maxQueued)
        let listener: StepListener = { admitted: () => {}, ended: () => {} }

        const fork = yield* FiberSet.makeRuntime<never>()
        /** Teams whose next run needed a leader, which was found at this stopwatch time. */
        const foundAt = new Map<TeamName, number>()
        /** Teams that are asked for at present. */
        const asking = new Set<TeamName>()

        const now = () => DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())

        /** The leaders that a step with these items knows of. */
        const leadersFor = (accepting: ReadonlyArray<ToAccept>, found: ReadonlyArray<FoundLeaders>) => {
          const time = stopwatch(clock)
          const leaderless = new Set(found.flatMap(({ leaderless, unknown }) => [...leaderless, ...unknown]))
          for (const { isLed, run } of accepting) if (!isLed) leaderless.add(run.team)
          for (const [team, at] of foundAt) if (time - at >= ledFor || leaderless.has(team)) foundAt.delete(team)
          for (const { led } of found) for (const team of led) foundAt.set(team, time)
          for (const { isLed, run } of accepting) if (isLed && waitsForLeader(run)) foundAt.set(run.team, time)
          const led = new Set(foundAt.keys())
          for (const { isLed, run } of accepting) if (isLed) led.add(run.team)
          return { led, leaderless: found.some(({ timedOut }) => timedOut) ? ("all others" as const) : leaderless }
        }

        const admitted = ({ admitted, needLeader }: StepResult) => {
          listener.admitted(admitted)
          const unasked = needLeader.filter((team) => !asking.has(team))
          if (unasked.length > 0) fork(Effect.ignoreCause({ log: "Debug" })(admitLed(unasked)))
        }

        const commit = (items: ReadonlyArray<Item>): Effect.Effect<ReadonlyArray<Answer>, Unavailable> =>
          Effect.suspend(() => {
            const { accepting, admitting, ending, releasing } = sorted(items)
            const accepts = accepting.map(({ run }) => run)
            const teams = admitting.flatMap(({ teams }) => teams)
            const found = leadersFor(
              accepting,
              admitting.flatMap(({ found }) => found ?? [])
            )
            const { options, ended: counted } = backlog(accepts)
            const ends = outcomes.begin(ending)
            const input = { accepts, ends, releases: releasing, teams }
            const stepped = store.step(input, { ...options, ...found, maxQueued, at: now(), limits: limiter.limits() })
            return Effect.onExit(stepped, (exit) => {
              const sent = new Set(Exit.isSuccess(exit) ? exit.value.admitted.map(({ run_id }) => run_id) : [])
              counted((index) => {
                if (Exit.isFailure(exit)) return true
                const answer = exit.value.accepted[index]!
                return (
                  Result.isSuccess(answer) && answer.success._tag === "Accepted" && !sent.has(accepts[index]!.run_id)
                )
              })
              if (Exit.isSuccess(exit)) {
                admitted(exit.value)
                outcomes.committed(ends, exit.value.ended)
                replaced(exit.value.superseded)
                listener.ended(exit.value.ended.flatMap(({ run }) => run ?? []))
              } else outcomes.failed(ends)
              return Effect.void
            }).pipe(Effect.map(({ accepted, ended }) => resultsOf(items, accepted, ended)))
          })

        /** Cancelled by something else than an end in a step. Of a failed run, that was its retry. */
        const replaced = (runs: ReadonlyArray<Run>) => {
          for (const run of runs) if (run.status === "cancelled") outcomes.recorded(run)
          listener.ended(runs)
        }

        const groups = { size: 500, weight: { of: sizeOf, limit: 4_000_000 }, commit }
        const together = yield* GroupCommit.make(groups)
        /** Files take seconds to store. No other run waits for that, and none fails with it. */
        const withFiles = yield* GroupCommit.make(groups)
        const apartTogether = yield* GroupCommit.make(groups)

        /** A slot is kept for them until this is known: those that have a leader get it, or else the teams behind them. */
        const admitLed = (teams: ReadonlyArray<TeamName>) => {
          for (const team of teams) asking.add(team)
          const asked = Effect.sync(() => {
            for (const team of teams) asking.delete(team)
          })
          return Effect.flatMap(Effect.ensuring(leaders.find(teams), asked), (found) =>
            together([{ _tag: "Admit", teams, found }])
          )
        }

        const endAll = (ends: ReadonlyArray<Ending>) =>
          Effect.suspend(() => {
            const at = now()
            return together(ends.map((end) => ({ _tag: "End", ...end, at }))) as Effect.Effect<
              ReadonlyArray<EndedRun>,
              Unavailable
            >
          })

        return Steps.of({
          accept: (runs, { apart = false } = {}) =>
            (runs.some(({ run }) => run.files?.some(({ bytes }) => bytes !== undefined))
              ? withFiles
              : apart
                ? apartTogether
                : together)(runs.map((run) => ({ _tag: "Accept", ...run }))) as Effect.Effect<
              ReadonlyArray<Accepted>,
              Unavailable
            >,
          repeatOnly: (run) =>
            Effect.suspend(() =>
              Effect.map(
                store.step({ accepts: [run] }, { maxQueued: 0, at: now(), limits: limiter.limits(), led: [] }),
                (result) => {
                  admitted(result)
                  return result.accepted[0]!
                }
              )
            ),
          end: (run_id, outcome) => Effect.map(endAll([{ run_id, outcome }]), ([ended]) => ended?.run),
          // A leader may repeat its reply. The run, whose answer may be long, is read again only for a watcher.
          endAll: (ends) => endAll(ends.map((end) => ({ ...end, wantsRun: outcomes.isWatched(end.run_id) }))),
          decide: Effect.fnUntraced(function* (id, decision) {
            const decided = yield* store.decide(id, decision)
            if (decided === undefined) return false
            replaced(decided.superseded)
            // If this fails, the next tick admits it.
            if (decision.approves) yield* Effect.ignore(together([{ _tag: "Admit", teams: [decided.team] }]))
            return true
          }),
          cancelSingletons: (of, event) =>
            Effect.suspend(() => store.cancelSingletons(of, { ...event, at: now() })).pipe(
              Effect.tap((runs) => {
                replaced(runs)
                return runs.length === 0 ? Effect.void : together([{ _tag: "Admit", teams: [of.team] }])
              })
            ),
          rest: Effect.fnUntraced(function* (runs) {
            const at = now()
            const { ended, rested } = yield* store.rest(runs.map((run) => ({ ...run, at })))
            for (const { run_id, team, until } of rested) {
              yield* Effect.logWarning(
                `The agent has reached a usage limit. The run is queued again${until ? `, and its team rests until ${DateTime.formatIso(until)}` : ""}`
              ).pipe(Effect.annotateLogs({ team, run_id }))
            }
            // Others may have their slots. The tick repeats what a crash leaves undone.
            if (rested.length > 0) yield* Effect.ignore(together([{ _tag: "Admit", teams: [] }]))
            return ended
          }),
          release: (ids) =>
            Effect.suspend(() => {
              const at = now()
              return together(ids.map((run_id) => ({ _tag: "Release", run_id, at })))
            }),
          admit: (teams, found) => together([{ _tag: "Admit", teams, ...(found && { found }) }]),
          listen: (it) => {
            listener = it
          }
        })
      })
    )
}

type Tagged<Tag extends Item["_tag"]> = Extract<Item, { readonly _tag: Tag }>

const sorted = (items: ReadonlyArray<Item>) => {
  const accepting: Array<Tagged<"Accept">> = []
  const ending: Array<Tagged<"End">> = []
  const releasing: Array<Tagged<"Release">> = []
  const admitting: Array<Tagged<"Admit">> = []
  for (const item of items) {
    if (item._tag === "Accept") accepting.push(item)
    else if (item._tag === "End") ending.push(item)
    else if (item._tag === "Release") releasing.push(item)
    else admitting.push(item)
  }
  return { accepting, ending, releasing, admitting }
}

const resultsOf = (
  items: ReadonlyArray<Item>,
  accepted: ReadonlyArray<Accepted>,
  ended: ReadonlyArray<EndedRun>
): ReadonlyArray<Answer> => {
  const [nextAccepted, nextEnded] = [accepted.values(), ended.values()]
  return items.map((item) => {
    switch (item._tag) {
      case "Accept":
        return nextAccepted.next().value
      case "End":
        return nextEnded.next().value
      case "Release":
      case "Admit":
        return undefined
    }
  })
}

/** The length of an item's texts, in UTF-16 code units, and of its files. */
const sizeOf = (item: Item): number => {
  if (item._tag === "Accept") {
    const { files = [], prompt, variables } = item.run
    return files.reduce((sum, { size = 0 }) => sum + size, prompt.length + Json.lengthOf(variables))
  }
  if (item._tag !== "End") return 0
  const { response = "", error_message = "" } = outcomeFields(item.outcome)
  return response.length + error_message.length
}
