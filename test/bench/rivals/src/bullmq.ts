/**
 * BullMQ behind Fastify: a queue for each team, whose jobs are the runs. `waitUntilFinished` waits for the answer.
 * Everything is in Redis, including the webhooks, since a service on BullMQ needs no other store.
 */
import { Queue, QueueEvents } from "bullmq"
import { Redis } from "ioredis"
import { accepted, answered, notFound } from "./Answer.ts"
import { listenForControl } from "./Control.ts"
import { listenWithFastify } from "./FastifyServer.ts"
import { given, teams } from "./Given.ts"
import { hashOf, render } from "./Render.ts"

const connection = given.redis
const redis = new Redis(connection)
const queues = new Map<string, { readonly queue: Queue; readonly events: QueueEvents }>()
const keyOf = (token: string) => `webhook:${hashOf(token).toString("hex")}`

for (const { team, template, token } of given.webhooks) {
  await redis.hset(keyOf(token), { team, template })
  const events = new QueueEvents(team, { connection })
  await events.waitUntilReady()
  queues.set(team, { queue: new Queue(team, { connection }), events })
}

await listenWithFastify(async (token, variables, wait) => {
  const { team, template } = await redis.hgetall(keyOf(token))
  if (team === undefined || template === undefined) return notFound
  const { events, queue } = queues.get(team)!
  const job = await queue.add("prompt", { prompt: render(template, variables), variables })
  return wait ? answered(job.id!, await job.waitUntilFinished(events)) : accepted(job.id!)
})

listenForControl(async () => {
  let [rows, ended] = [0, 0]
  for (const team of teams) {
    const { completed = 0, ...others } = await queues.get(team)!.queue.getJobCounts("completed", "waiting", "active")
    ended += completed
    rows += Object.values(others).reduce((sum, count) => sum + count, completed)
  }
  return { rows, ended }
})
