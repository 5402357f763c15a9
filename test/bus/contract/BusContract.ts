/** What every bus must do, whatever carries it. */
import { describe } from "@effect/vitest"
import { type Layer } from "effect"
import { Bus, type LeaderBus } from "../../../src/bus/Bus.ts"
import { handling } from "./handling.ts"
import { leaders } from "./leaders.ts"
import { progress } from "./progress.ts"
import { prompts } from "./prompts.ts"
import { queues } from "./queues.ts"
import { replies } from "./replies.ts"
import { behaviourOn } from "./support.ts"

export interface ContractOptions {
  /**
   * Whether `TeamQueue.consumers` counts leaders on standby; default: yes. RabbitMQ 3.10 counts only the active
   * consumer of a quorum queue.
   */
  readonly countsStandbys?: boolean
  /**
   * Whether a server relays between the bus and its leaders, as for leaders over HTTP; default: no. It has handled a reply
   * when it confirms it, so none waits on the bus, and starts a run when its prompt is taken. A prompt that was delivered to
   * the server, and not yet to a leader, may count as redelivered.
   */
  readonly isRelayed?: boolean
}

/** @param layer both sides of one bus; it is built for each test, with queues of its own. */
export const contract = (
  layer: Layer.Layer<Bus | LeaderBus>,
  { countsStandbys = true, isRelayed = false }: ContractOptions = {}
): void => {
  const behaviour = behaviourOn(layer)
  /** How many consumers a queue shows that has one leader at work and one standing by. */
  const withStandby = countsStandbys ? 2 : 1
  describe("queues", () => queues(behaviour, withStandby))
  describe("prompts", () => prompts(behaviour))
  describe("leaders", () => leaders(behaviour, { withStandby, isRelayed }))
  describe("replies", () => replies(behaviour))
  describe("progress", () => progress(behaviour))
  if (!isRelayed) describe("the handling of replies", () => handling(behaviour))
  behaviour("the bus answers a ping", function* () {
    const bus = yield* Bus
    yield* bus.reachable
    yield* bus.ping
  })
}
