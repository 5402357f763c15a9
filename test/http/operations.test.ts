import { FetchHttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, MetricBoundaries, Option, Redacted } from "effect"
import * as Client from "../../src/api/Client.ts"
import { Bus } from "../../src/bus/Bus.ts"
import { AdminKey } from "../../src/engine/AdminKey.ts"
import { Shutdown } from "../../src/engine/Shutdown.ts"
import * as Health from "../../src/http/Health.ts"
import { toText } from "../../src/http/Metrics.ts"
import * as RepoMemory from "../../src/repo/memory/RepoMemory.ts"
import { Repo } from "../../src/repo/Repo.ts"
import { adminKey, refusal, start } from "./Server.ts"

describe("health", () => {
  it.scopedLive("says that the server is alive, whatever is out of reach", () =>
    Effect.gen(function* () {
      const { http, faults } = yield* start()
      faults.add("database").add("broker")
      const live = yield* http("GET", "/health/live")
      assert.deepStrictEqual([live.status, live.json], [200, { status: "ok" }])
    })
  )

  it.scopedLive("says whether it can take triggers, and what is missing", () =>
    Effect.gen(function* () {
      const { http, faults, context } = yield* start()
      const ready = yield* http("GET", "/health/ready")
      assert.deepStrictEqual([ready.status, ready.json], [200, { status: "ok", database: "ok", bus: "ok" }])
      faults.add("database")
      const unready = yield* http("GET", "/health/ready")
      assert.deepStrictEqual(refusal(unready), [503, "unavailable"])
      assert.deepInclude(unready.json, { database: "out of reach", bus: "ok" })
      faults.clear()
      faults.add("broker")
      assert.deepInclude((yield* http("GET", "/health/ready")).json, { database: "ok", bus: "out of reach" })
      faults.clear()
      yield* Effect.provide(
        Effect.flatMap(Shutdown, ({ begin }) => begin),
        context
      )
      assert.deepStrictEqual(refusal(yield* http("GET", "/health/ready")), [503, "unavailable"])
      assert.strictEqual((yield* http("GET", "/health/live")).status, 200)
    })
  )

  it.scopedLive("answers within a second when nothing comes back from the database", () =>
    Effect.gen(function* () {
      const checks = yield* Health.check.pipe(
        Effect.timeout("2 seconds"),
        Effect.provide(Layer.mock(Repo, { ping: Effect.never })),
        Effect.provide(Layer.mock(Bus, { durable: false, ping: Effect.void }))
      )
      assert.deepStrictEqual(checks, { database: "out of reach", bus: "ok" })
    })
  )
})

describe("metrics", () => {
  it.effect("are written as Prometheus reads them", () =>
    Effect.gen(function* () {
      const counter = Metric.counter("a_total", { description: "With \\ and\na line", incremental: true })
      yield* Metric.increment(Metric.tagged(counter, "l-1", 'x"y\\z\n'))
      yield* Metric.increment(Metric.tagged(counter, "l-1", "other"))
      yield* Metric.set(Metric.gauge("b.gauge"), -1.5)
      const histogram = Metric.histogram("c_seconds", MetricBoundaries.fromIterable([1, 2]), "Durations")
      for (const value of [0.5, 1.5, 1.5, 9]) yield* Metric.update(histogram, value)
      yield* Metric.update(Metric.frequency("d"), "red")
      const ours = Metric.unsafeSnapshot().filter(({ metricKey: { name } }) =>
        /^(a_total|b\.gauge|c_seconds|d)$/.test(name)
      )
      assert.sameMembers(toText(ours).trimEnd().split("\n"), [
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
        'd{key="red"} 1'
      ])
    })
  )

  it.scopedLive("count the requests by route and status, each metric's samples together", () =>
    Effect.gen(function* () {
      const { http } = yield* start()
      yield* http("POST", `/webhook/trigger/whk_${"0".repeat(43)}`, { body: {} })
      const { text, headers, status } = yield* http("GET", "/metrics")
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
      assert.match(
        text,
        /^http_server_requests_total\{method="POST",route="\/webhook\/trigger\/:token",status="404"\} \d+$/m
      )
      const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
      assert.strictEqual(new Set(types).size, types.length)
    })
  )
})

describe("metrics of the work", () => {
  it.scopedLive("tell each team's queue and leaders, and how runs ended", () =>
    Effect.gen(function* () {
      const { http, team, webhook } = yield* start()
      yield* team("idle", { running: false })
      const { path } = yield* webhook(yield* team("ops"), "{{a}}")
      const before = yield* http("GET", "/metrics")
      const ended = (text: string) =>
        Number(/^webhook_runs_ended_total\{status="success"\} (\d+)$/m.exec(text)?.[1] ?? 0)
      yield* http("POST", `${path}?wait=true`, { body: { variables: { a: 1 } } })
      const { text } = yield* http("GET", "/metrics")
      assert.match(text, /^webhook_team_consumers\{team="ops"\} 1$/m)
      assert.match(text, /^webhook_team_consumers\{team="idle"\} 0$/m)
      assert.match(text, /^webhook_team_queued\{team="ops"\} 0$/m)
      assert.strictEqual(ended(text), ended(before.text) + 1)
    })
  )
})

describe("the admin key", () => {
  it.effect("is generated once, shown once, and known again by its hash", () =>
    Effect.gen(function* () {
      const repo = yield* Layer.build(RepoMemory.layer)
      const begin = Effect.provide(
        AdminKey,
        Layer.provide(Layer.fresh(AdminKey.layerGenerated), Layer.succeedContext(repo))
      )
      const first = yield* begin
      const key = Option.getOrThrow(first.generated)
      assert.match(Redacted.value(key), /^wha_[\w-]{43}$/)
      const second = yield* begin
      assert.isTrue(Option.isNone(second.generated))
      for (const { verify } of [first, second]) {
        assert.isTrue(verify(key))
        assert.isFalse(verify(Redacted.make(`${Redacted.value(key)}x`)))
        assert.isFalse(verify(Redacted.make("")))
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is one for servers that start at once, and one of them shows it", () =>
    Effect.gen(function* () {
      const repo = yield* Layer.build(RepoMemory.layer)
      // Both ask before either has claimed.
      const claim = { ...(yield* Effect.provide(Repo, repo)), adminKeyHash: Effect.succeed(Option.none()) }
      const begin = Effect.provide(
        AdminKey,
        Layer.provide(Layer.fresh(AdminKey.layerGenerated), Layer.succeed(Repo, claim))
      )
      const [first, second] = [yield* begin, yield* begin]
      const key = Option.getOrThrow(first.generated)
      assert.isTrue(Option.isNone(second.generated))
      assert.isTrue(second.verify(key))
    }).pipe(Effect.scoped)
  )
})

describe("the typed client", () => {
  it.scopedLive("goes the whole way: team, webhook, trigger, run, history", () =>
    Effect.gen(function* () {
      const { origin, team } = yield* start()
      const client = yield* Client.make({ url: origin, adminKey: Redacted.make(adminKey) })
      yield* team("ops")
      const [shown] = yield* client.teams.list()
      assert.deepStrictEqual([shown!.team as string, shown!.running], ["ops", true])
      assert.instanceOf(shown!.created_at, Date)
      const { webhook, token } = yield* client.webhooks.create({
        payload: { name: "n", team: shown!.team, prompt_template: "{{a}}" }
      })
      const answered = yield* client.trigger.trigger({
        path: { token },
        urlParams: { wait: "true" },
        headers: {},
        payload: { variables: { a: 1 } }
      })
      assert.deepInclude(answered, { status: "success", response: "echo: 1" })
      const { data, next_cursor } = yield* client.webhooks.runs({ path: { id: webhook.id }, urlParams: { limit: 5 } })
      assert.strictEqual(next_cursor, null)
      assert.deepStrictEqual(yield* client.runs.show({ path: { run_id: answered.run_id } }), data[0])
      yield* client.webhooks.delete({ path: { id: webhook.id } })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("gets refusals as values, with their code", () =>
    Effect.gen(function* () {
      const { origin } = yield* start()
      const client = yield* Client.make({ url: origin })
      const refused = yield* Effect.flip(client.webhooks.list())
      assert.deepInclude(refused, { status: 401, code: "unauthorized" })
      const missing = yield* Effect.flip(
        client.trigger.trigger({ path: { token: "x" }, urlParams: {}, headers: {}, payload: { variables: {} } })
      )
      assert.deepInclude(missing, { status: 404, code: "not_found" })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
