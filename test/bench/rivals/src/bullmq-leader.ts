/** The leader of all teams for BullMQ: a worker for each team, one job at a time. */
import { Worker } from "bullmq"
import { listenForControl } from "./Control.ts"
import { given, teams } from "./Given.ts"

let prompts = 0

for (const team of teams) {
  const answer = async () => {
    prompts++
    return "done"
  }
  await new Worker(team, answer, { connection: given.redis, concurrency: 1 }).waitUntilReady()
}
listenForControl(() => ({ prompts }))
