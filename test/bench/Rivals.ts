/** The other contenders. */
import { freePort } from "../support/Process.ts"
import type { Contender, Running } from "./Contender.ts"
import type { Place } from "./Place.ts"
import { makeWebhooks, startLeader, startProgram } from "./Programs.ts"

interface Needs {
  /** The leader on RabbitMQ. */
  readonly leader?: true
  /** Otherwise the program that takes the prompts and finds the server's queues. */
  readonly worker?: string
  readonly store?: keyof typeof stores
}

/** A contender's store, and where its programs find it. All of them have the database. */
const stores = {
  postgres: async (_: Place) => ({ store: "postgres" as const, env: {} }),
  redis: async (place: Place) => {
    const { pid, port } = await place.redis()
    return { store: { pid }, env: { REDIS_PORT: String(port) } }
  },
  restate: async (place: Place) => {
    const { adminUrl, ingressUrl, pid } = await place.restate()
    return { store: { pid }, env: { RESTATE_INGRESS: ingressUrl, RESTATE_ADMIN: adminUrl } }
  }
}

const startRival =
  (program: string, { leader, store, worker }: Needs) =>
  async (place: Place): Promise<Running> => {
    const webhooks = makeWebhooks()
    const port = await freePort()
    const started = store && (await stores[store](place))
    const env = {
      PORT: String(port),
      WEBHOOKS: JSON.stringify(webhooks),
      DATABASE_URL: place.databaseUrl,
      AMQP_URL: place.amqpUrl,
      ...started?.env
    }
    const before = leader && (await startLeader(place))
    const server = await startProgram(place, program, env)
    const consumer = worker === undefined ? before : await startProgram(place, worker, env)
    const urls = webhooks.map(({ token }) => `http://127.0.0.1:${port}/webhook/trigger/${token}`)
    return {
      pid: server.pid,
      startSeconds: server.startSeconds,
      ...(started && { store: started.store }),
      url: urls[0]!,
      urls: urls.slice(1),
      counts: async () => ({ ...(await consumer?.counts()), ...(await server.counts()) })
    }
  }

const onRabbitMq = (program: string) => startRival(program, { leader: true, store: "postgres" })

export const byHand: Contender = {
  name: "by-hand",
  title: "by hand, Fastify 5",
  about:
    "`pg` with named statements and `amqplib` with `noDelay` and confirms: select the webhook by its token's hash, render, insert the run, publish; or also wait for the correlated reply and update the row",
  waits: "many teams",
  accepts: true,
  publishesFirst: true,
  start: onRabbitMq("by-hand")
}

export const rivals: ReadonlyArray<Contender> = [
  {
    ...byHand,
    name: "by-hand-http",
    title: "by hand, node:http",
    about: "the same on Node's own server",
    start: onRabbitMq("by-hand-http")
  },
  {
    name: "bullmq",
    title: "BullMQ, Fastify 5",
    about:
      "a queue for each team on Redis with `appendonly yes` and `appendfsync always`; `waitUntilFinished` to wait; a worker for each team, one job at a time; webhooks and runs in Redis only",
    waits: "many teams",
    accepts: true,
    start: startRival("bullmq", { worker: "bullmq-leader", store: "redis" })
  },
  {
    name: "pg-boss",
    title: "pg-boss, Fastify 5",
    about: "a queue for each team on PostgreSQL; the jobs are the runs; workers poll every 0.5 s",
    waits: "no",
    accepts: true,
    start: startRival("pg-boss", { worker: "pg-boss-leader", store: "postgres" })
  },
  {
    name: "dbos",
    title: "DBOS, Fastify 5",
    about:
      "a queue on PostgreSQL with a partition for each team and `partitionConcurrency` 1; the workflows, with the answer as a step, are the runs; the worker polls every 10 ms and `getResult` every 25 ms, instead of every second; runs of one millisecond start in no particular order",
    waits: "many teams",
    accepts: true,
    restless: true,
    start: startRival("dbos", { worker: "dbos-leader", store: "postgres" })
  },
  {
    name: "restate",
    title: "Restate, Fastify 5",
    about:
      "a virtual object for each team on one Restate server, which syncs its log; its invocations, with the answer as a step, are the runs, and are kept for a day; `/send`, or a plain call to wait; webhooks on PostgreSQL, whose CPU time is not counted",
    waits: "many teams",
    accepts: true,
    start: startRival("restate", { worker: "restate-leader", store: "restate" })
  },
  {
    name: "nest",
    title: "NestJS microservice",
    about:
      "a gateway on Fastify with a RabbitMQ client (`send`) for each team; the same rows as by hand; answers come by direct reply-to, its default, which does not survive a restart",
    waits: "many teams",
    accepts: false,
    start: onRabbitMq("nest")
  }
]

export const limits: ReadonlyArray<Contender> = [
  {
    ...byHand,
    name: "grouped",
    title: "limit: by hand, in groups",
    about: "by hand on `node:http`, but whatever arrives during a statement shares the next one",
    start: onRabbitMq("grouped")
  },
  {
    name: "nothing",
    title: "limit: node:http, nothing done",
    about: "reads and parses the body, and answers",
    waits: "no",
    accepts: true,
    start: startRival("nothing", {})
  }
]
