/** pg-boss behind Fastify: a queue for each team, whose jobs are the runs. */
import PgBoss from "pg-boss"
import { accepted, notFound } from "./Answer.ts"
import { listenForControl } from "./Control.ts"
import { listenWithFastify } from "./FastifyServer.ts"
import { given, teams } from "./Given.ts"
import { render } from "./Render.ts"
import { createWebhooks, pool, rowByRow } from "./Rows.ts"

const boss = new PgBoss(given.databaseUrl)
boss.on("error", console.error)
await boss.start()
await createWebhooks()
for (const team of teams) await boss.createQueue(team)

await listenWithFastify(async (token, variables) => {
  const webhook = await rowByRow.findWebhook(token)
  if (webhook === undefined) return notFound
  const id = await boss.send(webhook.team, { prompt: render(webhook.template, variables), variables })
  return accepted(id!)
})

listenForControl(async () => {
  const { rows } = await pool.query(
    "select count(*)::int as rows, count(completed_on)::int as ended from pgboss.job where name = any ($1)",
    [teams]
  )
  return rows[0]
})
