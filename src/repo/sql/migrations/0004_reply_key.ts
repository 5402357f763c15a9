import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * What prompts are signed with: one row, made here, so that all replicas have the same. A database with teams is in use by
 * servers that do not sign, and that drop replies with a signature: they have an hour to be replaced.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table webhook_trigger.reply_key (
      one boolean primary key default true check (one),
      key bytea not null check (length(key) = 32),
      signed_from timestamptz not null
    )`
  // Each id has 122 random bits from the operating system.
  yield* sql`
    insert into webhook_trigger.reply_key (key, signed_from)
    select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')),
      case when exists (select from webhook_trigger.teams) then now() + interval '1 hour' else 'epoch' end`
})
