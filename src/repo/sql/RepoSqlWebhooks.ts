import { SqlClient, type SqlError } from "@effect/sql"
import { Effect, Exit } from "effect"
import { NotFound, TeamUnknown } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Webhook } from "../../domain/Webhook.ts"
import type { TokenHash } from "../../engine/Token.ts"
import type { NewWebhook, WebhookChange } from "../Repo.ts"
import { storable } from "../RunRow.ts"
import { makeBatch } from "./Batch.ts"
import { tell } from "./Changes.ts"
import { bounded, isDangling } from "./Database.ts"

interface WebhookRow {
  readonly id: WebhookId
  readonly name: string
  readonly team: TeamName
  readonly prompt_template: string
  readonly variables: ReadonlyArray<string>
  readonly timeout_seconds: number | null
  readonly max_concurrent: number | null
  readonly enabled: boolean
  readonly token_hint: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_triggered_at: Date | null
}

const toWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  name: row.name,
  team: row.team,
  prompt_template: row.prompt_template,
  variables: row.variables,
  ...(row.timeout_seconds !== null && { timeout_seconds: row.timeout_seconds }),
  ...(row.max_concurrent !== null && { max_concurrent: row.max_concurrent }),
  enabled: row.enabled,
  token_hint: row.token_hint,
  created_at: row.created_at,
  updated_at: row.updated_at,
  ...(row.last_triggered_at !== null && { last_triggered_at: row.last_triggered_at })
})

/** A history longer than this is removed in steps, so that no statement takes long. */
const runsInOneStep = 5_000

/** The part of the SQL `Repo` that keeps webhooks. */
export const makeWebhooks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const own = `
    w.id, w.name, w.team, w.prompt_template, w.variables, w.timeout_seconds, w.max_concurrent, w.enabled, w.token_hint,
    w.created_at, w.updated_at`
  const columns = sql.literal(`${own}, (
      select r.accepted_at from webhook_trigger.runs r where r.webhook_id = w.id order by r.seq desc limit 1
    ) as last_triggered_at`)
  const told = tell(sql, "WebhookChanged", sql`select id::text as name from changed`)

  const teamUnknown =
    (team: TeamName) =>
    (error: SqlError.SqlError): Effect.Effect<never, SqlError.SqlError | TeamUnknown> =>
      Effect.fail(isDangling(error) ? new TeamUnknown({ team }) : error)

  const createWebhook = Effect.fn("Repo.createWebhook")(function* (webhook: NewWebhook) {
    const rows = yield* sql<WebhookRow>`
      with changed as (
        insert into webhook_trigger.webhooks (
          id, name, team, prompt_template, variables, timeout_seconds, max_concurrent, enabled, token_hash, token_hint,
          created_at, updated_at
        ) values (
          ${webhook.id}, ${storable(webhook.name)}, ${webhook.team}, ${storable(webhook.prompt_template)},
          ${JSON.stringify(webhook.variables)}, ${webhook.timeout_seconds ?? null}, ${webhook.max_concurrent ?? null},
          ${webhook.enabled}, ${webhook.token_hash}, ${webhook.token_hint}, ${webhook.created_at}, ${webhook.created_at}
        ) returning *
      ), ${told}
      select ${columns}, (select count(*) from told) from changed w`.pipe(
      Effect.catchTag("SqlError", teamUnknown(webhook.team))
    )
    return toWebhook(rows[0]!)
  }, bounded)

  const webhook = Effect.fn("Repo.webhook")(function* (id: WebhookId) {
    const [row] = yield* sql<WebhookRow>`select ${columns} from webhook_trigger.webhooks w where w.id = ${id}`
    return row ? toWebhook(row) : yield* new NotFound()
  }, bounded)

  // Every trigger asks this first, and no answer is kept: a disabled webhook is disabled at once. It asks no other table:
  // an unknown token is refused also while the runs are locked.
  const byToken = yield* makeBatch({
    size: 500,
    run: (hashes: ReadonlyArray<string>) =>
      bounded(sql<WebhookRow & { readonly hash: string }>`
        select encode(w.token_hash, 'hex') as hash, ${sql.literal(own)}, null as last_triggered_at
        from webhook_trigger.webhooks w
        where w.enabled and w.token_hash in (
          select decode(value, 'hex') from json_array_elements_text(${JSON.stringify(hashes)}::json)
        )`).pipe(
        Effect.map((rows) => {
          const found = new Map(rows.map((row) => [row.hash, toWebhook(row)]))
          return hashes.map((hash): Exit.Exit<Webhook, NotFound> => {
            const webhook = found.get(hash)
            return webhook ? Exit.succeed(webhook) : Exit.fail(new NotFound())
          })
        })
      )
  })
  const webhookByToken = (hash: TokenHash) => byToken(Buffer.from(hash).toString("hex"))

  const changeWebhook = Effect.fn("Repo.changeWebhook")(function* (id: WebhookId, change: WebhookChange, at: Date) {
    const { name, team, prompt_template, variables, timeout_seconds, max_concurrent, enabled } = change
    const rows = yield* sql<WebhookRow>`
      with changed as (
        update webhook_trigger.webhooks set
          name = coalesce(${name === undefined ? null : storable(name)}, name),
          team = coalesce(${team ?? null}, team),
          prompt_template = coalesce(${prompt_template === undefined ? null : storable(prompt_template)}, prompt_template),
          variables = coalesce(${variables === undefined ? null : JSON.stringify(variables)}::json, variables),
          timeout_seconds = case when ${timeout_seconds === undefined} then timeout_seconds
            else ${timeout_seconds ?? null}::int end,
          max_concurrent = case when ${max_concurrent === undefined} then max_concurrent
            else ${max_concurrent ?? null}::int end,
          enabled = coalesce(${enabled ?? null}::boolean, enabled),
          updated_at = ${at}
        where id = ${id}
        returning *
      ), ${told}
      select ${columns}, (select count(*) from told) from changed w`.pipe(
      Effect.catchTag("SqlError", (error) => (team === undefined ? Effect.fail(error) : teamUnknown(team)(error)))
    )
    return rows[0] ? toWebhook(rows[0]) : yield* new NotFound()
  }, bounded)

  const replaceToken = Effect.fn("Repo.replaceToken")(function* (
    id: WebhookId,
    token: { readonly hash: TokenHash; readonly hint: string },
    at: Date
  ) {
    const rows = yield* sql<WebhookRow>`
      with changed as (
        update webhook_trigger.webhooks set token_hash = ${token.hash}, token_hint = ${token.hint}, updated_at = ${at}
        where id = ${id}
        returning *
      ), ${told}
      select ${columns}, (select count(*) from told) from changed w`
    return rows[0] ? toWebhook(rows[0]) : yield* new NotFound()
  }, bounded)

  const removeSomeHistory = (id: WebhookId) =>
    bounded(sql<{ readonly removed: number }>`
      with removed as (
        delete from webhook_trigger.runs where id in (
          select id from webhook_trigger.runs
          where webhook_id = ${id} and status in ('success', 'error', 'timeout')
          limit ${runsInOneStep}
        ) returning 1
      )
      select count(*)::int as removed from removed`).pipe(Effect.map(([row]) => row?.removed ?? 0))

  const removeWithRuns = (id: WebhookId) =>
    bounded(sql<{ readonly removed: boolean; readonly unfinished: ReadonlyArray<RunId> }>`
      with hook as materialized (
        select id from webhook_trigger.webhooks where id = ${id} for update
      ), live as materialized (
        select r.id::text as name from webhook_trigger.runs r, hook
        where r.webhook_id = hook.id and r.status in ('queued', 'running')
      ), changed as (
        delete from webhook_trigger.webhooks where id in (select id from hook) returning id
      ), ${told}, ended as (
        with ${tell(sql, "RunEnded", sql`select name from live`)} select count(*) from told
      )
      select
        exists (select from changed) as removed,
        coalesce((select json_agg(name) from live), '[]') as unfinished,
        (select count(*) from told), (select * from ended)`).pipe(Effect.map((rows) => rows[0]!))

  const deleteWebhook = Effect.fn("Repo.deleteWebhook")(function* (id: WebhookId) {
    while ((yield* removeSomeHistory(id)) === runsInOneStep) {}
    const { removed, unfinished } = yield* removeWithRuns(id)
    return removed ? unfinished : yield* new NotFound()
  })

  return {
    createWebhook,
    webhooks: bounded(
      sql<WebhookRow>`select ${columns} from webhook_trigger.webhooks w order by lower(w.name) collate "C", w.id`
    ).pipe(
      Effect.map((rows) => rows.map(toWebhook)),
      Effect.withSpan("Repo.webhooks")
    ),
    webhook,
    webhookByToken,
    changeWebhook,
    replaceToken,
    deleteWebhook
  }
})
