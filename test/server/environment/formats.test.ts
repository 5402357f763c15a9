import { Duration, Option, Schema } from "effect"
import { DurationFromText, SizeFromText } from "../../../src/settings/Quantity.ts"
import { describe, expect, it } from "../../support/It.ts"
import { faults, loaded } from "./Load.ts"

describe("settings", () => {
  it.effect("accept a port, or an address and a port, to listen on", function* () {
    for (const [text, host, port] of [
      ["9090", "127.0.0.1", 9090],
      ["0", "127.0.0.1", 0],
      ["0.0.0.0:9090", "0.0.0.0", 9090],
      ["admin.internal:9090", "admin.internal", 9090],
      ["[::1]:9090", "::1", 9090]
    ] as const) {
      expect((yield* loaded({ ADMIN_LISTEN: text })).adminListen, text).toEqual(Option.some({ host, port }))
    }
    for (const given of ["65536", ":9090", "::1:9090", "[10.0.0.5]:9090", "10.0.0.256:9090", "http://x:9090", "x:y"]) {
      expect(yield* faults({ ADMIN_LISTEN: given }), given).toMatchObject([{ name: "ADMIN_LISTEN", given }])
    }
  })

  it.effect("refuse the same address for the management alone and for all", function* () {
    expect(yield* faults({ ADMIN_LISTEN: "8080" })).toEqual([
      { name: "ADMIN_LISTEN", accepts: expect.stringMatching(/other.* HOST and PORT/), given: "127.0.0.1:8080" }
    ])
    expect(yield* faults({ HOST: "10.0.0.5", PORT: "80", ADMIN_LISTEN: "10.0.0.5:80" })).toHaveLength(1)
    expect(yield* faults({ HOST: "10.0.0.5", ADMIN_LISTEN: "8080" })).toEqual([])
    expect(yield* faults({ PORT: "0", ADMIN_LISTEN: "0" })).toEqual([])
  })

  it.effect("accept durations in seconds or with a unit, and sizes in bytes or with a unit", function* () {
    for (const [text, seconds] of [
      ["90", 90],
      ["90 s", 90],
      ["5 minutes", 300],
      ["1.5h", 5400],
      ["1 day", 86_400]
    ] as const) {
      expect(Duration.toSeconds((yield* loaded({ WEBHOOK_TIMEOUT: text })).engine.timeout), text).toBe(seconds)
    }
    for (const [text, bytes] of [
      ["2048", 2048],
      ["500 kB", 500_000],
      ["1 MiB", 1_048_576],
      ["1.5MiB", 1_572_864]
    ] as const) {
      expect((yield* loaded({ WEBHOOK_MAX_BODY: text })).engine.maxBody, text).toBe(bytes)
    }
  })

  it.effect("are written back as text that reads as the same value", function* () {
    for (const text of ["90", "1.5h", "250 ms"]) {
      const duration = yield* Schema.decodeEffect(DurationFromText)(text)
      expect(
        yield* Schema.decodeEffect(DurationFromText)(yield* Schema.encodeEffect(DurationFromText)(duration))
      ).toEqual(duration)
    }
    for (const text of ["2048", "1.5 MiB"]) {
      const size = yield* Schema.decodeEffect(SizeFromText)(text)
      expect(yield* Schema.decodeEffect(SizeFromText)(yield* Schema.encodeEffect(SizeFromText)(size))).toBe(size)
    }
  })
})
