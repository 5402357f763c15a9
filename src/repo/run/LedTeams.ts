/** The teams whose leaders over HTTP are present. */
import { DateTime, Duration } from "effect"
import type { SqlClient, Statement } from "effect/sql"

/** How long a leader is silent until its team counts as stopped, which is later, so that another one can take its place. */
export const absentAfter = Duration.seconds(8)

export const timeOf = (sql: SqlClient.SqlClient, time: DateTime.Utc) => sql`${DateTime.toDateUtc(time)}::timestamptz`

/** The leader of `h` is present. */
export const isLed = (sql: SqlClient.SqlClient, now: Statement.Fragment) => sql`(
  h.leader is not null and h.seen_at > ${now} - ${sql.literal(`interval '${Duration.toSeconds(absentAfter)} seconds'`)}
  and exists (select from webhook_trigger.leader_keys k where k.id = h.key_id)
)`

/** `HttpLeaderStore.ledTeams`. */
export const ledTeams = (sql: SqlClient.SqlClient, now: Statement.Fragment): Statement.Fragment =>
  sql`select h.team from webhook_trigger.http_leaders h where ${isLed(sql, now)}`
