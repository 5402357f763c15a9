import { Context, Layer } from "effect"
import type { Server } from "../../api/Overview.ts"

export type ServerFactsValues = Pick<Server, "version" | "database" | "bus" | "command">

/** The server's drivers and versions, for the web UI. Provided by the program that composes the server. */
export class ServerFacts extends Context.Reference<ServerFacts>()("webhook-trigger/ServerFacts", {
  defaultValue: (): ServerFactsValues => ({
    version: "unknown",
    database: "embedded",
    bus: "embedded",
    command: "webhook-trigger"
  })
}) {
  static readonly layer = (facts: ServerFactsValues): Layer.Layer<never> => Layer.succeed(ServerFacts, facts)
}
