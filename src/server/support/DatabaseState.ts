/** The state of the tables, without anything that callers, agents or people wrote. */
import type { Redacted } from "effect"
import pg from "pg"
import { connection } from "../../repo/sql/database/PostgresAddress.ts"

/** In milliseconds, so that a loaded database is not loaded more. */
const query_timeout = 5_000

const queries = {
  migrations: "select migration_id, name, created_at from webhook_trigger.migrations order by migration_id",
  lease: "select term, holder, expires_at, locked_on from webhook_trigger.dispatcher_lease",
  queues: `select r.team, r.status, count(*)::int as runs, min(r.accepted_at) as oldest, t.paused_at
    from webhook_trigger.runs r left join webhook_trigger.teams t on t.team = r.team
    where r.finished_at is null group by r.team, r.status, t.paused_at order by r.team, r.status`,
  tables: `select relname as table, n_live_tup::float8 as rows, n_dead_tup::float8 as dead_rows,
      pg_total_relation_size(relid)::float8 as bytes, last_autovacuum, last_autoanalyze
    from pg_stat_user_tables where schemaname = 'webhook_trigger' order by bytes desc`,
  connections: `select state, wait_event_type, count(*)::int as connections, max(now() - state_change)::text as longest
    from pg_stat_activity where datname = current_database() group by state, wait_event_type`
} as const

/** The rows of each query, or why there are none. */
export const read = async (url: Redacted.Redacted): Promise<Readonly<Record<keyof typeof queries, unknown>>> => {
  const client = new pg.Client({ ...connection(url), query_timeout })
  client.on("error", () => {})
  try {
    await client.connect()
    const found: Array<readonly [string, unknown]> = []
    for (const [name, query] of Object.entries(queries)) {
      const rows = await client.query(query).then(
        (result): unknown => result.rows,
        (error: Error) => `not read: ${error.message}`
      )
      found.push([name, rows])
    }
    return Object.fromEntries(found) as Readonly<Record<keyof typeof queries, unknown>>
  } finally {
    await client.end().catch(() => {})
  }
}
