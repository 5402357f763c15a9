/** Everything that a server does from time to time, and how often. */
import { Cause, DateTime, Duration, Effect, Layer, Option, Schedule, type Scope } from "effect"
import { AuditStore } from "../../repo/access/AuditStore.ts"
import { DeliveryStore } from "../../repo/delivery/DeliveryStore.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { FileBucket } from "../../repo/run/FileBucket.ts"
import { FileStore } from "../../repo/run/FileStore.ts"
import type { DueWork } from "../../repo/run/LaneStore.ts"
import { ProgressStore } from "../../repo/run/ProgressStore.ts"
import { ThreadStore } from "../../repo/run/ThreadStore.ts"
import * as AlertEvaluation from "../alert/AlertEvaluation.ts"
import * as Retries from "../replay/Retries.ts"
import { Settings } from "../Settings.ts"
import { Ticks } from "../step/Ticks.ts"
import * as Schedules from "../trigger/Schedules.ts"
import { Trigger } from "../trigger/Trigger.ts"

export interface Task<R = never> {
  readonly name: string
  /** From the end of one run to the start of the next. */
  readonly every: Duration.Input
  /**
   * - `tick`: only the server that does the work of each second runs it. Two at once do no harm.
   * - `lock`: each server tries, and the lock of a row lets one of them work at a time.
   * - `no`: each server runs it.
   */
  readonly alone: "tick" | "lock" | "no"
  readonly run: Effect.Effect<unknown, unknown, R>
}

/** The server that does the work of each second runs it when there may be such work. Two at once do no harm. */
interface DueTask {
  readonly name: string
  readonly due: DueWork
  readonly run: Effect.Effect<unknown, unknown>
}

const dueTasks = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const { offerAgain } = yield* Trigger

  const tasks: ReadonlyArray<DueTask> = [
    { name: "retries of failed runs", due: "retries", run: yield* Retries.make },
    { name: "schedules of webhooks", due: "schedules", run: yield* Schedules.make },
    { name: "offers to webhooks that share a URL", due: "offers", run: offerAgain },
    // It reads the rows, so sending a prompt does no work for it.
    { name: "deliveries of early events", due: "early", run: Effect.flatMap(DateTime.now, deliveries.deliverEarly) },
    {
      name: "buttons of runs that no longer ask",
      due: "buttons",
      run: Effect.flatMap(DateTime.now, (now) =>
        deliveries.endButtons(DateTime.subtractDuration(now, buttonsEndWithin), now)
      )
    }
  ]
  return tasks
})

const engineTasks = Effect.gen(function* () {
  const bucket = yield* FileBucket
  const files = yield* FileStore
  const history = yield* HistoryStore
  const progress = yield* ProgressStore
  const threads = yield* ThreadStore
  const { threadIdle } = yield* Settings
  const { interval } = yield* AlertEvaluation.Pace

  const tasks: ReadonlyArray<Task> = [
    { name: "alerts", every: interval, alone: "lock", run: yield* AlertEvaluation.make },
    {
      name: "counts of ended runs",
      // More often than charts need: each reader counts the ends since then.
      every: "15 seconds",
      alone: "lock",
      // No statement takes as long: an earlier end that is not there will not come.
      run: inPortions(Effect.flatMap(DateTime.now, (now) => history.rollUp(now, Duration.seconds(10))))
    },
    {
      name: "removal of progress",
      every: "30 seconds",
      alone: "no",
      // A minute after the end, for watchers that reconnect, and for servers with different clocks.
      run: Effect.flatMap(DateTime.now, (now) => progress.removeProgress(DateTime.subtract(now, { minutes: 1 })))
    },
    ...(Option.isSome(bucket)
      ? [
          {
            name: "moves of files to the bucket",
            every: "5 seconds",
            alone: "no",
            run: inPortions(Effect.map(files.moveContents, (moved) => moved > 0))
          } as const
        ]
      : []),
    {
      name: "removal of files",
      every: "10 minutes",
      alone: "tick",
      // Younger contents may belong to a run that is being accepted.
      run: Effect.gen(function* () {
        const before = DateTime.subtract(yield* DateTime.now, { hours: 1 })
        yield* inPortions(Effect.map(files.removeContents(before), (removed) => removed > 0))
      })
    },
    ...Option.match(threadIdle, {
      onNone: () => [],
      onSome: (idle): ReadonlyArray<Task> => [
        {
          name: "ends of idle threads",
          every: "1 minute",
          alone: "no",
          run: Effect.gen(function* () {
            const now = yield* DateTime.now
            const before = DateTime.subtractDuration(now, idle)
            while ((yield* threads.endIdleThreads(before, now)) > 0) yield* Effect.yieldNow
          })
        }
      ]
    })
  ]
  return tasks
})

/** Longer than any run waits for approval. Later replies to questions leave the buttons, so that few messages are looked at. */
const buttonsEndWithin = Duration.days(14)

/** The pause between two portions, so that triggers are not delayed. */
const rest = Duration.millis(50)

/** Repeats it while more is left. */
const inPortions = <E>(portion: Effect.Effect<boolean, E>) =>
  Effect.repeat(portion, { while: (more) => more, schedule: Schedule.spaced(rest) })

/** The tasks of the engine. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { isHere, whenDue } = yield* Ticks
    for (const task of yield* dueTasks) whenDue(task.due, once(task))
    yield* keep(yield* engineTasks, isHere)
  })
)

/** For what is removed at this age. */
const oftenEnough = (age: Duration.Duration) =>
  Duration.clamp(Duration.times(age, 0.1), { minimum: Duration.seconds(1), maximum: Duration.hours(1) })

const removal = <R>(age: Option.Option<Duration.Duration>, task: (age: Duration.Duration) => Task<R>) =>
  Option.match(age, { onNone: () => Layer.empty, onSome: (age) => Layer.effectDiscard(keep([task(age)])) })

/** Removes audit events that are older; without an age, none. */
export const auditRetention = (age: Option.Option<Duration.Duration>): Layer.Layer<never, never, AuditStore> =>
  removal(age, (age) => ({
    name: "removal of audit events",
    every: "1 hour",
    alone: "no",
    run: Effect.gen(function* () {
      const store = yield* AuditStore
      const before = DateTime.subtractDuration(yield* DateTime.now, age)
      yield* inPortions(Effect.map(store.purgeAudit(before), (removed) => removed > 0))
    })
  }))

/** Removes steps that were reported longer ago; without an age, they are kept as long as their runs. */
export const stepsRetention = (age: Option.Option<Duration.Duration>): Layer.Layer<never, never, ProgressStore> =>
  removal(age, (age) => ({
    name: "removal of steps",
    every: oftenEnough(age),
    alone: "no",
    run: Effect.gen(function* () {
      const store = yield* ProgressStore
      const before = DateTime.subtractDuration(yield* DateTime.now, age)
      yield* inPortions(Effect.map(store.removeSteps(before), (removed) => removed > 0))
    })
  }))

/** Removes runs that ended longer ago; without an age, none. */
export const runRetention = (age: Option.Option<Duration.Duration>): Layer.Layer<never, never, HistoryStore> =>
  removal(age, (age) => ({
    name: "removal of runs",
    every: oftenEnough(age),
    alone: "no",
    run: Effect.gen(function* () {
      const history = yield* HistoryStore
      const before = DateTime.subtractDuration(yield* DateTime.now, age)
      let total = 0
      for (;;) {
        const [took, removed] = yield* Effect.timed(history.purge(before))
        if (removed === 0) break
        total += removed
        // The database rests in proportion to the work.
        yield* Effect.sleep(Duration.max(rest, Duration.times(took, 12)))
      }
      if (total > 0) {
        yield* Effect.logInfo("Removed runs past their retention").pipe(Effect.annotateLogs({ removed: total }))
      }
    })
  }))

/** Runs each task again and again until the scope closes, whatever becomes of the others. */
export const keep = <R>(
  tasks: ReadonlyArray<Task<R>>,
  isTicking: () => boolean = () => false
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.forEach(tasks, (task) => Effect.forkScoped(repeated(task, isTicking)), { discard: true })

const repeated = <R>({ alone, every, name, run }: Task<R>, isTicking: () => boolean) =>
  once({ name, run: Effect.suspend(() => (alone === "tick" && !isTicking() ? Effect.void : run)) }).pipe(
    Effect.repeat(Schedule.spaced(every))
  )

const once = <R>({ name, run }: Pick<Task<R>, "name" | "run">): Effect.Effect<void, never, R> =>
  Effect.asVoid(run).pipe(
    // The next run does what this one could not. While the database is out of reach, others say so.
    Effect.catchCause((cause) =>
      Cause.hasDies(cause)
        ? Effect.logError(`Upkeep failed: ${name}`, cause)
        : Effect.logDebug(`Upkeep failed: ${name}`, cause)
    ),
    Effect.withSpan(`Upkeep: ${name}`)
  )
