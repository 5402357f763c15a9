/** Hostile addresses, where something does listen: on every local address of this machine. */

import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { Effect, Layer, Option } from "effect"
import { AddressPolicy } from "../../../src/engine/egress/AddressPolicy.ts"
import { Poster } from "../../../src/engine/egress/Poster.ts"
import type { Resolve } from "../../../src/engine/egress/Resolver.ts"
import { expect, it } from "../../support/It.ts"
import { hostile } from "./Hostile.ts"

const listening = Effect.gen(function* () {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, () => resume(Effect.void))),
    () => Effect.sync(() => server.close())
  )
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
})

/** Why the URLs were not requested. */
const post = (urls: ReadonlyArray<string>, resolve?: Resolve, networks: ReadonlyArray<string> = []) =>
  Effect.flatMap(Poster, ({ post }) =>
    Effect.forEach(urls, (url) =>
      Effect.map(Effect.flip(post({ url, headers: {}, body: "{}" })), ({ reason }) => reason)
    )
  ).pipe(
    Effect.provide(Layer.provide(Poster.layer, AddressPolicy.layer(Option.some({ hosts: [], networks }), resolve)))
  )

/** As a name server would return them. */
const addresses = hostile.flatMap((host) => {
  const name = URL.canParse(`https://${host}`) ? new URL(`https://${host}`).hostname : host
  return /^[\d.]+$|^\[/.test(name) ? [name.replace(/^\[(.*)\]$/, "$1")] : []
})

it.live("no hostile address or name is connected to, by https or http", function* () {
  const { connections, port } = yield* listening
  const reasons = yield* post(hostile.flatMap((host) => [`https://${host}:${port}/`, `http://${host}:${port}/`]))
  expect(reasons.length).toBeGreaterThanOrEqual(120)
  for (const reason of reasons) expect(reason).toMatch(/^the URL (is not a URL|must )/)
  expect(connections()).toBe(0)
  // What is allowed is connected to, so a connection would have been seen.
  yield* post([`http://127.0.0.1:${port}/`], undefined, ["127.0.0.1"])
  expect(connections()).toBe(1)
})

it.live("a name that does not exist is said to be missing", function* () {
  const missing = new Error("queryA ENOTFOUND hooks.example.com")
  const resolve: Resolve = () =>
    Promise.reject(Object.assign(missing, { code: "ENOTFOUND", hostname: "hooks.example.com" }))
  expect(yield* post(["https://hooks.example.com/"], resolve)).toEqual(["the host hooks.example.com was not found"])
})

it.live("no name is connected to at a hostile address, also if it had a public one before", function* () {
  const { connections, port } = yield* listening
  expect(addresses.length).toBeGreaterThanOrEqual(60)
  for (const address of addresses) {
    let asked = 0
    const rebinding: Resolve = () => Promise.resolve(asked++ === 0 ? [address] : ["1.1.1.1"])
    const [reason] = yield* post([`https://hooks.example.com:${port}/`], rebinding)
    expect(reason, address).toContain("must have a public address")
    expect(asked).toBe(1)
  }
  expect(connections()).toBe(0)
  yield* post([`https://hooks.example.com:${port}/`], () => Promise.resolve(["127.0.0.1"]), ["127.0.0.1"])
  expect(connections()).toBe(1)
})
