/** The next runs of a lane are admitted with the commit that ends those before them. */
import { expect, it } from "@effect/vitest"
import { Context, DateTime, Effect, Layer } from "effect"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { LaneStore } from "../../../src/repo/run/LaneStore.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { engine, inFlight, lead, makeTeam, makeWebhook, until } from "../Scenario.ts"

type Runs = typeof RunStore.Service

/** The engine on rows in memory, of which `calls` are noted, and whose commits are changed as `change` says. */
const noting = (calls: Array<string>, change: (runs: Runs) => Partial<Runs> = () => ({})) => {
  const rows = Layer.map(layerRepo, (context) => {
    const [stored, lanes] = [Context.get(context, RunStore), Context.get(context, LaneStore)]
    const runs = { ...stored, ...change(stored) }
    const noted =
      <Args extends ReadonlyArray<any>, A>(name: string, call: (...args: Args) => A) =>
      (...args: Args) => {
        calls.push(name)
        return call(...args)
      }
    const [end, endAndAdmit] = [noted("end", runs.end), noted("endAndAdmit", runs.endAndAdmit)]
    const admit: typeof lanes.admit = (marks, ...given) => {
      calls.push(...marks.map(({ at }) => `admit at ${DateTime.toEpochMillis(at)}`))
      return lanes.admit(marks, ...given)
    }
    return context.pipe(
      Context.add(RunStore, { ...runs, end, endAndAdmit }),
      Context.add(LaneStore, { ...lanes, admit })
    )
  })
  return engine({ maxConcurrent: 2 }).pipe(Layer.provideMerge(Layer.merge(rows, BusMemory.layer)))
}

it.scoped("one commit ends a run and admits the next, until none is left", () => {
  const calls: Array<string> = []
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    for (const text of ["1", "2", "3", "4"]) yield* webhook.submit(text)
    for (const text of ["1", "2", "3", "4"]) {
      expect((yield* leader.next).text).toBe(text)
      yield* leader.answer("done")
    }
    yield* until(Effect.map(inFlight, (total) => total === 0))
    expect(calls).toEqual(["endAndAdmit", "endAndAdmit", "end", "end"])
  }).pipe(Effect.provide(noting(calls)))
})

it.scoped("the slot goes to the team that has waited longest for one, not to the team whose run ends", () => {
  const calls: Array<string> = []
  return Effect.gen(function* () {
    const [busy, other] = [yield* makeTeam("busy"), yield* makeTeam("other")]
    const [leader, otherLeader] = [yield* lead(busy), yield* lead(other)]
    const [webhook, theirs] = [yield* makeWebhook(busy), yield* makeWebhook(other)]
    yield* webhook.submit("1")
    yield* webhook.submit("2")
    yield* theirs.submit("waits for a slot")
    yield* webhook.submit("3")
    expect((yield* leader.next).text).toBe("1")
    yield* leader.answer("done")
    expect((yield* otherLeader.next).text).toBe("waits for a slot")
    expect(calls).toEqual(["endAndAdmit"])
  }).pipe(Effect.provide(noting(calls)))
})

for (const commits of [true, false]) {
  it.scoped(
    `each run is sent once and in order when the commit ${commits ? "is made" : "fails"} without an answer`,
    () => {
      const calls: Array<string> = []
      let silent = true
      const silentOnce = ({ endAndAdmit }: Runs): Partial<Runs> => ({
        endAndAdmit: (...given) => {
          if (!silent) return endAndAdmit(...given)
          silent = false
          const lost = new Unavailable({ what: "database", detail: "the connection broke at the commit" })
          return Effect.zipRight(commits ? endAndAdmit(...given) : Effect.void, lost)
        }
      })
      return Effect.gen(function* () {
        const team = yield* makeTeam("deploy")
        const leader = yield* lead(team)
        const webhook = yield* makeWebhook(team)
        for (const text of ["1", "2", "3", "4", "5"]) yield* webhook.submit(text)
        for (const text of ["1", "2", "3", "4", "5"]) {
          expect((yield* leader.next).text).toBe(text)
          expect((yield* (yield* Repo).inFlight).length).toBeLessThanOrEqual(2)
          yield* leader.answer("done")
          yield* advance("2 seconds")
        }
        yield* until(Effect.map(inFlight, (total) => total === 0))
        expect([yield* leader.idle, (yield* (yield* Repo).inFlight).length]).toEqual([true, 0])
        // When the end that it waited for was recorded, and not when that failed.
        expect(calls.filter((call) => call.startsWith("admit"))).toEqual([commits ? "admit at 0" : "admit at 50"])
      }).pipe(Effect.provide(noting(calls, silentOnce)))
    }
  )
}
