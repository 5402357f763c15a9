import { Context, Effect, Exit, Latch, Layer, Queue, Scope } from "effect"
import { Bus, LeaderBus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { engine, makeTeam, makeWebhook, until } from "../Scenario.ts"

/** Teams, the work that their leaders were given, and webhooks of these kinds. */
const makeTeams = Effect.fnUntraced(function* (kinds: { readonly [team: string]: ReadonlyArray<"refuse" | "queue"> }) {
  const given = yield* Queue.unbounded<{ readonly team: TeamName; readonly answer: Effect.Effect<unknown> }>()
  const lead = (team: TeamName) =>
    Effect.flatMap(LeaderBus, ({ lead }) =>
      lead(team, ({ reply }) =>
        Effect.gen(function* () {
          const isDone = yield* Latch.make()
          yield* Queue.offer(given, { team, answer: isDone.open })
          yield* isDone.await
          yield* reply({ _tag: "Answered", response: "done" })
        })
      )
    )
  const teams = yield* Effect.forEach(Object.entries(kinds), ([name, kinds]) =>
    Effect.gen(function* () {
      const team = yield* makeTeam(name)
      const leading = yield* Scope.fork(yield* Effect.scope, "sequential")
      yield* Scope.provide(lead(team), leading)
      const webhooks = yield* Effect.forEach(kinds, (when_team_stopped) =>
        makeWebhook(team, { when_team_stopped, timeout_seconds: 9_999 })
      )
      return {
        submit: (n: number) => webhooks[n % webhooks.length]!.submit(`${team} ${n}`),
        leave: Scope.close(leading, Exit.void),
        comeBack: lead(team)
      }
    })
  )
  const next = Effect.gen(function* () {
    const { answer, team } = yield* Queue.take(given)
    yield* advance("10 millis")
    yield* answer
    return team
  })
  return {
    teams,
    /** Each team triggers so often, in turn. */
    trigger: (times: number) =>
      Effect.forEach(Array.from({ length: times }), (_, n) => Effect.forEach(teams, ({ submit }) => submit(n))),
    /** The teams that work next. Each answers after 10 ms. */
    turns: (count: number) => Effect.map(Effect.replicateEffect(next, count), (teams) => teams.join(" "))
  }
})

type Queues = Bus["Service"]["queue"]

/** A broker on which each server looks for leaders like this. While it `pings`, one of them does the work of each second. */
const brokerWith = (options: { pings: boolean; queue?: (team: TeamName) => ReturnType<Queues> | undefined }) =>
  Layer.flatMap(BusMemory.layer, (context) => {
    const bus = Context.get(context, Bus)
    return Layer.succeedContext(
      Context.add(context, Bus, {
        ...bus,
        ping: Effect.suspend(() => (options.pings ? bus.ping : unreachable)),
        queue: (team) => Effect.suspend(() => options.queue?.(team) ?? bus.queue(team))
      })
    )
  })

const unreachable = new Unavailable({ what: "broker", detail: "It does not answer." })

const onBroker = (broker: ReturnType<typeof brokerWith>) =>
  Effect.provide(engine({ maxConcurrent: 1 }).pipe(Layer.provideMerge(Layer.merge(layerRepo, broker))))

it.effect("gives a slot to the team whose turn is longest ago, whatever its webhooks do without a leader", () =>
  Effect.gen(function* () {
    const [refuse, queue, both] = [["refuse"], ["queue"], ["queue", "refuse"]] as const
    const mixtures = [
      [refuse, refuse, refuse],
      [queue, queue, queue],
      [queue, refuse, refuse],
      [refuse, refuse, queue],
      [both, both, queue]
    ] as const
    for (const [n, [a, b, c]] of mixtures.entries()) {
      const { trigger, turns } = yield* makeTeams({ [`a${n}`]: a, [`b${n}`]: b, [`c${n}`]: c })
      yield* trigger(8)
      expect(yield* turns(24)).toBe(Array.from({ length: 8 }, () => `a${n} b${n} c${n}`).join(" "))
    }
  }).pipe(onBroker(brokerWith({ pings: false })))
)

it.effect("takes turns also when several servers do the steps", function* () {
  const kept = yield* Layer.build(Layer.merge(layerRepo, brokerWith({ pings: false })))
  const server = Layer.build(Layer.fresh(Layer.provide(engine({ maxConcurrent: 1 }), Layer.succeedContext(kept))))
  const [first, second] = [yield* server, yield* server]
  const { trigger, turns } = yield* Effect.provide(
    makeTeams({ a: ["queue"], b: ["refuse"], c: ["queue"] }),
    Context.merge(kept, first)
  )
  yield* Effect.provide(trigger(2), Context.merge(kept, first))
  yield* Effect.provide(trigger(2), Context.merge(kept, second))
  expect(yield* turns(12)).toBe("a b c a b c a b c a b c")
})

it.effect("keeps no slot for a team whose leader has left, and gives it the next one when the leader is back", () => {
  const broker = { pings: false }
  return Effect.gen(function* () {
    const { teams, trigger, turns } = yield* makeTeams({ a: ["queue"], b: ["refuse"], c: ["queue"] })
    yield* trigger(4)
    expect(yield* turns(2)).toBe("a b")
    yield* teams[0]!.leave
    yield* advance("2 seconds")
    expect(yield* turns(3)).toBe("c b c")
    yield* teams[0]!.comeBack
    broker.pings = true
    yield* advance("2 seconds")
    expect(yield* turns(7)).toBe("b a c b a c a")
  }).pipe(onBroker(brokerWith(broker)))
})

it.effect("keeps a slot for a team no longer than the broker may take to say whether it has a leader", () => {
  let asked = 0
  let answer: ReturnType<Queues> | undefined
  const queue = (team: TeamName) => {
    if (team !== "a") return undefined
    asked++
    return answer
  }
  return Effect.gen(function* () {
    const { teams, trigger, turns } = yield* makeTeams({ a: ["queue"], b: ["refuse"] })
    yield* trigger(8)
    expect(yield* turns(2)).toBe("a b")
    // Two seconds later, it is not known any more.
    answer = unreachable
    yield* advance("2 seconds")
    expect(yield* turns(3)).toBe("a b b")
    yield* advance("10 millis")
    answer = undefined
    yield* teams[0]!.submit(8)
    answer = Effect.never
    yield* advance("2 seconds")
    asked = 0
    expect(yield* turns(1)).toBe("b")
    yield* until(Effect.sync(() => asked > 0))
    yield* advance("3 seconds")
    expect(yield* turns(1)).toBe("b")
  }).pipe(onBroker(brokerWith({ pings: false, queue })))
})
