/** The limit of one process: the same by hand, but requests that arrive during a statement share the next one. */
import { serveByHand } from "./ByHand.ts"
import { inGroups } from "./Groups.ts"
import { listenWithNode } from "./HttpServer.ts"
import { hashOf } from "./Render.ts"
import { pool, type Rows, type Run, type RunEnd, type WebhookRow } from "./Rows.ts"

const findWebhooks = async (tokens: ReadonlyArray<string>) => {
  const hashes = tokens.map(hashOf)
  const { rows } = await pool.query<WebhookRow & { token_hash: Buffer }>({
    name: "webhooks",
    text: "select id, team, template, token_hash from webhooks where token_hash = any ($1::bytea[])",
    values: [hashes]
  })
  const found = new Map(rows.map((row) => [row.token_hash.toString("hex"), row]))
  return hashes.map((hash) => found.get(hash.toString("hex")))
}

const insertRuns = async (runs: ReadonlyArray<Run>) => {
  await pool.query({
    name: "insert",
    text: `insert into runs (id, webhook_id, status, prompt, variables)
           select id, webhook_id, 'queued', prompt, variables
           from unnest($1::uuid[], $2::int[], $3::text[], $4::json[]) as r (id, webhook_id, prompt, variables)`,
    values: [
      runs.map(({ id }) => id),
      runs.map(({ webhook }) => webhook.id),
      runs.map(({ prompt }) => prompt),
      runs.map(({ variables }) => JSON.stringify(variables))
    ]
  })
  return runs.map(() => undefined)
}

const endRuns = async (ends: ReadonlyArray<RunEnd>) => {
  // Without a name: a plan made while the table was small would always read the whole table.
  await pool.query({
    text: `update runs set status = 'success', response = e.response, finished_at = now()
           from unnest($1::uuid[], $2::text[]) as e (id, response)
           where runs.id = e.id and runs.finished_at is null`,
    values: [ends.map(({ id }) => id), ends.map(({ response }) => response)]
  })
  return ends.map(() => undefined)
}

const rows: Rows = {
  findWebhook: inGroups(findWebhooks),
  insertRun: inGroups<Run, void>(insertRuns),
  endRun: inGroups<RunEnd, void>(endRuns)
}

await serveByHand(rows, listenWithNode)
