/** A history like that after a year of use, written by a few statements: the API would need days. */
import { createHash } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"

/** The size of the history. */
export interface History {
  readonly runs: number
  readonly webhooks: number
  readonly teams: number
  readonly days: number
}

/** Rows per statement, to show progress and to keep transactions short. */
const portion = 250_000

/** Text for prompts and answers, as compressible as prose. */
const prose = Array.from({ length: 400 }, (_, n) => {
  const word = createHash("sha256")
    .update(String(n))
    .digest("base64")
    .replaceAll(/[^a-z]/g, "")
  return `${word.slice(0, 4 + (n % 7))} ${["the", "branch", "of", "review", "and", "deploy", "in", "to"][n % 8]}`
}).join(" ")

export const teamOf = (index: number): string => `team-${index + 1}`

/** The id of a webhook: version 7, as all ids are. */
export const webhookIdAt = (index: number): string =>
  `01900000-0000-7000-8000-${(index + 1).toString(16).padStart(12, "0")}`

/** Creates the current tables. */
export const migrated = (url: string): Promise<unknown> =>
  Effect.runPromise(Effect.scoped(Layer.build(PostgresClient.layer({ url: Redacted.make(url) }))))

/** Creates teams, and webhooks for each in turn, up to this number. */
const insertTeams = async (client: pg.Client, teams: ReadonlyArray<string>, webhooks: number): Promise<void> => {
  await client.query(
    `insert into webhook_trigger.teams select team, now() - interval '1 year'
     from json_array_elements_text($1) as team`,
    [JSON.stringify(teams)]
  )
  await client.query(
    `insert into webhook_trigger.webhooks
      (id, name, team, prompt_template, variables, enabled, token_hash, token_hint, created_at, updated_at)
     select ${webhookId("n")}, 'webhook ' || n + 1, $1::json ->> (n % $2), 'Review {{branch}}', '["branch"]', true,
       sha256(n::text::bytea), '…0000', now(), now()
     from generate_series(0, $3 - 1) as n`,
    [JSON.stringify(teams), teams.length, webhooks]
  )
}

const webhookId = (n: string) => `('01900000-0000-7000-8000-' || lpad(to_hex(${n} + 1), 12, '0'))::uuid`

export interface Queue {
  /** Accepts this many runs, for each team in turn. */
  readonly add: (runs: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Fills the lanes of new teams, bypassing the API, which would also measure accepting. */
export const openQueue = async (url: string, teams: ReadonlyArray<string>): Promise<Queue> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await insertTeams(client, teams, teams.length)
  return {
    add: async (runs) => {
      await client.query(
        `with inserted as (
           insert into webhook_trigger.runs
             (id, source, webhook_id, team, mode, prompt, variables, timeout_ms, accepted_at)
           select gen_random_uuid(), 'webhook', ${webhookId("(n % $2)::int")}, $3::json ->> (n % $2)::int, 'async',
             substr($4, 1 + n % 997, 500), '{}', 3600000, now()
           from generate_series(0, $1::int - 1) as n returning team
         )
         select pg_notify('webhook_trigger', 'RunAccepted ' || team) from (
           select distinct team from inserted limit 10
         ) as named`,
        [runs, teams.length, JSON.stringify(teams), prose]
      )
    },
    close: () => client.end()
  }
}

const withClient = async <A>(url: string, use: (client: pg.Client) => Promise<A>): Promise<A> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** A number from 0 to 1, always the same for `n`. */
const uniform = (salt: number) => `((hashint8extended(n, ${salt}) & 1048575) / 1048576.0)`

/**
 * Fills a migrated, empty database. The first webhooks and teams have most of the runs. Nine of ten runs succeeded, one
 * of fifty is a chat message to one of the first five teams, and the newest 300 wait in their lanes.
 */
export const seed = (url: string, { days, runs, teams, webhooks }: History): Promise<void> =>
  withClient(url, async (client) => {
    await client.query("set synchronous_commit = off")
    await insertTeams(
      client,
      Array.from({ length: teams }, (_, n) => teamOf(n)),
      webhooks
    )
    // Creating an index afterwards takes a fraction of the time.
    const indexes = await client.query(
      `select indexname as name, indexdef as definition from pg_indexes
       where schemaname = 'webhook_trigger' and tablename = 'runs' and indexname <> 'runs_pkey'`
    )
    for (const { name } of indexes.rows) await client.query(`drop index webhook_trigger.${name}`)
    for (let from = 1; from <= runs; from += portion) {
      await client.query(insertion({ from, to: Math.min(runs, from + portion - 1), days, runs, teams, webhooks }), [
        prose
      ])
    }
    // Rolling millions of ends up would take minutes; one query counts them.
    await client.query("update webhook_trigger.run_counts_state set counted_to = now()")
    for (const [table, value] of [
      ["run_counts", "status"],
      ["run_durations", "webhook_trigger.duration_class(status, started_at, finished_at)"]
    ]) {
      await client.query(
        `insert into webhook_trigger.${table}
         select webhook_id, hours, date_bin(hours * interval '1 hour', accepted_at, 'epoch'), ${value}, count(*)
         from webhook_trigger.runs, (values (1), (24)) as units(hours)
         where webhook_id is not null and finished_at is not null and ${value} is not null
         group by 1, 2, 3, 4`
      )
    }
    await client.query("set maintenance_work_mem = '1GB'")
    for (const { definition } of indexes.rows) await client.query(definition)
    await client.query("vacuum analyze")
    await client.query("checkpoint")
  })

const insertion = ({
  days,
  from,
  runs,
  teams,
  to,
  webhooks
}: History & { readonly from: number; readonly to: number }) => `
  insert into webhook_trigger.runs
    (id, source, webhook_id, team, mode, status, prompt, variables, response, error_code, error_message, timeout_ms,
      accepted_at, admitted_at, sent_at, started_at, finished_at, recorded_at)
  select
    (lpad(to_hex((extract(epoch from accepted_at) * 1000)::bigint), 12, '0') || '7' ||
      substr(md5(n::text), 1, 3) || 'b' || substr(md5(n::text), 4, 15))::uuid,
    case when chat then 'chat' else 'webhook' end,
    case when not chat then ${webhookId("webhook")} end,
    'team-' || case when chat then (n / 50) % 5 + 1 else webhook % ${teams} + 1 end,
    case when ${uniform(2)} < 0.1 then 'wait' else 'async' end,
    status,
    substr($1, 1 + (n % 997)::int, 300 + (n % 691)::int),
    ('{"branch":"feature/' || n || '"}')::json,
    case when status = 'success' then substr($1, 1 + (n % 991)::int, 200 + (n % 887)::int) end,
    case when status = 'error' then 'agent_error' end,
    case when status = 'error' then 'the agent has failed' end,
    300000, accepted_at,
    case when status <> 'queued' then accepted_at + interval '5 milliseconds' end,
    case when status <> 'queued' then accepted_at + interval '9 milliseconds' end,
    case when status <> 'queued' then accepted_at + interval '12 milliseconds' end,
    case when status <> 'queued' then accepted_at + took end,
    case when status <> 'queued' then least(accepted_at + took, now()) end
  from (
    select n, now() - ${runs - 1} * step + (n - 1) * step as accepted_at,
      n % 50 = 7 as chat,
      floor(${webhooks} * ${uniform(3)} ^ 2)::int as webhook,
      case when n > ${runs} - 300 then 'queued' when ${uniform(4)} < 0.9 then 'success'
        when ${uniform(4)} < 0.96 then 'error' else 'timeout' end as status,
      interval '1 second' * (2 + 60 * ${uniform(5)} * ${uniform(6)}) as took
    from generate_series(${from}::bigint, ${to}::bigint) as n,
      (select interval '${days} days' / ${runs} as step) as distance
  ) as each`
