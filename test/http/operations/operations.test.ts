import { FetchHttpClient, HttpLayerRouter } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Metric, MetricBoundaries, Option, Redacted } from "effect"
import * as Client from "../../../src/api/Client.ts"
import { Bus } from "../../../src/bus/Bus.ts"
import { AdminKey } from "../../../src/engine/access/AdminKey.ts"
import { Shutdown } from "../../../src/engine/Shutdown.ts"
import { makeKey } from "../../../src/engine/verify/SecretKeys.ts"
import * as Health from "../../../src/http/operations/Health.ts"
import { sum, Totals } from "../../../src/http/operations/PrometheusSum.ts"
import { type Family, families, toText } from "../../../src/http/operations/PrometheusText.ts"
import { AdminKeyStore } from "../../../src/repo/access/AdminKeyStore.ts"
import { SecretKeyStore } from "../../../src/repo/access/SecretKeyStore.ts"
import { ChangeFeed } from "../../../src/repo/ChangeFeed.ts"
import * as RepoMemory from "../../../src/repo/memory/RepoMemory.ts"
import { TimeStore } from "../../../src/repo/TimeStore.ts"
import { call, refusal, sorted } from "../Client.ts"
import { adminKey, listening, listeningPort, start } from "../Server.ts"

describe("health", () => {
  it.scopedLive("reports that the server is alive, whatever is out of reach", () =>
    Effect.gen(function* () {
      const { http, faults } = yield* start()
      faults.add("database").add("broker")
      const live = yield* http("GET", "/health/live")
      expect([live.status, live.json]).toStrictEqual([200, { status: "ok" }])
    })
  )

  it.scopedLive("reports whether the server can accept triggers, and what is out of reach", () =>
    Effect.gen(function* () {
      const { http, faults, shutdown } = yield* start()
      const ready = yield* http("GET", "/health/ready")
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
      expect((yield* http("GET", "/health/ready")).json).toMatchObject({ database: "ok", bus: "out of reach" })
      faults.clear()
      yield* shutdown.begin
      expect(refusal(yield* http("GET", "/health/ready"))).toStrictEqual([503, "unavailable"])
      expect((yield* http("GET", "/health/live")).status).toBe(200)
    })
  )

  it.scopedLive(
    "reports that the server has not the key of the secrets in the database once there are any, and stores none with its own",
    () =>
      Effect.gen(function* () {
        const repo = yield* Effect.map(Layer.build(RepoMemory.layer), Layer.succeedContext)
        const [key, another] = [yield* makeKey, yield* makeKey]
        const readiness = ({ http }: { readonly http: ReturnType<typeof call> }) => http("GET", "/health/ready")
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
      })
  )

  it.scopedLive("shows how far the server's clock is ahead of the database's", () =>
    Effect.gen(function* () {
      const databaseTime = Effect.sync(() => Date.now() - 3_600_000)
      const { http } = yield* start({ repo: Layer.map(RepoMemory.layer, Context.add(TimeStore, { databaseTime })) })
      const ready = yield* http("GET", "/health/ready")
      expect(ready.json).toMatchObject({ status: "ok", clock_offset_seconds: expect.closeTo(3_600, -2) })
      const [, seconds] = /^webhook_clock_offset_seconds ([\d.]+)$/m.exec((yield* http("GET", "/metrics")).text) ?? []
      expect(Number(seconds)).toBeCloseTo(3_600, -2)
    })
  )

  it.scopedLive("answers within a second when the database does not answer", () =>
    Effect.gen(function* () {
      const server = yield* Layer.build(
        HttpLayerRouter.serve(Health.layer, { disableLogger: true, disableListenLog: true }).pipe(
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
      const unready = yield* Effect.timeout(http("GET", "/health/ready"), "2 seconds")
      expect(refusal(unready)).toStrictEqual([503, "unavailable"])
      expect(unready.json).toMatchObject({ database: "out of reach", bus: "ok" })
    })
  )
})

describe("what only operators are to read", () => {
  const token = "a-token-for-the-metrics"

  it.scoped("needs the token that the operator has set, for the metrics", () =>
    Effect.gen(function* () {
      const { http } = yield* start({ access: { metricsToken: Option.some(Redacted.make(token)), apiDocs: true } })
      for (const authorization of [undefined, "Bearer wrong", `Bearer ${token}x`, `Basic ${token}`, token]) {
        const refused = yield* http("GET", "/metrics", { headers: { ...(authorization && { authorization }) } })
        expect(refusal(refused)).toStrictEqual([401, "unauthorized"])
        expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer /)
        expect(refused.text).not.toContain("http_server_requests_total")
      }
      const shown = yield* http("GET", "/metrics", { headers: { authorization: `bearer ${token}` } })
      expect([shown.status, shown.text]).toEqual([200, expect.stringContaining("http_server_requests_total")])
    })
  )

  it.scoped("is not served, if the operator has closed the API's description", () =>
    Effect.gen(function* () {
      const { http } = yield* start({ access: { metricsToken: Option.none(), apiDocs: false } })
      for (const path of ["/docs", "/openapi.json"]) {
        expect(refusal(yield* http("GET", path))).toStrictEqual([404, "not_found"])
      }
      expect((yield* http("GET", "/metrics")).status).toBe(200)
    })
  )
})

describe("metrics", () => {
  it.effect("are in the format that Prometheus reads", () =>
    Effect.gen(function* () {
      const counter = Metric.counter("a_total", { description: "With \\ and\na line", incremental: true })
      yield* Metric.increment(Metric.tagged(counter, "l-1", 'x"y\\z\n'))
      yield* Metric.increment(Metric.tagged(counter, "l-1", "other"))
      yield* Metric.set(Metric.gauge("b.gauge"), -1.5)
      const histogram = Metric.histogram("c_seconds", MetricBoundaries.fromIterable([1, 2]), "Durations")
      for (const value of [0.5, 1.5, 1.5, 9]) yield* Metric.update(histogram, value)
      yield* Metric.update(Metric.frequency("d"), "red")
      yield* Metric.incrementBy(Metric.counter("e"), 2)
      const ours = Metric.unsafeSnapshot().filter(({ metricKey: { name } }) =>
        /^(a_total|b\.gauge|c_seconds|d|e)$/.test(name)
      )
      expect(sorted(toText(families(ours)).trimEnd().split("\n"))).toStrictEqual(
        sorted([
          "# HELP a_total With \\\\ and\\na line",
          "# TYPE a_total counter",
          'a_total{l_1="x\\"y\\\\z\\n"} 1',
          'a_total{l_1="other"} 1',
          "# TYPE b_gauge gauge",
          "b_gauge -1.5",
          "# HELP c_seconds Durations",
          "# TYPE c_seconds histogram",
          'c_seconds_bucket{le="1"} 1',
          'c_seconds_bucket{le="2"} 3',
          'c_seconds_bucket{le="+Inf"} 4',
          "c_seconds_sum 12.5",
          "c_seconds_count 4",
          "# TYPE d counter",
          'd{key="red"} 1',
          // It may go down too.
          "# TYPE e gauge",
          "e 2"
        ])
      )
    })
  )

  it.scopedLive("count the requests by route and status, with each metric's samples together", () =>
    Effect.gen(function* () {
      const { http } = yield* start()
      yield* http("POST", `/webhook/trigger/whk_${"0".repeat(43)}`, { body: {} })
      const { text, headers, status } = yield* http("GET", "/metrics")
      expect(status).toBe(200)
      expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
      expect(text).toMatch(
        /^http_server_requests_total\{method="POST",route="\/webhook\/trigger\/:token",status="404"\} \d+$/m
      )
      const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
      expect(new Set(types).size).toBe(types.length)
    })
  )
})

describe("metrics of several processes", () => {
  const counter = (samples: Family["samples"]): Family => ({ name: "a_total", type: "counter", samples })
  const gauge = (value: number): Family => ({ name: "b", type: "gauge", samples: [["b", value]] })

  it("are added up, series by series", () => {
    const histogram: Family = {
      name: "c_seconds",
      help: "Durations",
      type: "histogram",
      samples: [
        ['c_seconds_bucket{le="1"}', 1],
        ['c_seconds_bucket{le="+Inf"}', 2],
        ["c_seconds_sum", 3.5],
        ["c_seconds_count", 2]
      ]
    }
    const first = [counter([['a_total{l="x"}', 1]]), gauge(2), histogram]
    const second = [
      histogram,
      gauge(3),
      counter([
        ['a_total{l="y"}', 4],
        ['a_total{l="x"}', 5]
      ])
    ]
    expect(toText(sum([first, second]))).toBe(
      [
        "# TYPE a_total counter",
        'a_total{l="x"} 6',
        'a_total{l="y"} 4',
        "# TYPE b gauge",
        "b 5",
        "# HELP c_seconds Durations",
        "# TYPE c_seconds histogram",
        'c_seconds_bucket{le="1"} 2',
        'c_seconds_bucket{le="+Inf"} 4',
        "c_seconds_sum 7",
        "c_seconds_count 4",
        ""
      ].join("\n")
    )
  })

  it("have sum and count of a summary, and no quantiles", () => {
    const summary: Family = {
      name: "s",
      type: "summary",
      samples: [
        ['s{l="x",quantile="0.5"}', 9],
        ['s_sum{l="x"}', 10],
        ['s_count{l="x"}', 2]
      ]
    }
    expect(sum([[summary], [summary]])).toStrictEqual([
      {
        ...summary,
        samples: [
          ['s_sum{l="x"}', 20],
          ['s_count{l="x"}', 4]
        ]
      }
    ])
  })

  it("keep what an ended process has counted, and not its gauges", () => {
    const totals = new Totals()
    totals.set(1, [counter([["a_total", 1]]), gauge(7)])
    totals.set(2, [counter([["a_total", 10]]), gauge(1)])
    totals.set(1, [counter([["a_total", 2]]), gauge(5)])
    expect(totals.total()).toStrictEqual([counter([["a_total", 12]]), gauge(6)])
    totals.end(1)
    expect(totals.total()).toStrictEqual([counter([["a_total", 12]]), gauge(1)])
    totals.end(2)
    totals.set(3, [gauge(4), counter([["a_total", 1]])])
    expect(totals.total()).toStrictEqual([counter([["a_total", 13]]), gauge(4)])
  })
})

describe("metrics of runs and teams", () => {
  it.scopedLive("show each team's queue and leaders, and how runs ended", () =>
    Effect.gen(function* () {
      const { http, team, webhook } = yield* start()
      yield* team("idle", "no leader")
      const { path } = yield* webhook(yield* team("ops"), "{{a}}")
      const before = yield* http("GET", "/metrics")
      const ended = (text: string) =>
        Number(/^webhook_runs_ended_total\{status="success"\} (\d+)$/m.exec(text)?.[1] ?? 0)
      yield* http("POST", `${path}?wait=true`, { body: { variables: { a: 1 } } })
      const { text } = yield* http("GET", "/metrics")
      expect(text).toMatch(/^webhook_team_consumers\{team="ops"\} 1$/m)
      expect(text).toMatch(/^webhook_team_consumers\{team="idle"\} 0$/m)
      expect(text).toMatch(/^webhook_team_queued\{team="ops"\} 0$/m)
      expect(ended(text)).toBe(ended(before.text) + 1)
      for (const part of ["queued", "work", "total"]) {
        expect(text, part).toMatch(
          new RegExp(`^webhook_run_${part}_seconds_bucket\\{status="success",team="ops",le="86400"\\} [1-9]`, "m")
        )
      }
      expect(text).toMatch(/^http_server_request_duration_seconds_bucket\{.*le="86400"\} /m)
    })
  )

  it.scopedLive("count what becomes the run of an earlier trigger, once for each delivery", () =>
    Effect.gen(function* () {
      const { http, team, webhook } = yield* start()
      const coalesce = { key: "a", within: 3_600 }
      const { path } = yield* webhook(yield* team("merging"), "{{a}}", { coalesce })
      const post = (key: string) =>
        http("POST", path, { body: { variables: { a: 1 } }, headers: { "idempotency-key": key } })
      const answers = yield* Effect.forEach(["one", "two", "one", "two", "two", "three"], post)
      expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1)
      const { text } = yield* http("GET", "/metrics")
      expect(text).toMatch(/^webhook_triggers_coalesced_total\{team="merging"\} 2$/m)
    })
  )

  it.scopedLive("show a team no longer once it is deleted, and the last known values while the database is away", () =>
    Effect.gen(function* () {
      const { http, admin, team, faults } = yield* start()
      yield* team("kept", "no leader")
      yield* team("gone", "no leader")
      const teamsShown = Effect.map(http("GET", "/metrics"), ({ text }) =>
        text.match(/^webhook_team_\w+\{team="\w+"\}/gm)
      )
      const ofKept = ["queued", "consumers", "paused"].map((gauge) => `webhook_team_${gauge}{team="kept"}`)
      expect(yield* teamsShown).toContain('webhook_team_queued{team="gone"}')
      expect((yield* admin("DELETE", "/api/teams/gone")).status).toBe(204)
      expect(yield* teamsShown).toStrictEqual(ofKept)
      faults.add("database")
      expect(yield* teamsShown).toStrictEqual(ofKept)
    })
  )
})

describe("the admin key", () => {
  it.effect("is generated once, shown once, and then recognised by its hash", () =>
    Effect.gen(function* () {
      const repo = yield* Layer.build(RepoMemory.layer)
      const begin = Effect.provide(
        AdminKey,
        Layer.provide(Layer.fresh(AdminKey.layerGenerated), Layer.succeedContext(repo))
      )
      const first = yield* begin
      const key = Option.getOrThrow(first.generated)
      expect(Redacted.value(key)).toMatch(/^wha_[0-9A-Za-z]{49}$/)
      const second = yield* begin
      expect(Option.isNone(second.generated)).toBe(true)
      for (const { verify } of [first, second]) {
        expect(verify(key)).toBe(true)
        expect(verify(Redacted.make(`${Redacted.value(key)}x`))).toBe(false)
        expect(verify(Redacted.make(""))).toBe(false)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is the same for servers that start at the same time, and one of them shows it", () =>
    Effect.gen(function* () {
      const repo = yield* Layer.build(RepoMemory.layer)
      // Both read before either has claimed.
      const claim = { ...(yield* Effect.provide(AdminKeyStore, repo)), adminKeyHash: Effect.succeed(Option.none()) }
      const begin = Effect.provide(
        AdminKey,
        Layer.provide(Layer.fresh(AdminKey.layerGenerated), Layer.succeed(AdminKeyStore, claim))
      )
      const [first, second] = [yield* begin, yield* begin]
      const key = Option.getOrThrow(first.generated)
      expect(Option.isNone(second.generated)).toBe(true)
      expect(second.verify(key)).toBe(true)
    }).pipe(Effect.scoped)
  )
})

describe("the typed client", () => {
  it.scopedLive("covers the whole flow: team, webhook, trigger, run, history", () =>
    Effect.gen(function* () {
      const { origin, team } = yield* start()
      const client = yield* Client.make({ url: origin, adminKey: Redacted.make(adminKey) })
      yield* team("ops")
      const [shown] = yield* client.teams.list()
      expect([shown!.team as string, shown!.running]).toStrictEqual(["ops", true])
      expect(DateTime.isDateTime(shown!.created_at)).toBe(true)
      const { webhook, token } = yield* client.webhooks.create({
        payload: { name: "n", team: shown!.team, prompt_template: "{{a}}" }
      })
      const answered = yield* client.trigger.trigger({
        path: { token },
        urlParams: { wait: "true" },
        headers: {},
        payload: { variables: { a: 1 } }
      })
      const { data, next_cursor } = yield* client.webhooks.runs({ path: { id: webhook.id }, urlParams: { limit: 5 } })
      expect(answered).toMatchObject({ status: "success", response: "echo: 1", run_id: data[0]!.run_id })
      expect(next_cursor).toBe(null)
      const { sizes, truncated, ...listed } = data[0]!
      expect(yield* client.runs.show({ path: { run_id: data[0]!.run_id } })).toStrictEqual(listed)
      expect([truncated, sizes]).toStrictEqual([false, { variables: 7, prompt: 1, response: 7 }])
      yield* client.webhooks.delete({ path: { id: webhook.id }, headers: {} })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("returns errors as values, with their code", () =>
    Effect.gen(function* () {
      const { origin } = yield* start()
      const client = yield* Client.make({ url: origin })
      const refused = yield* Effect.flip(client.webhooks.list())
      expect(refused).toMatchObject({ status: 401, code: "unauthorized" })
      const missing = yield* Effect.flip(
        client.trigger.trigger({ path: { token: "x" }, urlParams: {}, headers: {}, payload: { variables: {} } })
      )
      expect(missing).toMatchObject({ status: 404, code: "not_found" })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
