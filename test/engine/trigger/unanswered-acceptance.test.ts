import { Context, Deferred, Effect, Layer } from "effect"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { echo, engine, lead, makeTeam, makeWebhook, statusOf, until, waiting } from "../Scenario.ts"

interface NotAnswered {
  /** Whether the acceptance is committed. `later`: when the test completes `mayCommit`. */
  readonly commits: boolean | "later"
  readonly mayCommit?: Deferred.Deferred<void>
  readonly maxConcurrent?: number
}

/** The ports in memory, with a database that does not answer the first acceptance. */
const silentOnce = ({ commits, maxConcurrent = 1, mayCommit }: NotAnswered) => {
  let silent = true
  const rows = Layer.flatMap(layerRepo, (context) => {
    const store = Context.get(context, RunStore)
    const lost = new Unavailable({ what: "database", detail: "no answer" })
    const step: typeof store.step = (input, options) => {
      if (!silent || (input.accepts ?? []).length === 0) return store.step(input, options)
      silent = false
      const committed = store.step(input, options)
      if (commits === "later") {
        return Effect.andThen(Effect.forkDetach(Effect.andThen(Deferred.await(mayCommit!), committed)), lost)
      }
      return Effect.andThen(commits ? committed : Effect.void, lost)
    }
    return Layer.succeedContext(Context.add(context, RunStore, { ...store, step }))
  })
  return engine({ maxConcurrent }).pipe(Layer.provideMerge(Layer.merge(rows, BusMemory.layer)))
}

it.effect("sends a run that was admitted although the database did not say so, and keeps its slot for it", () =>
  Effect.gen(function* () {
    const [team, other] = [yield* makeTeam("deploy"), yield* makeTeam("other")]
    const leader = yield* lead(team)
    yield* echo(other)
    expect((yield* Effect.flip((yield* makeWebhook(team)).submit("unknown")))._tag).toBe("Unavailable")
    const behind = yield* (yield* makeWebhook(other)).submit("waits for the only slot")
    yield* advance("4 seconds")
    expect((yield* leader.next).text).toBe("unknown")
    expect(yield* statusOf(behind)).toBe("queued")
    yield* leader.answer("done")
    yield* until(Effect.map(statusOf(behind), (status) => status === "success"))
  }).pipe(Effect.provide(silentOnce({ commits: true })))
)

it.effect("sends nothing past a run that was admitted although the database did not say so", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    expect((yield* Effect.flip(webhook.submit("unknown")))._tag).toBe("Unavailable")
    yield* webhook.submit("behind")
    // Until it is sent again. A second later it would be once more, if the first time is not recorded yet.
    yield* advance("3 seconds")
    for (const text of ["unknown", "behind"]) {
      expect((yield* leader.next).text).toBe(text)
      yield* leader.answer("done")
    }
  }).pipe(Effect.provide(silentOnce({ commits: true, maxConcurrent: 4 })))
)

it.effect("goes on after an acceptance without an answer that was not stored", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    expect((yield* Effect.flip(webhook.submit("lost")))._tag).toBe("Unavailable")
    expect(yield* webhook.ask("behind")).toMatchObject({ status: "success" })
  }).pipe(Effect.provide(silentOnce({ commits: false })))
)

it.effect("sends a run that is stored after its caller was refused, and never more than the slots", function* () {
  const mayCommit = yield* Deferred.make<void>()
  yield* Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    expect((yield* Effect.flip(webhook.submit("late")))._tag).toBe("Unavailable")
    yield* webhook.submit("before it")
    expect((yield* leader.next).text).toBe("before it")
    yield* Deferred.succeed(mayCommit, undefined)
    yield* advance("2 seconds")
    expect(yield* waiting(team)).toBe(0)
    yield* leader.answer("done")
    expect((yield* leader.next).text).toBe("late")
  }).pipe(Effect.provide(silentOnce({ commits: "later", mayCommit })))
})
