import { Context, DateTime, Effect, Layer, Option } from "effect"
import { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import * as Deadlines from "../../runtime/Deadlines.ts"
import { Outcomes } from "../outcome/Outcomes.ts"
import { Shutdown } from "../Shutdown.ts"
import { Steps } from "../step/Steps.ts"

type Service = Waiting["Service"]

/** How long a caller waits after its deadline until the timeout is recorded. The work of each second records it otherwise. */
const recordedWithin = "2 seconds"
const noAnswer = new Unavailable({ what: "database", detail: "The database does not answer in time." })

/** The end of a watched run. */
interface End {
  /** The run as it ended; none if the deadline came first. */
  readonly until: (deadline: DateTime.Utc) => Effect.Effect<Option.Option<Run>, NotFound | Unavailable>
  /** The run as it ended. At the deadline it ends as `timeout`, unless another end came first. */
  readonly before: (deadline: DateTime.Utc) => Effect.Effect<Run, NotFound | Unavailable>
}

/**
 * Callers that wait for the end of a run. The run's end, its deadline and the server's stop each call back, and the first one
 * counts. So no caller costs a fiber.
 */
export class Waiting extends Context.Service<
  Waiting,
  {
    /**
     * Watches the run while `use` runs: no end is missed after this began. `isNew`: its row does not exist yet. `onClosed`
     * gets a function that ends the waiting as `NotFound`, and returns one that unsubscribes.
     */
    readonly watch: <A, E>(
      id: RunId,
      options: { readonly isNew: boolean; readonly onClosed?: (close: () => void) => () => void },
      use: (end: End) => Effect.Effect<A, E>
    ) => Effect.Effect<A, E>
    /** The end of a run that was accepted before. */
    readonly endOf: (id: RunId, deadline: DateTime.Utc) => Effect.Effect<Run, NotFound | Unavailable>
  }
>()("webhook-trigger/Waiting") {
  static readonly layer: Layer.Layer<Waiting, never, HistoryStore | Outcomes | Shutdown | Steps> = Layer.effect(
    Waiting,
    Effect.gen(function* () {
      const history = yield* HistoryStore
      const outcomes = yield* Outcomes
      const steps = yield* Steps
      const shutdown = yield* Shutdown
      const deadlines = yield* Deadlines.make

      const begin = (id: RunId, { isNew, onClosed }: Parameters<Service["watch"]>[1]) => {
        let result: Effect.Effect<Option.Option<Run>, NotFound | Unavailable> | undefined
        let resume: ((first: NonNullable<typeof result>) => void) | undefined
        const settle = (next: NonNullable<typeof result>) => {
          result ??= next
          resume?.(result)
        }
        const onEnd = (run: Run | undefined) =>
          settle(run === undefined ? Effect.fail(new NotFound()) : Effect.succeedSome(run))
        const stops = [outcomes.watch(id, onEnd, { isNew })]
        if (onClosed !== undefined) stops.push(onClosed(() => settle(Effect.fail(new NotFound()))))

        const until: End["until"] = (deadline) =>
          Effect.suspend(() => {
            outcomes.stored(id)
            stops.push(
              shutdown.onStopWaiting(() => settle(Effect.fail(stoppedWaiting(id)))),
              deadlines.at(DateTime.toEpochMillis(deadline), () => settle(Effect.succeedNone))
            )
            // No finalizer for an interruption, which would cost more than all this: `watch` stops the callbacks.
            return Effect.callback<Option.Option<Run>, NotFound | Unavailable>((waiting) => {
              resume = waiting
              if (result !== undefined) resume(result)
            })
          })
        const before: End["before"] = (deadline) =>
          Effect.flatMap(until(deadline), (ended) => (Option.isSome(ended) ? Effect.succeed(ended.value) : timeOut(id)))
        return { end: { until, before }, stops }
      }

      const timeOut = (id: RunId) =>
        steps.end(id, { status: "timeout" }).pipe(
          Effect.timeoutOrElse({ duration: recordedWithin, orElse: () => Effect.fail(noAnswer) }),
          Effect.mapError(({ what, detail }) => new Unavailable({ what, detail, run_id: id })),
          Effect.filterOrFail(
            (run) => run !== undefined,
            () => new NotFound()
          )
        )

      // `acquireUseRelease` would take as many steps as accepting the run.
      const watch: Service["watch"] = (id, options, use) =>
        Effect.suspend(() => {
          let stops: ReadonlyArray<() => void> = []
          const watched = Effect.suspend(() => {
            const begun = begin(id, options)
            stops = begun.stops
            return use(begun.end)
          })
          return Effect.onExit(watched, () => {
            for (const stop of stops) stop()
            return Effect.void
          })
        })

      return {
        watch,
        endOf: (id, deadline) =>
          watch(id, { isNew: false }, (end) =>
            Effect.flatMap(history.run(id), (run) => (isFinal(run.status) ? Effect.succeed(run) : end.before(deadline)))
          )
      }
    })
  )
}

const stoppedWaiting = (run_id: RunId) =>
  new Unavailable({
    what: "server",
    detail: "The server is stopping. The run goes on; ask for it by its id in a moment.",
    run_id
  })
