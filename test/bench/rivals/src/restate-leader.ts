/**
 * The leader of all teams for Restate: a virtual object, which handles one call for each key at a time. The answer is in
 * `ctx.run`, as Restate wants it of everything that has effects outside of the handler.
 */
import "./WithResolvers.ts"
import { once } from "node:events"
import { createServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { createEndpointHandler, type ObjectContext, object } from "@restatedev/restate-sdk"
import { listenForControl } from "./Control.ts"
import { given } from "./Given.ts"

let prompts = 0

const answer = () => {
  prompts++
  return "done"
}

const team = object({ name: "Team", handlers: { answer: (ctx: ObjectContext) => ctx.run("answer", answer) } })
const server = createServer(createEndpointHandler({ services: [team] })).listen(0, "127.0.0.1")
await once(server, "listening")

const { status } = await fetch(`${given.restate.admin}/deployments`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})
if (status !== 201) throw new Error(`Restate has not taken the deployment: ${status}`)
listenForControl(() => ({ prompts }))
