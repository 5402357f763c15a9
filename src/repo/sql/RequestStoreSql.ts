import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer } from "effect"
import type { WebhookId } from "../../domain/Id.ts"
import { ReceivedRequest } from "../../domain/ReceivedRequest.ts"
import { RequestStore } from "../RequestStore.ts"
import { type ColumnTypes, fromRow, list, recordset, uuids } from "./Columns.ts"
import { bounded } from "./Database.ts"

const fields = Object.keys(ReceivedRequest.fields)

const types: ColumnTypes = {
  request_id: "uuid",
  webhook_id: "uuid",
  received_at: "timestamptz",
  status: "integer",
  code: "text",
  detail: "text",
  client_address: "text",
  size: "bigint",
  body: "text",
  repeats: "integer"
}

export const layer: Layer.Layer<RequestStore, never, SqlClient.SqlClient> = Layer.effect(
  RequestStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const names = Object.keys(types)

    const recordRequests = Effect.fn("RequestStore.recordRequests")(function* (
      requests: ReadonlyArray<ReceivedRequest>,
      keep: number
    ) {
      const webhooks = uuids(
        sql,
        requests.map(({ webhook_id }) => webhook_id)
      )
      // The lock keeps a webhook from being deleted in between, which would fail all.
      yield* sql`
        with known as materialized (
          select id from webhook_trigger.webhooks where id = any (${webhooks}) order by id for key share
        )
        insert into webhook_trigger.requests (${list(names)})
        select ${list(names.map((name) => `i.${name}`))} from ${recordset(sql, types, requests)}
        where i.webhook_id in (select id from known)`
      yield* sql`
        delete from webhook_trigger.requests where request_id = any (array(
          select old.request_id from unnest(${webhooks}) as w(id), lateral (
            select r.request_id from webhook_trigger.requests r where r.webhook_id = w.id
            order by r.request_id desc offset ${keep}
          ) old
        ))`
    }, bounded)

    const requests = Effect.fn("RequestStore.requests")(function* (id: WebhookId, since: DateTime.Utc) {
      const rows = yield* sql`
        select ${list(names.filter((name) => name !== "size"))}, size::float8 as size from webhook_trigger.requests
        where webhook_id = ${id} and received_at >= ${DateTime.toDateUtc(since)}
        order by request_id desc`
      return rows.map((row) => fromRow<ReceivedRequest>(row, fields))
    }, bounded)

    const forgetRequests = Effect.fn("RequestStore.forgetRequests")(function* (before: DateTime.Utc) {
      yield* sql`delete from webhook_trigger.requests where received_at < ${DateTime.toDateUtc(before)}`
    }, bounded)

    return RequestStore.of({ recordRequests, requests, forgetRequests })
  })
)
