import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

/** The key that signs prompts, so that only a recipient of a prompt can reply. */
interface ReplyKey {
  /** 32 bytes, the same for all replicas, from the first start on. */
  readonly key: Uint8Array
}

/** The key that signs prompts. */
export class ReplyKeyStore extends Context.Service<ReplyKeyStore>()("webhook-trigger/ReplyKeyStore", {
  make: Effect.map(SqlClient.SqlClient, (sql) => ({
    replyKey: bounded(sql`select key from webhook_trigger.reply_key`).pipe(
      Effect.map(([row]) => fromRow<ReplyKey>(row!)),
      Effect.withSpan("ReplyKeyStore.replyKey")
    )
  }))
}) {
  static readonly layer = Layer.effect(ReplyKeyStore, ReplyKeyStore.make)
}
