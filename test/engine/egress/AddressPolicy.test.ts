import { Effect, Option } from "effect"
import { make, parseAllowed } from "../../../src/engine/egress/AddressPolicy.ts"
import { describe, expect, it } from "../../support/It.ts"
import { hostile } from "./Hostile.ts"

const publicOnly = make({ hosts: [], networks: [] })

const lookedUp = (
  addresses: ReadonlyArray<string>,
  allowed = { hosts: [], networks: [] } as Parameters<typeof make>[0]
) =>
  Effect.callback<unknown, Error>((resume) => {
    const policy = make(allowed, () => Promise.resolve(addresses))
    policy.lookup("hooks.example.com", { all: true }, (error, found) =>
      resume(error ? Effect.fail(error) : Effect.succeed(found))
    )
  })

describe("where requests may be sent", () => {
  it.each(hostile)("not to %s, by https or http", (host) => {
    for (const scheme of ["https", "http"]) {
      const text = `${scheme}://${host}/hook`
      if (URL.canParse(text))
        expect(publicOnly.faultOf(new URL(text))).toMatch(/must (have a public address|be an https URL)/)
      else expect(URL.canParse(text)).toBe(false)
    }
    expect(hostile.length).toBeGreaterThan(60)
  })

  it.each([
    "https://hooks.example.com/a",
    "https://1.1.1.1/",
    "https://[2606:4700::1111]/",
    "https://xn--bcher-kva.com"
  ])("to %s", (url) => {
    expect(publicOnly.faultOf(new URL(url))).toBeUndefined()
  })

  it.each([
    ["http://hooks.example.com/", /https URL/],
    ["ftp://hooks.example.com/", /https URL/],
    ["file:///etc/passwd", /https URL/],
    ["https://user:secret@hooks.example.com/", /user or a password/]
  ])("not to %s", (url, why) => {
    expect(publicOnly.faultOf(new URL(url))).toMatch(why)
  })

  it.effect("only to the public addresses of a name, at the moment of the connection", function* () {
    const found = yield* lookedUp(["10.0.0.1", "1.1.1.1", "::1"])
    expect(found).toEqual([{ address: "1.1.1.1", family: 4 }])
    const error = yield* Effect.flip(
      lookedUp(["169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "fe80::1%eth0"])
    )
    expect(error.message).toContain("public address")
  })

  it.effect("to what the operator allows: hosts whatever their address, and networks", function* () {
    const allowed = Option.getOrThrow(parseAllowed("hooks.example.com, *.corp.example.com, 10.0.0.0/8, fd00::/8"))
    const policy = make(allowed)
    for (const url of [
      "http://hooks.example.com/",
      "http://a.b.corp.example.com./",
      "http://10.1.2.3/",
      "https://[fd00::7]/",
      "https://example.org/"
    ]) {
      expect(policy.faultOf(new URL(url))).toBeUndefined()
    }
    for (const url of ["http://corp.example.com/", "http://xcorp.example.com/", "https://192.168.0.1/"]) {
      expect(policy.faultOf(new URL(url))).toBeDefined()
    }
    expect(yield* lookedUp(["192.168.0.1"], allowed)).toEqual([{ address: "192.168.0.1", family: 4 }])
    expect(yield* lookedUp(["10.0.0.1", "192.168.0.1"], { hosts: [], networks: ["10.0.0.0/8"] })).toEqual([
      { address: "10.0.0.1", family: 4 }
    ])
  })

  it.each(["", "a b", "http://hooks.example.com", "*", "hooks.example.com:80", "10.0.0.0/99", "*.*.example.com"])(
    "%j is neither a host nor a network",
    (text) => {
      expect(Option.isNone(parseAllowed(text))).toBe(true)
    }
  )
})
