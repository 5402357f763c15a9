import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { clientAddress, networkOf } from "../../../src/http/request/ClientAddress.ts"
import { parseNetworks } from "../../../src/runtime/Networks.ts"
import { describe, expect, it } from "../../support/It.ts"
import { start } from "../Server.ts"

const addressOf = (trusted: ReadonlyArray<string>, peer: string | undefined, forwardedFor?: string) =>
  clientAddress(Option.getOrThrow(parseNetworks(trusted)), {
    remoteAddress: Option.fromNullishOr(peer),
    headers: forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor }
  } as HttpServerRequest.HttpServerRequest)

describe("a client's address", () => {
  it("is the connection's other end, whatever it says, unless that is a trusted proxy", () => {
    expect(addressOf([], "203.0.113.7", "198.51.100.1")).toBe("203.0.113.7")
    expect(addressOf(["10.0.0.0/8"], "203.0.113.7", "198.51.100.1")).toBe("203.0.113.7")
    expect(addressOf(["10.0.0.0/8"], "10.0.0.1", "198.51.100.1")).toBe("198.51.100.1")
    expect(addressOf(["10.0.0.0/8"], "10.0.0.1")).toBe("10.0.0.1")
    expect(addressOf([], undefined)).toBe("unknown")
  })

  it("is the last address that no trusted proxy has: what stands before it is the client's own word", () => {
    const trusted = ["10.0.0.0/8", "192.0.2.1", "fd00::/8"]
    expect(addressOf(trusted, "10.0.0.1", "127.0.0.1, 198.51.100.1, 192.0.2.1, fd12::1")).toBe("198.51.100.1")
    expect(addressOf(trusted, "10.0.0.1", "10.0.0.3,10.0.0.2")).toBe("10.0.0.3")
  })

  it("ends at an entry that is no address: nobody vouches for what stands before it", () => {
    for (const entry of ["unknown", "", "_hidden", "1.2.3", "198.51.100.1:x", "[::1", "' or 1=1"]) {
      expect(addressOf(["10.0.0.0/8"], "10.0.0.1", `198.51.100.1, ${entry}, 10.0.0.2`), entry).toBe("10.0.0.2")
    }
  })

  it("has one notation, whatever the system and the proxy use", () => {
    expect(addressOf([], "::ffff:203.0.113.7")).toBe("203.0.113.7")
    expect(addressOf([], "fe80::1%eth0")).toBe("fe80::1")
    expect(addressOf(["10.0.0.0/8"], "::ffff:10.0.0.1", "198.51.100.1:5678")).toBe("198.51.100.1")
    expect(addressOf(["::1"], "::1", "[2001:db8::1]:5678")).toBe("2001:db8::1")
    expect(addressOf(["::1"], "::1", "[2001:db8::1]")).toBe("2001:db8::1")
  })

  it("is counted by IPv4 address, and by the half of an IPv6 address that belongs to one network", () => {
    expect(networkOf("203.0.113.7")).toBe("203.0.113.7")
    expect(networkOf("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64")
    expect(networkOf("2001:DB8:1:2::")).toBe("2001:db8:1:2::/64")
    expect(networkOf("2001:db8::7")).toBe("2001:db8:0:0::/64")
    expect(networkOf("::1")).toBe("0:0:0:0::/64")
    expect(networkOf("unknown")).toBe("unknown")
  })
})

describe("the server's own address", () => {
  const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "hooks.example.com" }

  const triggerUrl = (trustedProxies: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const { admin, origin, team } = yield* start({ trustedProxies })
      const body = { name: "a webhook", team: yield* team("ops"), prompt_template: "hello" }
      const { json } = yield* admin("POST", "/api/webhooks", { body, headers })
      return { origin, url: json.trigger_url as string }
    })

  it.live("is what a trusted proxy was asked for", function* () {
    const { url } = yield* triggerUrl(["127.0.0.0/8"])
    expect(url).toMatch(/^https:\/\/hooks\.example\.com\/webhook\/trigger\//)
  })

  it.live("is not what anyone else says it is", function* () {
    const { origin, url } = yield* triggerUrl(["10.0.0.0/8"])
    expect(url.startsWith(`${origin}/`)).toBe(true)
  })
})
