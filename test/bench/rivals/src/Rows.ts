/** The rows of the programs written by hand: a table of webhooks and one of runs, with named prepared statements. */
import pg from "pg"
import { given } from "./Given.ts"
import { hashOf, type Variables } from "./Render.ts"

export interface WebhookRow {
  readonly id: number
  readonly team: string
  readonly template: string
}

export interface Run {
  readonly id: string
  readonly webhook: WebhookRow
  readonly prompt: string
  readonly variables: Variables
}

export interface RunEnd {
  readonly id: string
  readonly response: string
}

export const pool = new pg.Pool({ connectionString: given.databaseUrl })

export const createWebhooks = async (): Promise<void> => {
  await pool.query(`
    create table webhooks (
      id integer generated always as identity primary key,
      token_hash bytea not null unique,
      team text not null,
      template text not null
    )`)
  for (const { team, template, token } of given.webhooks) {
    await pool.query("insert into webhooks (token_hash, team, template) values ($1, $2, $3)", [
      hashOf(token),
      team,
      template
    ])
  }
}

export const createRuns = async (): Promise<void> => {
  await pool.query(`
    create table runs (
      id uuid primary key,
      webhook_id integer not null references webhooks,
      status text not null,
      prompt text not null,
      variables json not null,
      response text,
      accepted_at timestamptz not null default now(),
      finished_at timestamptz
    )`)
  await pool.query("create index on runs (webhook_id, accepted_at)")
}

/** A program's statements for each run. */
export interface Rows {
  readonly findWebhook: (token: string) => Promise<WebhookRow | undefined>
  readonly insertRun: (run: Run) => Promise<void>
  readonly endRun: (end: RunEnd) => Promise<void>
}

/** One statement for each. */
export const rowByRow: Rows = {
  findWebhook: async (token) => {
    const { rows } = await pool.query<WebhookRow>({
      name: "webhook",
      text: "select id, team, template from webhooks where token_hash = $1",
      values: [hashOf(token)]
    })
    return rows[0]
  },
  insertRun: async ({ id, prompt, variables, webhook }) => {
    await pool.query({
      name: "insert",
      text: "insert into runs (id, webhook_id, status, prompt, variables) values ($1, $2, 'queued', $3, $4)",
      values: [id, webhook.id, prompt, JSON.stringify(variables)]
    })
  },
  endRun: async ({ id, response }) => {
    await pool.query({
      name: "end",
      text: "update runs set status = 'success', response = $2, finished_at = now() where id = $1 and finished_at is null",
      values: [id, response]
    })
  }
}

export const countRuns = async (): Promise<{ rows: number; ended: number }> => {
  const { rows } = await pool.query("select count(*)::int as rows, count(finished_at)::int as ended from runs")
  return rows[0]
}
