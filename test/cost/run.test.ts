/** The cost of a run on a real PostgreSQL and RabbitMQ: counted, so that it cannot grow unnoticed. */
import { Agent, request } from "node:http"
import { setTimeout } from "node:timers/promises"
import { HttpServer } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Logger } from "effect"
import * as Drivers from "../../src/server/drivers/Drivers.ts"
import * as Environment from "../../src/server/environment/Environment.ts"
import * as Server from "../../src/server/Server.ts"
import { RecordingLeader } from "../faults/support/RecordingLeader.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
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
  const environment = yield* Effect.withConfigProvider(
    Environment.load,
    ConfigProvider.fromMap(new Map(Object.entries(variables)))
  )
  const server = Server.layer(environment, Drivers.choose(environment), "test")
  const context = yield* Layer.build(
    server.pipe(
      Layer.provide(Layer.merge(Layer.setTracerEnabled(false), Logger.remove(Logger.defaultLogger))),
      Layer.provideMerge(Counters.layer)
    )
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = address._tag === "TcpAddress" ? address.port : 0
  return { port, amqpUrl: variables.AMQP_URL, read: Context.get(context, Counters).read }
})

type Served = Effect.Effect.Success<typeof serve>

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

/** The server's background work per second, measured over the longest interval of its periodic work. */
const idleSecond = async (read: () => Counts): Promise<Counts> => {
  const seconds = 5
  const before = read()
  await setTimeout(seconds * 1000)
  return perUnit(difference(read(), before), seconds)
}

/**
 * How often each count is measured. On a busy machine, a run takes longer, and its progress is recorded before its end.
 */
const measurements = 5

/**
 * The work per run of `count` runs, after a warm-up, without background work. Of several measurements, the lowest of
 * each count.
 */
const perRun = (read: () => Counts, count: number, work: () => Promise<void>) =>
  Effect.promise(async () => {
    await work()
    const idle = await idleSecond(read)
    const counted: Array<Counts> = []
    for (let n = 0; n < measurements; n++) {
      const [before, begin] = [read(), performance.now()]
      await work()
      const seconds = (performance.now() - begin) / 1000
      counted.push(perUnit(difference(difference(read(), before), perUnit(idle, 1 / seconds)), count))
    }
    return counted.reduce((a, b) => least(a, b))
  })

/** Of a statement through `@effect/sql` within its time limit, which has a fiber of its own, too. */
const stepsOfStatement = 75

/**
 * A tenth above the measured counts; `docs/benchmarks.md` explains the remaining cost. Calling the driver directly saved the
 * statements' steps, but no time.
 */
const expectAtMost = (counts: Counts, limits: Counts) => {
  const exceeded = Object.entries(limits).filter(([name, limit]) => counts[name as keyof Counts] > limit)
  expect(exceeded, `counted ${JSON.stringify(counts)}`).toEqual([])
}

it.scopedLive("a run whose caller waits for the answer, alone", () =>
  Effect.gen(function* () {
    const { read, wait } = yield* scenario()
    const count = 40
    const counts = yield* perRun(read, count, async () => {
      for (let n = 0; n < count; n++) await wait()
    })
    // With a notification for each end, as for ends more than 20 ms apart.
    expectAtMost(counts, { operations: 590, fibers: 9, statements: 3.3, messages: 1.1 })
  })
)

it.scopedLive("a run whose caller waits for the answer, beside 63 others", () =>
  Effect.gen(function* () {
    const { read, wait } = yield* scenario()
    const count = 320
    const counts = yield* perRun(read, count, async () => {
      const callers = Array.from({ length: 64 }, async () => {
        for (let n = 0; n < count / 64; n++) await wait()
      })
      await Promise.all(callers)
    })
    // The machine's speed decides how many runs share a statement, so the statements' own work is counted apart.
    const { fibers, operations, statements } = counts
    const besides = { operations: operations - stepsOfStatement * statements, fibers: fibers - statements }
    expectAtMost({ ...counts, ...besides }, { operations: 285, fibers: 4.3, statements: 2.5, messages: 1.1 })
  })
)

it.scopedLive("a run whose caller waits for the answer, beside 63 others, of 16 teams", () =>
  Effect.gen(function* () {
    const teams = Array.from({ length: 16 }, (_, n) => `team-${n}`)
    const { read, wait } = yield* scenario(teams)
    const count = 320
    const counts = yield* perRun(read, count, async () => {
      const callers = Array.from({ length: 64 }, async (_, caller) => {
        for (let n = 0; n < count / 64; n++) await wait(caller % teams.length)
      })
      await Promise.all(callers)
    })
    expectAtMost(counts, { operations: 260, fibers: 3.5, statements: 1.2, messages: 1.1 })
  })
)

it.scopedLive("a health check", () =>
  Effect.gen(function* () {
    const { read, call } = yield* scenario()
    const count = 100
    const counts = yield* perRun(read, count, async () => {
      for (let n = 0; n < count; n++) await call("GET", "/health/live")
    })
    expectAtMost(counts, { operations: 200, fibers: 1.2, statements: 0.1, messages: 0.1 })
  })
)
