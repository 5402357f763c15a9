import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { type ReplyKey, ReplyKeyStore } from "./ReplyKeyStore.ts"

export const layer: Layer.Layer<ReplyKeyStore, never, SqlClient.SqlClient> = Layer.effect(
  ReplyKeyStore,
  Effect.map(SqlClient.SqlClient, (sql) =>
    ReplyKeyStore.of({
      replyKey: bounded(sql`select key from webhook_trigger.reply_key`).pipe(
        Effect.map(([row]) => fromRow<ReplyKey>(row!)),
        Effect.withSpan("ReplyKeyStore.replyKey")
      )
    })
  )
)
