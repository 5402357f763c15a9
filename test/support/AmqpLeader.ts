/** A leader on RabbitMQ in this process, for tests whose subject is neither its signals nor its pipes. */
import { Effect, Layer, Logger, Redacted } from "effect"
import { LeaderAmqp } from "../../src/amqp.ts"
import type { Prompt } from "../../src/bus/Bus.ts"
import { Leader, TeamName } from "../../src/leader/index.ts"

/** Leads the team until the scope closes. */
export const leadOn = (url: string, team: string, handler: (prompt: Prompt) => Effect.Effect<string>) => {
  const bus = LeaderAmqp.layer({ url: Redacted.make(url), queueType: "classic" })
  const leader = Leader.layer({ team: TeamName.make(team), handler })
  return Effect.asVoid(Layer.build(leader.pipe(Layer.provide(bus), Layer.provide(Logger.layer([])))))
}
