/** The bus while its broker goes away, falls silent, blocks, or loses queues. */
import { it } from "@effect/vitest"
import { Effect, Layer, Queue, Redacted, References, Schedule, type Scope } from "effect"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import * as LeaderAmqp from "../../../src/bus/amqp/LeaderAmqp.ts"
import { Bus, type LeaderBus, type Reply } from "../../../src/bus/Bus.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { freshVhost } from "../../support/fresh.ts"
import { Proxy } from "../../support/Proxy.ts"
import { makePrompt } from "../contract/support.ts"

export interface Wires {
  /** The broker itself. */
  readonly url: string
  /** Between the server's side of the bus and the broker. */
  readonly server: Proxy
  /** Between the leader's side of the bus and the broker. */
  readonly leader: Proxy
}

const proxied = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() => Proxy.of(url)),
    (proxy) => Effect.promise(() => proxy.close())
  )

export const behaviour = (
  name: string,
  test: (wires: Wires) => Effect.Effect<unknown, unknown, Bus | LeaderBus | Scope.Scope>,
  options: {
    readonly before?: (wires: Wires) => void
    readonly url?: () => string
    /** They end the connections of a process that is busy for a few seconds, so most tests do without. */
    readonly usualHeartbeats?: boolean
  } = {}
) =>
  it.live(name, () =>
    Effect.gen(function* () {
      const url = options.url?.() ?? (yield* freshVhost)
      const wires = { url, server: yield* proxied(url), leader: yield* proxied(url) }
      options.before?.(wires)
      const query = options.usualHeartbeats ? "" : "?heartbeat=60"
      const through = (proxy: Proxy) => ({
        url: Redacted.make(proxy.through(url) + query),
        queueType: "classic" as const
      })
      const layer = Layer.merge(BusAmqp.layer(through(wires.server)), LeaderAmqp.layer(through(wires.leader)))
      yield* Effect.provide(Effect.scoped(test(wires)), layer)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

/** For a minute at least. */
export const again = { schedule: Schedule.spaced("20 millis"), times: 3_000 }

/** Why the broker is out of reach for the request. */
export const refusal = <E>(request: Effect.Effect<unknown, E>) =>
  Effect.map(Effect.flip(request), (error) => (error instanceof Unavailable ? error.detail : String(error)))

/** A prompt goes out and its answer comes back, as soon as the bus can. */
export const roundTrip = (replies: Queue.Dequeue<Reply>) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const prompt = yield* makePrompt()
    yield* Effect.retry(bus.publish(prompt), again)
    let run_id: string
    do run_id = (yield* Queue.take(replies)).run_id
    while (run_id !== prompt.run_id)
  })
