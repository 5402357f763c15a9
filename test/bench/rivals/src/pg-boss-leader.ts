/** The leader of all teams for pg-boss: it polls for one job at a time, as often as pg-boss allows. */
import PgBoss from "pg-boss"
import { listenForControl } from "./Control.ts"
import { given, teams } from "./Given.ts"

let prompts = 0

const boss = new PgBoss(given.databaseUrl)
boss.on("error", console.error)
await boss.start()
for (const team of teams) {
  await boss.work(team, { batchSize: 1, pollingIntervalSeconds: 0.5 }, async () => {
    prompts++
    return "done"
  })
}
listenForControl(() => ({ prompts }))
