/** Virtual hosts with another default queue type, and brokers that limit the work on a prompt. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Queue } from "effect"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import * as LeaderAmqp from "../../../src/bus/amqp/LeaderAmqp.ts"
import { declareProgressQueue, workLimit } from "../../../src/bus/amqp/Topology.ts"
import { Bus } from "../../../src/bus/Bus.ts"
import { freshVhost, freshVhostWith, managementUrl } from "../../support/fresh.ts"
import { manage } from "../../support/RabbitMq.ts"
import { collectReplies, echo, makePrompt, startLeader, team, untilUp } from "../contract/support.ts"
import { patient } from "./OnRabbitMq.ts"
import { declareTeam, rawChannel } from "./RawChannel.ts"

const answered = Effect.gen(function* () {
  const replies = yield* collectReplies
  yield* startLeader(echo)
  yield* (yield* Bus).publish(yield* makePrompt({ prompt: "hello" }))
  expect(yield* Queue.take(replies)).toMatchObject({ _tag: "Answered", response: "hello" })
})

/** A server and a leader, as after a start. */
const started = (url: string) => {
  const options = { url: patient(url), queueType: "classic" } as const
  return Effect.andThen(untilUp, answered).pipe(
    Effect.scoped,
    Effect.provide(Layer.fresh(Layer.merge(BusAmqp.layer(options), LeaderAmqp.layer(options))))
  )
}

describe("server and leader", () => {
  it.live("declare classic queues where quorum queues are the default, so the default may change", () =>
    Effect.gen(function* () {
      // The second name is that of RabbitMQ 3.10.
      const url = yield* freshVhostWith({ default_queue_type: "quorum", defaultqueuetype: "quorum" })
      const { pathname } = new URL(url)
      const channel = yield* rawChannel(url)
      yield* Effect.promise(() => channel.assertQueue("of another program", { durable: true }))
      yield* started(url)
      yield* Effect.promise(() => declareProgressQueue(channel))
      const found = yield* Effect.promise(async () => {
        const answer = await manage(managementUrl(), "GET", `/api/queues${pathname}`)
        return (await answer.json()) as ReadonlyArray<{ readonly name: string; readonly type: string }>
      })
      const named = (wanted: string) => found.filter(({ type }) => type === wanted).map(({ name }) => name)
      expect(named("quorum")).toEqual(["of another program"])
      expect(named("classic")).toEqual(
        expect.arrayContaining(["team.deploy", "webhook.dead", "webhook.progress", "webhook.replies.inbox"])
      )
      yield* started(url)
    }).pipe(Effect.scoped)
  )

  it.live("use queues that an earlier release has declared without their type", () =>
    Effect.gen(function* () {
      const url = yield* freshVhost
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      for (const queue of ["webhook.dead", "webhook.replies.inbox"]) {
        yield* Effect.promise(() => channel.assertQueue(queue, { durable: true }))
      }
      yield* started(url)
    }).pipe(Effect.scoped)
  )
})

describe("the limit of consumer_timeout", () => {
  it("concerns RabbitMQ before 3.11.15", () => {
    const isLimited = (version: string, product = "RabbitMQ") => workLimit({ product, version }) !== undefined
    expect(["3.8.9", "3.10.8", "3.11.0", "3.11.14", "3.11.14-rc.1"].map((version) => isLimited(version))).toEqual([
      ...Array(5).fill(true)
    ])
    expect(["3.11.15", "3.12.0", "3.13.7", "4.0.5", "4.3.0"].map((version) => isLimited(version))).toEqual([
      ...Array(5).fill(false)
    ])
    expect(isLimited("1.2.3", "LavinMQ")).toBe(false)
  })

  it.live("is a warning of each leader's process, once", () => {
    const warnings: Array<string> = []
    return Effect.gen(function* () {
      const url = yield* freshVhost
      const { model } = yield* Effect.map(rawChannel(url), (channel) => ({ model: channel.connection }))
      const limit = workLimit(model.serverProperties)
      const options = { url: patient(url), queueType: "classic" } as const
      const layer = Layer.fresh(Layer.merge(BusAmqp.layer(options), LeaderAmqp.layer(options)))
      yield* Effect.andThen(untilUp, Effect.andThen(Effect.scoped(answered), Effect.scoped(answered))).pipe(
        Effect.provide(layer)
      )
      expect(warnings.filter((line) => line.includes("consumer_timeout"))).toEqual(limit === undefined ? [] : [limit])
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([Logger.make(({ message }) => warnings.push(String(message)))])))
  })
})
