import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { engine, lead, makeTeam, makeWebhook, until } from "../Scenario.ts"

/** What a broker is asked to do, and what it says about replies. */
interface Recorded {
  readonly sent: Array<"first" | "again" | "offer">
  replies: number
  /** It stores what is published, but does not confirm it. */
  confirms: boolean
}

const recorded = (): Recorded => ({ sent: [], replies: 0, confirms: true })

/** A broker that keeps prompts and leaders get nothing from, so that each run stays out. */
const brokerOf = (state: Recorded) =>
  Layer.flatMap(BusMemory.layer, (context) => {
    const bus = Context.get(context, Bus)
    return Layer.succeedContext(
      Context.add(context, Bus, {
        ...bus,
        durable: true,
        publish: (_prompt, { again } = { again: false }) =>
          Effect.suspend(() => {
            state.sent.push(again ? "again" : "first")
            return state.confirms ? Effect.void : new Unavailable({ what: "broker", detail: "It did not confirm." })
          }),
        offer: () => Effect.sync(() => state.sent.push("offer")),
        inspect: () => Effect.succeed({ isReplaced: false, consumers: 1, messages: 0 }),
        repliesWaiting: Effect.sync(() => state.replies)
      })
    )
  })

/** The database loses that runs were sent. */
const forgetful = Layer.flatMap(layerRepo, (context) =>
  Layer.succeedContext(Context.add(context, RunStore, { ...Context.get(context, RunStore), sent: () => Effect.void }))
)

const run = Effect.gen(function* () {
  const team = yield* makeTeam("deploy")
  yield* lead(team)
  yield* (yield* makeWebhook(team, { timeout_seconds: 9_999 })).submit("work")
})

it.effect("sends a run that was not recorded as sent again, marked, but not while replies wait at the broker", () => {
  const state = recorded()
  return Effect.gen(function* () {
    yield* run
    yield* until(Effect.sync(() => state.sent.length === 1))
    state.replies = 1
    yield* advance("9 seconds")
    expect(state.sent).toEqual(["first"])
    state.replies = 0
    // The reply is being recorded.
    yield* advance("2 seconds")
    expect(state.sent).toEqual(["first"])
    yield* advance("2 seconds")
    expect(state.sent.slice(0, 2)).toEqual(["first", "again"])
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(forgetful, brokerOf(state))))))
})

it.effect("offers no prompt again while replies wait at the broker, unless they wait for long", () => {
  const state = recorded()
  return Effect.gen(function* () {
    yield* run
    yield* until(Effect.sync(() => state.sent.length === 1))
    state.replies = 1
    yield* advance("9 seconds")
    expect(state.sent).toEqual(["first"])
    yield* advance("4 seconds")
    expect(state.sent).toEqual(["first", "offer"])
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(layerRepo, brokerOf(state))))))
})

it.effect("repeats what the broker did not confirm, marked, but not while replies wait at the broker", () => {
  const state = { ...recorded(), confirms: false, replies: 1 }
  return Effect.gen(function* () {
    yield* run
    yield* until(Effect.sync(() => state.sent.length === 1))
    yield* advance("2 seconds")
    expect(state.sent).toEqual(["first"])
    state.replies = 0
    state.confirms = true
    yield* advance("1 second")
    expect(state.sent).toEqual(["first", "again"])
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(layerRepo, brokerOf(state))))))
})
