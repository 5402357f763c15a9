import { Context, Effect, Layer } from "effect"
import type { Server } from "../../api/Overview.ts"

interface ServerFactsValues extends Pick<Server, "version" | "database" | "bus" | "command"> {
  /** The programs of agents that are installed here. */
  readonly agents: Effect.Effect<NonNullable<Server["agents"]>>
}

/** The server's drivers and versions, for the web UI. Provided by the program that composes the server. */
export class ServerFacts extends Context.Reference("webhook-trigger/ServerFacts", {
  defaultValue: (): ServerFactsValues => ({
    version: "unknown",
    database: "embedded",
    bus: "embedded",
    command: "webhook-trigger",
    agents: Effect.succeed([])
  })
}) {
  static readonly layer = (facts: ServerFactsValues): Layer.Layer<never> => Layer.succeed(ServerFacts, facts)
}
