/** The cost of a run on a real PostgreSQL and RabbitMQ: counted, so that it cannot grow unnoticed. */
import { Agent, request } from "node:http"
import { ConfigProvider, Context, Effect, Layer, Logger, References } from "effect"
import { HttpServer } from "effect/http"
import * as Drivers from "../../src/server/drivers/Drivers.ts"
import * as Environment from "../../src/server/environment/Environment.ts"
import * as Server from "../../src/server/Server.ts"
import { RecordingLeader } from "../faults/support/RecordingLeader.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { expect, it } from "../support/It.ts"
import { until } from "../support/Until.ts"
import { Counters, type Counts, difference, least, perUnit } from "./Counters.ts"

const adminKey = "an-admin-key-for-tests"

/** The whole server in this process, with its work counted. */
const serve = Effect.gen(function* () {
  const variables = {
    DATABASE_URL: yield* freshDatabase,
    AMQP_URL: yield* freshVhost,
    ADMIN_API_KEY: adminKey,
    HOST: "127.0.0.1",
    PORT: "0"
  }
  const environment = yield* Effect.provideService(
    Environment.load,
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromEnv({ env: variables })
  )
  const server = Server.layer(environment, Drivers.choose(environment), "test")
  const context = yield* Layer.build(
    server.pipe(
      Layer.provide(Layer.merge(Layer.succeed(References.TracerEnabled, false), Logger.layer([]))),
      Layer.provideMerge(Counters.layer)
    )
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = "port" in address ? address.port : 0
  return { port, amqpUrl: variables.AMQP_URL, read: Context.get(context, Counters).read }
})

type Served = Effect.Success<typeof serve>

/** Requests without Effect, whose steps would be counted. */
const client = ({ port }: Served) => {
  const agent = new Agent({ keepAlive: true })
  return (method: string, path: string, body?: unknown) =>
    new Promise<{ readonly status: number | undefined; readonly json: any }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" }
      const sent = request({ agent, port, host: "127.0.0.1", method, path, headers }, (answer) => {
        const chunks: Array<Buffer> = []
        answer.on("data", (chunk) => chunks.push(chunk))
        answer.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: answer.statusCode, json: text.startsWith("{") ? JSON.parse(text) : undefined })
        })
      })
      sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
}

/** A server, and for each of these teams a leader that answers and a webhook, which `wait` triggers. */
const scenario = Effect.fnUntraced(function* (teams: ReadonlyArray<string> = ["ops"]) {
  const served = yield* serve
  const call = client(served)
  const paths = yield* Effect.forEach(teams, (team) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => call("POST", "/api/teams", { team }))
      yield* Effect.acquireRelease(
        Effect.promise(() => new RecordingLeader({ url: served.amqpUrl, team }).start()),
        (leader) => Effect.promise(() => leader.crash())
      )
      yield* Effect.promise(() =>
        until("the team is running", async () => (await call("GET", `/api/teams/${team}`)).json.running === true)
      )
      const draft = { name: "a webhook", team, prompt_template: "{{text}}" }
      const created = yield* Effect.promise(() => call("POST", "/api/webhooks", draft))
      return `/webhook/trigger/${created.json.token}?wait=true`
    })
  )
  const wait = async (team = 0) => {
    const { status } = await call("POST", paths[team]!, { variables: { text: "hello" } })
    if (status !== 200) throw new Error(`answered ${status}`)
  }
  return { ...served, call, wait }
})

/**
 * The work per unit of `count` units. It is counted again and again after a warm-up; each count is the lowest. The server's
 * background work adds to some of them, as does a busy machine: fewer runs share a statement, and what takes longer is
 * recorded before it ends. Nothing makes a count lower, so the lowest is the same on every machine.
 */
const perUnitOf = (count: number, repetitions: number, read: () => Counts, work: () => Promise<void>) =>
  Effect.promise(async () => {
    await work()
    const counted: Array<Counts> = []
    while (counted.length < repetitions) {
      const before = read()
      await work()
      counted.push(difference(read(), before))
    }
    return perUnit(counted.reduce(least), count)
  })

/**
 * A tenth above the measured counts; `docs/internals/benchmarks.md` explains the remaining cost. Calling the driver directly saved the
 * statements' steps, but no time.
 */
const expectAtMost = (counts: Counts, limits: Counts) => {
  const exceeded = Object.entries(limits).filter(([name, limit]) => counts[name as keyof Counts] > limit)
  expect(exceeded, `counted ${JSON.stringify(counts)}`).toEqual([])
}

/** Of a run that shares no statement with others, and after which none of the background follows. */
const alone: Counts = { operations: 322, fibers: 6.6, statements: 2.2, prompts: 1, questions: 0.1 }

it.live("a run whose caller waits for the answer, alone", function* () {
  const { read, wait } = yield* scenario()
  // One at a time: pages are notified once in a while, so some runs meet no notification, however slow they are.
  const counts = yield* perUnitOf(1, 240, read, wait)
  expectAtMost(counts, alone)
})

/** As many runs at the same time, taking turns among the teams. */
const together =
  (count: number, wait: (team: number) => Promise<void>, teams = 1) =>
  async () => {
    await Promise.all(Array.from({ length: count }, (_, n) => wait(n % teams)))
  }

it.live("a run whose caller waits for the answer, beside 63 others", function* () {
  const { read, wait } = yield* scenario()
  const counts = yield* perUnitOf(64, 25, read, together(64, wait))
  // The runs of one team end one after the other. The slower that is, the fewer share a statement, and in the end none.
  expectAtMost(counts, alone)
})

it.live("a run whose caller waits for the answer, beside 63 others, of 16 teams", function* () {
  const teams = Array.from({ length: 16 }, (_, n) => `team-${n}`)
  const { read, wait } = yield* scenario(teams)
  const counts = yield* perUnitOf(64, 25, read, together(64, wait, teams.length))
  // Most share their statements, also beside four other processes that compute all the time: 151, 2.3 and 0.1.
  expectAtMost(counts, { ...alone, operations: 166, fibers: 2.6, statements: 0.4 })
})

it.live("a request that each of ten webhooks with one URL ignores", function* () {
  const { read, call } = yield* scenario()
  const create = (more: object) =>
    Effect.promise(async () => {
      const draft = { name: "ignores", team: "ops", prompt_template: "{{text}}", accept_if: "text == 'other'" }
      return (await call("POST", "/api/webhooks", { ...draft, ...more })).json
    })
  const { token, webhook } = yield* create({})
  for (let n = 0; n < 9; n++) yield* create({ shares: webhook.id })
  const count = 20
  const counts = yield* perUnitOf(count, 25, read, async () => {
    for (let n = 0; n < count; n++) {
      const { json } = await call("POST", `/webhook/trigger/${token}`, { variables: { text: "hello" } })
      if (json.status !== "ignored") throw new Error(`answered ${JSON.stringify(json)}`)
    }
  })
  // One read for its own webhook, and one for the others.
  expectAtMost(counts, { operations: 222, fibers: 6.7, statements: 2.2, prompts: 0, questions: 0.1 })
})

it.live(
  "a server at rest",
  () =>
    Effect.gen(function* () {
      const { read } = yield* scenario()
      const seconds = 20
      const before = read()
      yield* Effect.sleep(`${seconds} seconds`)
      expect(perUnit(difference(read(), before), seconds).statements).toBeLessThan(2)
    }),
  60_000
)

it.live("a health check", function* () {
  const { read, call } = yield* scenario()
  const count = 20
  const counts = yield* perUnitOf(count, 25, read, async () => {
    for (let n = 0; n < count; n++) await call("GET", "/health/live")
  })
  expectAtMost(counts, { operations: 50, fibers: 1.1, statements: 0.1, prompts: 0, questions: 0.1 })
})
