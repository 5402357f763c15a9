/**
 * DBOS behind Fastify: one queue on PostgreSQL with a partition for each team, whose workflows are the runs. They are
 * executed by the worker, so this program has DBOS's client only.
 */
import { DBOS, DBOSClient } from "@dbos-inc/dbos-sdk"
import { accepted, answered, notFound } from "./Answer.ts"
import { listenForControl } from "./Control.ts"
import { dbosNames } from "./DbosNames.ts"
import { listenWithFastify } from "./FastifyServer.ts"
import { given } from "./Given.ts"
import { render } from "./Render.ts"
import { createWebhooks, pool, rowByRow } from "./Rows.ts"

/** Milliseconds. With its default, a second, a team would have one run a second. */
const minPollingIntervalMs = 10

/** The same for results. More often, 64 callers that wait would take the database's time from the runs. */
const pollingIntervalMs = 25

await DBOS.migrate(given.databaseUrl)
const { applicationName, queueName, workflowName } = dbosNames
const client = await DBOSClient.create({ systemDatabaseUrl: given.databaseUrl, applicationName })
// Before the worker starts, which looks for new queues once a second only.
await client.registerQueue(queueName, { applicationName, partitionConcurrency: 1, minPollingIntervalMs })
await createWebhooks()

await listenWithFastify(async (token, variables, wait) => {
  const webhook = await rowByRow.findWebhook(token)
  if (webhook === undefined) return notFound
  const options = { queueName, workflowName, queuePartitionKey: webhook.team }
  const handle = await client.enqueue(options, { prompt: render(webhook.template, variables), variables })
  if (!wait) return accepted(handle.workflowID)
  return answered(handle.workflowID, await handle.getResult({ pollingIntervalMs }))
})

listenForControl(async () => {
  const { rows } = await pool.query(
    `select count(*)::int as rows, (count(*) filter (where status = 'SUCCESS'))::int as ended
     from dbos.workflow_status where queue_name = $1`,
    [queueName]
  )
  return rows[0]
})
