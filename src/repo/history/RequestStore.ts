import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { ReceivedRequest, RequestKind } from "../../domain/request/ReceivedRequest.ts"
import type { TeamName } from "../../domain/Team.ts"
import { isTeamOf } from "../access/Ownership.ts"
import { notify } from "../Changes.ts"
import { type ColumnTypes, fromRow, list, recordset, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

/** How many requests of a webhook were ignored in a period that begins then. */
interface IgnoredCount {
  readonly webhook_id: WebhookId
  readonly begins_at: DateTime.Utc
  readonly count: number
}

const types = {
  request_id: "uuid",
  webhook_id: "uuid",
  team: "text",
  received_at: "timestamptz",
  status: "integer",
  code: "text",
  detail: "text",
  client_address: "text",
  size: "bigint",
  run_id: "uuid",
  body: "text",
  headers: "json",
  query: "json",
  repeats: "integer"
} as const satisfies { readonly [Field in keyof ReceivedRequest]-?: string } & ColumnTypes

const names = Object.keys(types) as ReadonlyArray<keyof typeof types>
const columns = names.map((name) => (name === "size" ? "size::float8 as size" : name))
const values = list(names.map((name) => (types[name] === "json" ? `i.${name}::json` : `i.${name}`)))
/** Columns that a list leaves out. */
const isLong = (column: string) => column === "headers" || column === "query" || column === "body"

/** As `kindOf`. */
const kind = "case when code in ('accepted', 'ignored') then code else 'refused' end"

const countTypes = {
  webhook_id: "uuid",
  begins_at: "timestamptz",
  count: "bigint"
} as const satisfies { readonly [Field in keyof IgnoredCount]: string } & ColumnTypes

/** Requests as they came, for people to read: the newest few of each webhook. */
export class RequestStore extends Context.Service<RequestStore>()("webhook-trigger/RequestStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** Leaves out requests of deleted webhooks. Per webhook, keeps the newest of each kind. */
    const recordRequests = Effect.fn("RequestStore.recordRequests")(function* (
      requests: ReadonlyArray<ReceivedRequest>,
      keep: { readonly [Kind in RequestKind]: number }
    ) {
      const webhooks = uuids(
        sql,
        requests.map(({ webhook_id }) => webhook_id)
      )
      // The lock keeps a webhook from being deleted in between, which would make the insert fail.
      yield* sql`
        with known as materialized (
          select id from webhook_trigger.webhooks where id = any (${webhooks}) order by id for key share
        ), stored as (
          insert into webhook_trigger.requests (${list(names)})
          select ${values} from ${recordset(sql, types, requests)}
          where i.webhook_id in (select id from known)
          returning webhook_id::text as name
        ), ${notify(sql, "RequestsStored", sql`select name from stored`)}
        select count(*) from notified`
      yield* sql`
        delete from webhook_trigger.requests where request_id = any (array(
          select old.request_id from unnest(${webhooks}) as w(id), lateral (
            select r.request_id, row_number() over (partition by ${list([kind])} order by r.request_id desc) as place,
              ${list([kind])} as kind
            from webhook_trigger.requests r where r.webhook_id = w.id
          ) old where old.place > (${JSON.stringify(keep)}::jsonb ->> old.kind)::bigint
        ))`
    }, bounded)

    /**
     * A webhook's requests since then, newest first, without headers and query, and with this many characters of a
     * body; only those that came while it was in one of the teams `owners`, if given.
     */
    const requests = Effect.fn("RequestStore.requests")(function* (
      id: WebhookId,
      since: DateTime.Utc,
      {
        kinds,
        owners,
        shown
      }: {
        readonly kinds: ReadonlyArray<RequestKind>
        readonly shown: number
        readonly owners?: ReadonlyArray<TeamName>
      }
    ) {
      const rows = yield* sql`
        select ${list(columns.filter((column) => !isLong(column)))}, left(body, ${shown}) as body
        from webhook_trigger.requests
        where webhook_id = ${id} and received_at >= ${DateTime.toDateUtc(since)}
          and ${list([kind])} = any (${kinds}) and ${isTeamOf(sql, "team", owners)}
        order by request_id desc`
      return rows.map((row) => fromRow<ReceivedRequest>(row))
    }, bounded)

    /** One of them, in full. */
    const request = Effect.fn("RequestStore.request")(function* (
      id: WebhookId,
      request_id: string,
      owners?: ReadonlyArray<TeamName>
    ) {
      const [row] = yield* sql`
        select ${list(columns)} from webhook_trigger.requests
        where request_id = ${request_id} and webhook_id = ${id} and ${isTeamOf(sql, "team", owners)}`
      return row === undefined ? yield* new NotFound() : fromRow<ReceivedRequest>(row)
    }, bounded)

    /** Adds to the counts of ignored requests. Leaves out deleted webhooks. At most one of each webhook and period. */
    const countIgnored = Effect.fn("RequestStore.countIgnored")(function* (counts: ReadonlyArray<IgnoredCount>) {
      const webhooks = uuids(
        sql,
        counts.map(({ webhook_id }) => webhook_id)
      )
      yield* sql`
        with known as materialized (
          select id from webhook_trigger.webhooks where id = any (${webhooks}) order by id for key share
        )
        insert into webhook_trigger.ignored_counts as c (webhook_id, begins_at, count)
        select i.webhook_id, i.begins_at, i.count from ${recordset(sql, countTypes, counts)}
        where i.webhook_id in (select id from known)
        order by i.webhook_id, i.begins_at
        on conflict (webhook_id, begins_at) do update set count = c.count + excluded.count`
    }, bounded)

    /** The number of a webhook's ignored requests, in the periods that began since then. */
    const ignored = Effect.fn("RequestStore.ignored")(function* (id: WebhookId, since: DateTime.Utc) {
      const [row] = yield* sql<{ readonly count: number }>`
        select coalesce(sum(count), 0)::float8 as count from webhook_trigger.ignored_counts
        where webhook_id = ${id} and begins_at >= ${DateTime.toDateUtc(since)}`
      return row!.count
    }, bounded)

    /** Removes all requests and counts from before that time. */
    const forgetRequests = Effect.fn("RequestStore.forgetRequests")(function* (before: DateTime.Utc) {
      yield* sql`delete from webhook_trigger.requests where received_at < ${DateTime.toDateUtc(before)}`
      yield* sql`delete from webhook_trigger.ignored_counts where begins_at < ${DateTime.toDateUtc(before)}`
    }, bounded)

    return { recordRequests, requests, request, countIgnored, ignored, forgetRequests }
  })
}) {
  static readonly layer = Layer.effect(RequestStore, RequestStore.make)
}
