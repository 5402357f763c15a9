import { Clock, Context, DateTime, Duration, Effect, FiberHandle, FiberMap, Layer, Schedule } from "effect"
import { Bus } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type DueWork, LaneStore, type OutState } from "../../repo/run/LaneStore.ts"
import { type OutRun, RunStore } from "../../repo/run/RunStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import type { Renderer } from "../prompt/Renderer.ts"
import { Settings } from "../Settings.ts"
import * as CombinedPrompts from "./CombinedPrompts.ts"
import { Sender } from "./Sender.ts"
import { Steps } from "./Steps.ts"

const interval = Duration.seconds(1)
/** In milliseconds: how long the reply path may take to reconnect and record the waiting replies. */
const answersCatchUp = 10_000
/** In milliseconds: a reply that waited at the broker is recorded, or waits there again, after this time. */
const replyHandled = 3_000
/** In milliseconds: an admitted run that is not known to be sent is sent again after this time, by any server. */
const resendAfter = 2_500
/** Questions to the broker at a time. */
const atOnce = 8

/**
 * In milliseconds since a run was sent: when the broker is asked about its prompt, and then at each multiple of the last one.
 * From the second time on, the prompt is offered to a leader that does not have it, too.
 */
const lookedForAt = [1_000, 2_000, 4_000, 8_000, 12_000] as const

/** Whether one of these times, or a multiple of the last one, is between the two ages. */
const isLookedFor = (before: number, age: number): boolean => {
  const last = lookedForAt[4]
  return lookedForAt.some((time) => before < time && time <= age) || Math.floor(age / last) > Math.floor(before / last)
}

/**
 * The work of each second, by one server. It admits what no step touched: a leader came, or a limit was raised. It sends what
 * another server did not, finds prompts that the broker has lost, and ends what takes too long. It works from the rows alone.
 * One statement says what there is to do.
 */
export class Ticks extends Context.Service<
  Ticks,
  {
    /** This server does it at present. */
    readonly isHere: () => boolean
    /** From now on this does such work, in each second in which there may be some, unless it still runs. It delays no other work. */
    readonly whenDue: (work: DueWork, run: Effect.Effect<void>) => void
  }
>()("webhook-trigger/Ticks") {
  static readonly layer: Layer.Layer<
    Ticks,
    never,
    Bus | LaneStore | Outcomes | Renderer | RunStore | Sender | Settings | Steps | TeamLeaders
  > = Layer.effect(
    Ticks,
    Effect.gen(function* () {
      const bus = yield* Bus
      const lanes = yield* LaneStore
      const leaders = yield* TeamLeaders
      const runs = yield* RunStore
      const steps = yield* Steps
      const sender = yield* Sender
      const outcomes = yield* Outcomes
      const { resendRunning, stopGrace } = yield* Settings
      const clock = yield* Clock.Clock
      const begunAt = clock.currentTimeMillisUnsafe()

      /**
       * Nothing expires before this stopwatch time. Answers that came in time may still be at the broker, because no server
       * could receive or record them; they must not lose to the clock.
       */
      let expireFrom = Number.NEGATIVE_INFINITY
      const letAnswersCatchUp = Effect.sync(() => {
        expireFrom = stopwatch(clock) + answersCatchUp
      })
      /** Replies could not be received or recorded. */
      const noticeOutage = Effect.andThen(
        letAnswersCatchUp,
        Effect.sync(() => {
          repliesWaitedAt = stopwatch(clock)
        })
      )
      /** The stopwatch time since which replies were waiting at every check. */
      let repliesWaitSince: number | undefined
      /** The stopwatch time at which replies may have been waiting last. */
      let repliesWaitedAt = Number.NEGATIVE_INFINITY
      /** Teams whose next run needs a leader, and which had none at the last look. */
      let stopped: ReadonlyArray<TeamName> = []

      const mayExpire = Effect.map(bus.repliesWaiting, (waiting) => {
        const now = stopwatch(clock)
        repliesWaitSince = waiting > 0 ? (repliesWaitSince ?? now) : undefined
        if (waiting > 0) repliesWaitedAt = now
        return now >= expireFrom && (repliesWaitSince === undefined || waitLong(now))
      })
      const waitLong = (now: number) => repliesWaitSince !== undefined && now - repliesWaitSince >= answersCatchUp

      /** A prompt whose answer waits to be recorded must not be sent again: an agent would do the work twice. */
      const maySendAgain = Effect.map(bus.repliesWaiting, (waiting) => {
        const now = stopwatch(clock)
        if (waiting > 0) repliesWaitedAt = now
        return now - repliesWaitedAt >= replyHandled || waitLong(now)
      })

      const expire = Effect.gen(function* () {
        if (!(yield* mayExpire)) return
        const now = yield* DateTime.now
        const expired = yield* runs.expire(now, { stopped })
        expired.forEach(outcomes.recorded)
        const unconfirmed = yield* runs.releaseUnconfirmed(DateTime.subtractDuration(now, stopGrace), now)
        for (const { run_id, team } of unconfirmed) {
          yield* Effect.logWarning(
            `The leader has not confirmed within ${Duration.format(stopGrace)} that the agent has stopped; it may still work. Its team and its slots are free`
          ).pipe(Effect.annotateLogs({ team, run_id }))
        }
        const teams = [...expired, ...unconfirmed].map(({ team }) => team)
        if (teams.length > 0) yield* steps.admit(teams)
      })

      const undoStuck = Effect.gen(function* () {
        const undone = yield* lanes.undoStuck
        if (undone > 0)
          yield* Effect.logWarning(`Undid ${undone} statements of processes that did not read their results`)
      })

      const makePrompts = yield* CombinedPrompts.make
      const prompts = yield* FiberHandle.make<void>()
      /** Prompts may take long to make, and hold up nothing else. */
      const endHolds = Effect.gen(function* () {
        if (!(yield* lanes.endHolds(yield* DateTime.now))) return
        yield* FiberHandle.run(prompts, Effect.ignoreCause({ log: "Debug" })(makePrompts), { onlyIfMissing: true })
      })

      const expireApprovals = Effect.gen(function* () {
        for (const run of yield* runs.expireApprovals(yield* DateTime.now)) outcomes.recorded(run)
      })

      /** The work given to `whenDue`. */
      const others = new Map<DueWork, Effect.Effect<void>>()
      const running = yield* FiberMap.make<DueWork>()
      const runOthers = (due: ReadonlySet<DueWork>) =>
        Effect.forEach(
          [...others].filter(([work]) => due.has(work)),
          ([work, run]) => FiberMap.run(running, work, run, { onlyIfMissing: true }),
          { discard: true }
        )

      const wake = Effect.gen(function* () {
        for (const team of yield* lanes.wakeTeams(yield* DateTime.now)) {
          yield* Effect.logInfo("The team's rest is over").pipe(Effect.annotateLogs({ team }))
        }
      })

      const admit = Effect.gen(function* () {
        const waiting = yield* lanes.lanes
        const needLeader = waiting.filter((lane) => lane.needs_leader).map(({ team }) => team)
        const found = yield* leaders.find(needLeader)
        stopped = found.leaderless
        yield* steps.admit(
          waiting.map(({ team }) => team),
          found
        )
      })

      /** Runs whose prompts were not found at the last look, and why. */
      const missing = new Map<RunId, "not in the queue" | "queue deleted">()

      /**
       * Looks for a lost prompt: with a deleted or purged queue, or with the broker's disk. One that is not in the queue may
       * be with a leader. So it is offered again, which reaches only a leader without work.
       */
      const lookFor = (run: OutState, age: number) =>
        Effect.gen(function* () {
          const { run_id, team } = run
          const before = missing.get(run_id)
          missing.delete(run_id)
          const { consumers, isReplaced, messages } = yield* bus.inspect(team)
          const isEmpty = messages === 0
          if (!isReplaced && before !== "queue deleted" && (consumers > 0 || !isEmpty)) {
            if (isEmpty && age >= lookedForAt[1] && (yield* maySendAgain)) yield* withRun(run, sender.offer)
            return
          }
          const isSure = isReplaced || before !== undefined
          if (!isSure || !(yield* maySendAgain)) {
            missing.set(run_id, isReplaced ? "queue deleted" : (before ?? "not in the queue"))
            return
          }
          const reason = isReplaced || before === "queue deleted" ? "queue was deleted" : "queue does not have it"
          yield* Effect.logWarning(`The prompt is lost, as the team's ${reason}; it is sent again`).pipe(
            Effect.annotateLogs({ team, run_id })
          )
          yield* sendAgain(run)
        })

      const withRun = <A, E>({ run_id }: Pick<OutState, "run_id">, use: (run: OutRun) => Effect.Effect<A, E>) =>
        Effect.flatMap(lanes.outRuns([run_id]), (runs) => Effect.forEach(runs, use, { discard: true }))
      const sendAgain = (run: Pick<OutState, "run_id">) =>
        withRun(run, (run) => Effect.sync(() => sender.send(run, { again: true })))

      /** Handles a run that was offered to a leader over HTTP. Once all of those are absent, nobody works on it. */
      const lookOverHttp = ({ admitted_at, sent_at, stop_at, ...run }: OutState, now: number) => {
        if (sent_at === undefined && stop_at === undefined && now - admitted_at!.epochMilliseconds >= resendAfter) {
          outcomes.progress(run.run_id, { sent_at: DateTime.makeUnsafe(now) })
        }
        if (leaders.isOverHttp(run.team) || !leaders.mayReplace()) return Effect.void
        if (stop_at !== undefined) return steps.release([run.run_id])
        return Effect.flatMap(bus.queue(run.team), ({ consumers }) => (consumers > 0 ? sendAgain(run) : Effect.void))
      }

      /** Handles a run that is out. `since`: the last look, or none if this process begins. */
      const look = (run: OutState, now: number, since: number | undefined): Effect.Effect<void, Unavailable> => {
        const { admitted_at, run_id, sent_at, stop_at, team } = run
        if (run.over_http) return lookOverHttp(run, now)
        const age = now - DateTime.toEpochMillis(sent_at ?? admitted_at!)
        // Prompts in the broker of an earlier process are lost with it. A run of this millisecond may be our own.
        const isLost = !bus.durable && since === undefined && DateTime.toEpochMillis(admitted_at!) < begunAt
        if (stop_at !== undefined) {
          if (isLost) return steps.release([run_id])
          return DateTime.toEpochMillis(stop_at) <= now ? sender.stop(run) : Effect.void
        }
        if (isLost) return sendAgain(run)
        if (sent_at === undefined) {
          return age < resendAfter ? Effect.void : Effect.asVoid(Effect.when(sendAgain(run), maySendAgain))
        }
        const isTime = missing.has(run_id) || isLookedFor(age - now + (since ?? now), age)
        const lookIfTime = isTime ? lookFor(run, age) : Effect.void
        if (!leaders.isOverHttp(team)) return lookIfTime
        const withdrawn = Effect.orElseSucceed(bus.withdraw(team), () => 0)
        return Effect.flatMap(withdrawn, (count) => (count > 0 ? sendAgain(run) : lookIfTime))
      }

      let lastLook: number | undefined
      const lookAtAll = Effect.gen(function* () {
        const out = yield* lanes.out
        const now = clock.currentTimeMillisUnsafe()
        const since = lastLook
        lastLook = now
        yield* Effect.forEach(out, (run) => Effect.ignore(look(run, now, since)), {
          concurrency: atOnce,
          discard: true
        })
        const ids = new Set(out.map(({ run_id }) => run_id))
        for (const id of missing.keys()) if (!ids.has(id)) missing.delete(id)
      })

      /** In this order, if there may be such work. */
      const work: ReadonlyArray<readonly [ReadonlyArray<DueWork>, Effect.Effect<void, Unavailable>]> = [
        [["stuck"], undoStuck],
        [["deadlines", "out"], expire],
        [["holds"], endHolds],
        [["approvals"], expireApprovals],
        [["rests"], wake],
        [["holds", "rests", "waiting"], admit],
        [["out"], lookAtAll]
      ]
      const mayBe = (due: ReadonlySet<DueWork>, work: ReadonlyArray<DueWork>) => work.some((each) => due.has(each))

      /** For looks that need not be made, sets what they would find. */
      const skip = (due: ReadonlySet<DueWork>) => {
        if (!mayBe(due, ["deadlines", "out"])) repliesWaitSince = undefined
        if (!due.has("waiting")) stopped = []
        if (due.has("out")) return
        lastLook = clock.currentTimeMillisUnsafe()
        missing.clear()
      }

      let isHere = false
      let resend = resendRunning
      const tick = Effect.gen(function* () {
        // Who does not reach the broker leaves the work to a server that does.
        const reachesBroker = yield* Effect.isSuccess(bus.ping)
        // A broker that takes no prompts takes no answers: the leaders may still have them.
        if (!reachesBroker) yield* noticeOutage
        const wasHere = isHere
        isHere = false
        if (!reachesBroker) return
        const { due, ledTeams } = yield* Effect.tapError(
          lanes.claimTick(yield* DateTime.now, wasHere),
          () => noticeOutage
        )
        leaders.learn(ledTeams)
        if (due === undefined) return
        isHere = true
        if (!wasHere && bus.durable && due.has("out")) yield* letAnswersCatchUp
        if (resend) {
          yield* lanes.forgetSent(yield* DateTime.now)
          resend = false
          yield* Effect.logWarning("Everything in flight is sent again, as RESEND_RUNNING says")
        }
        yield* runOthers(due)
        skip(due)
        for (const [kinds, step] of work) {
          if (mayBe(due, kinds)) yield* Effect.ignoreCause({ log: "Debug" })(Effect.tapError(step, () => noticeOutage))
        }
      })

      yield* untilAvailable(tick).pipe(
        Effect.catchCause((cause) => Effect.logError("The work of a second failed, and is tried again", cause)),
        Effect.repeat(Schedule.spaced(interval)),
        Effect.forkScoped
      )
      return {
        isHere: () => isHere,
        whenDue: (work, run) => {
          others.set(work, run)
        }
      }
    })
  )
}
