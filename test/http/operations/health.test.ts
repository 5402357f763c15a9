import { Context, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { Bus } from "../../../src/bus/Bus.ts"
import { Shutdown } from "../../../src/engine/Shutdown.ts"
import { makeKey } from "../../../src/engine/verify/SecretKeys.ts"
import * as Health from "../../../src/http/operations/Health.ts"
import { SecretKeyStore } from "../../../src/repo/access/SecretKeyStore.ts"
import { ChangeFeed } from "../../../src/repo/ChangeFeed.ts"
import { TimeStore } from "../../../src/repo/TimeStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { call, refusal } from "../Client.ts"
import { changed, listening, listeningPort, start } from "../Server.ts"

/** Once the database has answered in time, which takes several attempts on a busy machine. */
const readiness = ({ http }: { readonly http: ReturnType<typeof call> }) =>
  repeatUntil(http("GET", "/health/ready"), ({ json }) => json.database === "ok" && json.secret_key !== "out of reach")

describe("health", () => {
  it.live("reports that the server is alive, whatever is out of reach", function* () {
    const { http, faults } = yield* start()
    faults.add("database").add("broker")
    const live = yield* http("GET", "/health/live")
    expect([live.status, live.json]).toStrictEqual([200, { status: "ok" }])
  })

  it.live("reports whether the server can accept triggers, and what is out of reach", function* () {
    const { http, faults, shutdown } = yield* start()
    const ready = yield* readiness({ http })
    expect([ready.status, ready.json]).toStrictEqual([
      200,
      { status: "ok", database: "ok", bus: "ok", secret_key: "ok", clock_offset_seconds: expect.any(Number) }
    ])
    faults.add("database")
    const unready = yield* http("GET", "/health/ready")
    expect(refusal(unready)).toStrictEqual([503, "unavailable"])
    expect(unready.json).toMatchObject({ database: "out of reach", bus: "ok" })
    faults.clear()
    faults.add("broker")
    expect((yield* readiness({ http })).json).toMatchObject({ database: "ok", bus: "out of reach" })
    faults.clear()
    yield* shutdown.begin
    expect(refusal(yield* http("GET", "/health/ready"))).toStrictEqual([503, "unavailable"])
    expect((yield* http("GET", "/health/live")).status).toBe(200)
  })

  it.live(
    "reports that the server has not the key of the secrets in the database once there are any, and stores none with its own",
    function* () {
      const repo = yield* Effect.map(Layer.build(layerRepo), Layer.succeedContext)
      const [key, another] = [yield* makeKey, yield* makeKey]
      const other = yield* start({ repo, secretKeys: [another] })
      expect((yield* readiness(other)).status).toBe(200)
      const first = yield* start({ repo, secretKeys: [key] })
      expect((yield* readiness(first)).status).toBe(200)

      const team = yield* first.team("ops")
      const body = {
        name: "signed",
        team,
        prompt_template: "go",
        verification: { preset: "github" },
        secret: "a secret"
      }
      expect((yield* first.admin("POST", "/api/webhooks", { body })).status).toBe(201)
      expect((yield* readiness(first)).status).toBe(200)
      const unready = yield* readiness(other)
      expect(refusal(unready)).toStrictEqual([503, "unavailable"])
      expect(unready.json).toMatchObject({
        database: "ok",
        bus: "ok",
        detail: expect.stringContaining("SECRETS_KEY")
      })

      const refused = yield* other.admin("POST", "/api/webhooks", { body })
      expect(refusal(refused)).toStrictEqual([422, "invalid"])
      expect(refused.json.errors).toMatchObject([
        { pointer: "/secret", detail: expect.stringContaining("SECRETS_KEY") }
      ])
      for (const secretKeys of [
        [key, another],
        [another, key]
      ]) {
        expect((yield* readiness(yield* start({ repo, secretKeys }))).status).toBe(200)
      }
    }
  )

  it.live("shows how far the server's clock is ahead of the database's", function* () {
    const databaseTime = Effect.sync(() => Date.now() - 3_600_000)
    const { http } = yield* start({ repo: changed(layerRepo, Context.add(TimeStore, { databaseTime })) })
    const ready = yield* readiness({ http })
    expect(ready.json).toMatchObject({ status: "ok", clock_offset_seconds: expect.closeTo(3_600, -2) })
    const [, seconds] = /^webhook_clock_offset_seconds ([\d.]+)$/m.exec((yield* http("GET", "/metrics")).text) ?? []
    expect(Number(seconds)).toBeCloseTo(3_600, -2)
  })

  it.live("answers within a second when the database does not answer", function* () {
    const server = yield* Layer.build(
      HttpRouter.serve(Health.layer, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provideMerge(listening),
        Layer.provide([
          Layer.mock(ChangeFeed, { ping: Effect.never }),
          Layer.mock(SecretKeyStore, { secretKeyFingerprint: Effect.never }),
          Layer.mock(Bus, { durable: false, ping: Effect.void }),
          Shutdown.layer
        ])
      )
    )
    const http = call(`http://127.0.0.1:${yield* Effect.provide(listeningPort, server)}`)
    // The database never answers; without a limit, neither would this.
    const unready = yield* http("GET", "/health/ready")
    expect(refusal(unready)).toStrictEqual([503, "unavailable"])
    expect(unready.json).toMatchObject({ database: "out of reach", bus: "ok" })
  })
})
