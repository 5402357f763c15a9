import { Context, DateTime, Effect, Layer, Struct } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import { EditConflict, NotFound, TeamUnknown, UrlShared } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { type OpenedWebhook, Webhook, type WebhookEdit, WebhookRow } from "../../domain/webhook/Webhook.ts"
import { audited, changedWebhookFields, webhookFields } from "../access/Audit.ts"
import { notify } from "../Changes.ts"
import { fromRow, hex, list, recordset, toColumns, uuids } from "../Columns.ts"
import { bounded, isDangling } from "../database/Database.ts"
import { final, isWaiting, live } from "../RunColumns.ts"
import { keepTemplate, makeTemplates } from "./Templates.ts"

/** A new webhook. */
export type NewWebhook = Omit<WebhookRow, "version">

/** Fields to overwrite; `null` removes an optional one. */
type WebhookChange = Omit<WebhookEdit, "secret" | "keep_old_secret"> &
  Partial<Pick<WebhookRow, "variables" | "token_hash" | "failures_since">> & {
    readonly token_hint?: string | null
    readonly next_scheduled_at?: DateTime.Utc | null
  } & OldToken &
  SecretChange & { readonly updated_at: DateTime.Utc }

type SecretField =
  | "sealed_secret"
  | "secret_hint"
  | "secret_set_at"
  | "old_sealed_secret"
  | "old_secret_hint"
  | "verified_at"

/** The secrets of callers' verification, and whether they exist. */
export type SecretChange = { readonly [Field in SecretField]?: WebhookRow[Field] | null }

/** There is no secret. */
export const noSecrets: { readonly [Field in SecretField]: null } = {
  sealed_secret: null,
  secret_hint: null,
  secret_set_at: null,
  old_sealed_secret: null,
  old_secret_hint: null,
  verified_at: null
}

type OldTokenField = Extract<keyof WebhookRow, `old_token_${string}`>

/** The previous token. */
type OldToken = { readonly [Field in OldTokenField]?: WebhookRow[Field] | null }

/** A webhook that shares the URL of another one. */
type SharingWebhook = Pick<Webhook, "name" | "team" | "input">

/** No previous token is valid. */
export const noOldToken: { readonly [Field in OldTokenField]: null } = {
  old_token_hash: null,
  old_token_hint: null,
  old_token_valid_until: null,
  old_token_used_at: null,
  old_token_used_from: null
}

/** A use of a replaced token that is still valid. */
export interface OldTokenUse {
  readonly webhook_id: WebhookId
  readonly old_token_hash: TokenHash
  readonly old_token_used_at: DateTime.Utc
  readonly old_token_used_from: string
}

/** The first verified request of a webhook's version. */
export interface FirstVerified extends Pick<WebhookRow, "version"> {
  readonly webhook_id: WebhookId
  readonly verified_at: DateTime.Utc
}

/** More runs are deleted in steps, so that no statement takes long. */
const runsInOneStep = 5_000

type RunOfTeam = Pick<Run, "run_id" | "team">

const rowFields = Object.keys(WebhookRow.fields)
const fields = Object.keys(Webhook.fields)
const columns = (names: ReadonlyArray<string>) => list(names.map((name) => `w.${name}`))

const webhookFromRow = (row: object): Webhook => fromRow(row, fields)
const useTypes = {
  webhook_id: "uuid",
  old_token_hash: "bytea",
  old_token_used_at: "timestamptz",
  old_token_used_from: "text"
} as const satisfies { readonly [Field in keyof OldTokenUse]: string }

const verifiedTypes = {
  webhook_id: "uuid",
  version: "integer",
  verified_at: "timestamptz"
} as const satisfies { readonly [Field in keyof FirstVerified]: string }

/**
 * The webhooks, for management and for authentication by token. With a draft, a change writes its audit event in the
 * same commit: what people had set before and after, without secrets. A new template is stored with its author.
 */
export class WebhookStore extends Context.Service<WebhookStore>()("webhook-trigger/WebhookStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const stored = columns(rowFields)
    /** A webhook as the API shows it, from `webhooks` as `w`. */
    const shown = sql`${columns(fields.filter((name) => rowFields.includes(name)))}, (
        select r.accepted_at from webhook_trigger.runs r where r.webhook_id = w.id order by r.seq desc limit 1
      ) as last_triggered_at`
    const notified = notify(sql, "WebhookChanged", sql`select id::text as name from changed`)

    /**
     * Runs the parts of a `with` query whose part `changed` writes one webhook, and returns its row; none: no such
     * webhook.
     */
    const write = (parts: Statement.Fragment, team: TeamName | undefined, audit: AuditDraft | undefined) =>
      sql`
        with ${parts}, bucket as (
          insert into webhook_trigger.webhook_rates (webhook_id)
          select id from changed where coalesce(rate, max_runs_per_day::text, max_cost_per_day::text) is not null
          on conflict do nothing
        ), ${keepTemplate(sql, audit)}, ${notified}
        select ${shown}, (select count(*) from notified) from changed w`.pipe(
        Effect.catchTag(
          "SqlError",
          (error): Effect.Effect<never, SqlError.SqlError | TeamUnknown> =>
            Effect.fail(team !== undefined && isDangling(error) ? new TeamUnknown({ team }) : error)
        )
      )

    const createWebhook = Effect.fn("WebhookStore.createWebhook")(function* (webhook: NewWebhook, audit?: AuditDraft) {
      const event = sql`select id::text as object, null as before, ${webhookFields(sql, "changed")} as after from changed`
      const [row] = yield* write(
        sql`changed as (
            insert into webhook_trigger.webhooks ${sql.insert(toColumns(webhook))} returning *
          ), ${audited(sql, audit, event)}`,
        webhook.team,
        audit
      )
      return webhookFromRow(row!)
    }, bounded)

    const edited = sql`
      select changed.id::text as object, ${changedWebhookFields(sql, "earlier", "changed")} as before,
        ${changedWebhookFields(sql, "changed", "earlier")} as after
      from changed join earlier using (id)`

    const isOneOf = (versions: ReadonlyArray<number> | undefined) =>
      versions === undefined
        ? sql`true`
        : sql`version in (select value::bigint from json_array_elements_text(${JSON.stringify(versions)}::json))`

    /** Nothing was changed in this webhook: it does not exist, or has another version. */
    const unchanged = Effect.fnUntraced(function* (id: WebhookId) {
      const { version } = yield* webhookRow(id)
      return yield* new EditConflict({ version })
    })

    /** Changes it, and gives it a new version. With `versions`, only if it has one of these. */
    const updateWebhook = Effect.fn("WebhookStore.updateWebhook")(function* (
      id: WebhookId,
      change: WebhookChange,
      { versions, audit }: { readonly versions?: ReadonlyArray<number> | undefined; readonly audit?: AuditDraft } = {}
    ) {
      const [row] = yield* write(
        sql`earlier as materialized (
            select * from webhook_trigger.webhooks where id = ${id} and ${isOneOf(versions)} for update
          ), changed as (
            update webhook_trigger.webhooks w set ${sql.update(toColumns(change))}, version = w.version + 1
            from earlier where w.id = earlier.id returning w.*
          ), ${audited(sql, audit, edited)}`,
        change.team,
        audit
      )
      return row ? webhookFromRow(row) : yield* unchanged(id)
    }, bounded)

    /** Pauses an enabled webhook that still has this version. Returns whether it did. The pause is a new version. */
    const pauseWebhook = Effect.fn("WebhookStore.pauseWebhook")(function* (
      id: WebhookId,
      { at, reason, version }: { readonly version: number; readonly at: DateTime.Utc; readonly reason: string },
      audit?: AuditDraft
    ) {
      const rows = yield* sql`
        with earlier as materialized (
          select * from webhook_trigger.webhooks
          where id = ${id} and version = ${version} and enabled and paused_at is null for update
        ), changed as (
          update webhook_trigger.webhooks w set paused_at = ${DateTime.toDateUtc(at)}, paused_by = 'automatic',
            paused_reason = ${reason}, version = w.version + 1
          from earlier where w.id = earlier.id returning w.*
        ), ${audited(sql, audit, edited)}, ${notified}
        select (select count(*) from notified) from changed`
      return rows.length > 0
    }, bounded)

    /**
     * Resumes a paused webhook as a new version, and returns whether it was paused. The runs kept meanwhile join their lane, and
     * earlier failures count no longer.
     */
    const resumeWebhook = Effect.fn("WebhookStore.resumeWebhook")(function* (
      id: WebhookId,
      time: DateTime.Utc,
      audit?: AuditDraft
    ) {
      const at = DateTime.toDateUtc(time)
      const rows = yield* sql`
        with earlier as materialized (
          select * from webhook_trigger.webhooks where id = ${id} and paused_at is not null for update
        ), changed as (
          update webhook_trigger.webhooks w set paused_at = null, paused_by = null, paused_reason = null,
            failures_since = ${at}, version = w.version + 1
          from earlier where w.id = earlier.id returning w.*
        ), kept as materialized (
          select r.id, greatest(${at}, r.held_until) as until from webhook_trigger.runs r
          where r.held_for = 'webhook_paused' and r.webhook_id in (select id from changed)
          order by r.id for no key update
        ), waiting as (
          -- Its deadline is counted from its time, or its acceptance, if it has none.
          update webhook_trigger.runs r set held_for = 'time', held_until = kept.until,
            deadline_at = kept.until + (r.deadline_at - coalesce(r.held_until, r.accepted_at))
          from kept where r.id = kept.id
        ), ${audited(sql, audit, edited)}, ${notified}
        select (select count(*) from notified) from changed`
      return rows.length > 0
    }, bounded)

    const webhook = Effect.fn("WebhookStore.webhook")(function* (id: WebhookId) {
      const [row] = yield* sql`select ${shown} from webhook_trigger.webhooks w where w.id = ${id}`
      return row ? webhookFromRow(row) : yield* new NotFound()
    }, bounded)

    /** All webhooks, by name. */
    const webhooks = bounded(
      sql`select ${shown} from webhook_trigger.webhooks w order by lower(w.name) collate "C", w.id`
    ).pipe(
      Effect.map((rows) => rows.map(webhookFromRow)),
      Effect.withSpan("WebhookStore.webhooks")
    )

    /**
     * The webhooks of the tokens that are valid at that time, in the order of the hashes, disabled ones too; `undefined`:
     * none. The `token_hash` of each is the one it was found by, even if that is its old one.
     *
     * Reads no other table, so an unknown token is refused even while the runs are locked.
     */
    const webhooksByToken = Effect.fn("WebhookStore.webhooksByToken")(function* (
      hashes: ReadonlyArray<TokenHash>,
      now: DateTime.Utc
    ) {
      const keys = hashes.map(hex)
      const tokens = sql`select decode(value, 'hex') from json_array_elements_text(${JSON.stringify(keys)}::json)`
      const rows = yield* sql<{ readonly opened_by: TokenHash | null }>`
        with opened as (
          select w.*, w.token_hash as opened_by from webhook_trigger.webhooks w
          where w.token_hash in (${tokens})
          union all
          select w.*, w.old_token_hash as opened_by from webhook_trigger.webhooks w
          where w.old_token_hash in (${tokens}) and w.old_token_valid_until > ${DateTime.toDateUtc(now)}
        )
        select ${stored}, w.opened_by from opened w
        union all
        select ${stored}, null from webhook_trigger.webhooks w
        where w.shares = any(array(select id from opened)) and w.enabled
        order by id`
      const found = new Map<string, OpenedWebhook>()
      const sharing = rows
        .filter(({ opened_by }) => opened_by === null)
        .map((row) => fromRow<WebhookRow>(row, rowFields))
      for (const { opened_by, ...row } of rows) {
        if (opened_by === null) continue
        const webhook = fromRow<WebhookRow>({ ...row, token_hash: opened_by }, rowFields)
        const shared_by = sharing.flatMap((other) =>
          other.shares === webhook.id ? [{ ...other, ...Struct.pick(webhook, ["verification"]) }] : []
        )
        found.set(hex(webhook.token_hash), shared_by.length === 0 ? webhook : { ...webhook, shared_by })
      }
      return keys.map((key) => found.get(key))
    }, bounded)

    /** The webhooks that share its URL, disabled ones too, by name. */
    const sharing = Effect.fn("WebhookStore.sharing")(function* (id: WebhookId) {
      const rows = yield* sql`
        select w.name, w.team, w.input from webhook_trigger.webhooks w where w.shares = ${id} order by w.name, w.id`
      return rows.map((row) => fromRow<SharingWebhook>(row))
    }, bounded)

    /** For an admin, who may trigger a webhook without its token. */
    const webhookRow = Effect.fn("WebhookStore.webhookRow")(function* (id: WebhookId) {
      const [row] = yield* sql`select ${stored} from webhook_trigger.webhooks w where w.id = ${id}`
      return row ? fromRow<WebhookRow>(row, rowFields) : yield* new NotFound()
    }, bounded)

    /** Records the last use of an old token. This does not change the webhook's version. */
    const oldTokensUsed = Effect.fn("WebhookStore.oldTokensUsed")(function* (uses: ReadonlyArray<OldTokenUse>) {
      yield* sql`
        update webhook_trigger.webhooks w
        set old_token_used_at = i.old_token_used_at, old_token_used_from = i.old_token_used_from
        from ${recordset(sql, useTypes, uses)}
        where w.id = i.webhook_id and w.old_token_hash = i.old_token_hash`
    }, bounded)

    /**
     * Sets `verified_at` of webhooks that have none and are still in that version. The version does not change, but
     * others are notified.
     */
    const verified = Effect.fn("WebhookStore.verified")(function* (first: ReadonlyArray<FirstVerified>) {
      yield* sql`
        with changed as (
          update webhook_trigger.webhooks w set verified_at = i.verified_at
          from ${recordset(sql, verifiedTypes, first)}
          where w.id = i.webhook_id and w.version = i.version and w.verified_at is null
          returning w.id
        ), ${notified}
        select count(*) from notified`
    }, bounded)

    /** At most `limit` webhooks whose `schedule` should have triggered them by now, disabled ones too, the longest due first. */
    const scheduled = Effect.fn("WebhookStore.scheduled")(function* (
      now: DateTime.Utc,
      { except, limit }: { readonly limit: number; readonly except: ReadonlyArray<WebhookId> }
    ) {
      const rows = yield* sql`
        select ${stored} from webhook_trigger.webhooks w
        where w.next_scheduled_at <= ${DateTime.toDateUtc(now)} and w.id <> all (${uuids(sql, except)})
        order by w.next_scheduled_at limit ${limit}`
      return rows.map((row) => fromRow<WebhookRow>(row, rowFields))
    }, bounded)

    /** Sets when it is triggered next, if that is still due as `webhook` says. Its version does not change. */
    const schedule = Effect.fn("WebhookStore.schedule")(function* (
      { id, next_scheduled_at, schedule }: WebhookRow,
      next: DateTime.Utc | undefined
    ) {
      yield* sql`
        update webhook_trigger.webhooks set next_scheduled_at = ${next ? DateTime.toDateUtc(next) : null}
        where id = ${id} and schedule = ${schedule!} and next_scheduled_at = ${DateTime.toDateUtc(next_scheduled_at!)}`
    }, bounded)

    const { template, templates } = makeTemplates(sql)

    /** Deletes some of the runs of a webhook that has one of these versions. Those that another process has just changed stay. */
    const deleteSome = (id: WebhookId, versions: ReadonlyArray<number> | undefined, which: Statement.Fragment) => sql`
      delete from webhook_trigger.runs where id = any (array(
        select id from webhook_trigger.runs
        where webhook_id = ${id} and ${which}
          and exists (select from webhook_trigger.webhooks where id = ${id} and ${isOneOf(versions)})
        limit ${runsInOneStep}
      )) and ${which}
      returning id::text as name, team`

    const deleteSomeHistory = (id: WebhookId, versions: ReadonlyArray<number> | undefined) =>
      bounded(sql<{ readonly deleted: number }>`
        with deleted as (${deleteSome(id, versions, sql`status in ${final}`)})
        select count(*)::int as deleted from deleted`).pipe(Effect.map(([row]) => row?.deleted ?? 0))

    const deleteSomeQueued = (id: WebhookId, versions: ReadonlyArray<number> | undefined) =>
      sql<RunOfTeam>`
        with deleted as (${deleteSome(id, versions, isWaiting)}),
        ${notify(sql, "RunEnded", sql`select name from deleted`)}
        select name as run_id, team from deleted where (select count(*) from notified) > 0`

    const deletion = sql`select id::text as object, ${webhookFields(sql, "changed")} as before, null as after from changed`
    const deleteWithRuns = (
      id: WebhookId,
      versions: ReadonlyArray<number> | undefined,
      audit: AuditDraft | undefined
    ) =>
      sql<{ readonly deleted: boolean; readonly unfinished: ReadonlyArray<RunOfTeam> }>`
        with webhook as materialized (
          select id from webhook_trigger.webhooks where id = ${id} and ${isOneOf(versions)} for update
        ), live as materialized (
          select r.id::text as name, r.team, r.admitted_at, r.place from webhook_trigger.runs r, webhook
          where r.webhook_id = webhook.id and r.status in ${live}
        ), changed as (
          delete from webhook_trigger.webhooks where id in (select id from webhook) returning *
        ), ${audited(sql, audit, deletion)}, ${notified}, ${notify(sql, "RunEnded", sql`select name from live`, "ended")}
        select
          exists (select from changed) as deleted,
          coalesce((
            select json_agg(json_build_object('run_id', name, 'team', team) order by admitted_at, place) from live
          ), '[]') as unfinished,
          (select count(*) from notified), (select count(*) from ended)`.pipe(
        Effect.catchTag(
          "SqlError",
          (error): Effect.Effect<never, SqlError.SqlError | UrlShared> =>
            Effect.fail(isDangling(error) ? new UrlShared({ detail: "A webhook shares its URL now." }) : error)
        ),
        Effect.map(([row]) => row!)
      )

    /**
     * Removes the webhook and its runs. Returns the unfinished ones, those first that were sent. With `versions`, only if it
     * has one of these; its ended runs may be removed although an edit comes in between. `UrlShared`: another webhook has
     * begun to share its URL.
     */
    const deleteWebhook = Effect.fn("WebhookStore.deleteWebhook")(function* (
      id: WebhookId,
      {
        audit,
        versions
      }: { readonly versions?: ReadonlyArray<number> | undefined; readonly audit?: AuditDraft | undefined } = {}
    ) {
      while ((yield* deleteSomeHistory(id, versions)) === runsInOneStep) {}
      return yield* Effect.gen(function* () {
        const queued: Array<RunOfTeam> = []
        let isMore = true
        while (isMore) {
          const some = yield* deleteSomeQueued(id, versions)
          queued.push(...some)
          isMore = some.length > 0
        }
        const { deleted, unfinished } = yield* deleteWithRuns(id, versions, audit)
        return deleted ? [...unfinished, ...queued] : yield* unchanged(id)
      }).pipe(sql.withTransaction, bounded)
    })

    return {
      createWebhook,
      webhooks,
      webhook,
      webhooksByToken,
      sharing,
      webhookRow,
      templates,
      template,
      oldTokensUsed,
      verified,
      scheduled,
      schedule,
      updateWebhook,
      pauseWebhook,
      resumeWebhook,
      deleteWebhook
    }
  })
}) {
  static readonly layer = Layer.effect(WebhookStore, WebhookStore.make)
}
