import { describe, expect, it } from "@effect/vitest"
import { type Options } from "../../../src/domain/verification/Presets.ts"
import { hmac, outcome, secret, verdictOf } from "./Verdict.ts"

describe("which delivery it is", () => {
  const at = 1_614_265_330

  const headers = { "x-signature": "", "x-id": "1", "x-time": String(at) }

  const hmacOptions = { preset: "hmac", header: "X-Signature" } as const

  /** Of a request that is signed as the options say. */
  const deliveryOf = (options: Options, body: string, more: Readonly<Record<string, string>> = {}) => {
    const sent: Readonly<Record<string, string>> = { ...headers, ...more }
    const { signed = options.timestamp_header ? "{timestamp}.{body}" : "{body}" } = options
    const content = signed
      .replace("{timestamp}", sent["x-time"]!)
      .replace("{id}", sent["x-id"]!)
      .replace("{body}", body)
    const verdict = verdictOf(
      options,
      secret,
      { headers: { ...sent, "x-signature": hmac(secret, content) }, body },
      at * 1000
    )
    if (verdict._tag !== "Verified") throw new Error(verdict._tag)
    return [verdict.delivery_id, verdict.unique_for_seconds]
  }

  it("the body's, where neither time nor id is signed: another id makes no other one, nor another body the same one", () => {
    for (const options of [hmacOptions, { ...hmacOptions, id_header: "X-Id" }]) {
      const first = deliveryOf(options, "one")
      expect(first[0]).toBeDefined()
      expect(deliveryOf(options, "one", { "x-id": "2", "x-other": "3" })).toStrictEqual(first)
      expect(deliveryOf(options, "two")).not.toStrictEqual(first)
    }
    expect(deliveryOf({ ...hmacOptions, unique_for_seconds: 60 }, "one")[1]).toBe(60)
  })

  it("the id's and the body's, where the time is signed or bodies may come again", () => {
    for (const more of [{ timestamp_header: "X-Time" }, { unique_for_seconds: 0 }]) {
      const options: Options = { ...hmacOptions, ...more, id_header: "X-Id" }
      const first = deliveryOf(options, "one")
      // Services sign the time of each attempt.
      expect(deliveryOf(options, "one", { "x-time": String(at + 60) })).toStrictEqual(first)
      expect(deliveryOf(options, "one", { "x-id": "2" })).not.toStrictEqual(first)
      expect(deliveryOf(options, "two")).not.toStrictEqual(first)
    }
  })

  it("the time's and the body's, where there is no id; none, where bodies may come again", () => {
    const timed: Options = { ...hmacOptions, timestamp_header: "X-Time" }
    const first = deliveryOf(timed, "one")
    expect(deliveryOf(timed, "one", { "x-id": "2" })).toStrictEqual(first)
    expect(deliveryOf(timed, "one", { "x-time": String(at + 60) })).not.toStrictEqual(first)
    expect(deliveryOf({ ...hmacOptions, unique_for_seconds: 0 }, "one")).toStrictEqual([undefined, undefined])
  })

  it("the id's alone, where that is signed", () => {
    const options: Options = { ...hmacOptions, id_header: "X-Id", signed: "{id}.{body}" }
    expect(deliveryOf(options, "one")).toStrictEqual(["1", undefined])
    expect(deliveryOf(options, "two")).toStrictEqual(["1", undefined])
  })
})

describe("handshakes", () => {
  it("GitHub's ping and Slack's url_verification start no run, if they are signed", () => {
    const body = '{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}'
    const ping = { "x-hub-signature-256": `sha256=${hmac(secret, body)}`, "x-github-event": "ping" }
    expect(verdictOf({ preset: "github" }, secret, { headers: ping, body })).toStrictEqual({ _tag: "Handshake" })
    expect(outcome({ preset: "github" }, "other", { headers: ping, body })).toBe("mismatch")
    const at = "1531420618"
    const slack = { "x-slack-signature": `v0=${hmac(secret, `v0:${at}:${body}`)}`, "x-slack-request-timestamp": at }
    expect(verdictOf({ preset: "slack" }, secret, { headers: slack, body }, 1_531_420_618_000)).toStrictEqual({
      _tag: "Handshake",
      echo: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
    })
  })
})
