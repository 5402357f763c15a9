import type { SqlClient, Statement } from "@effect/sql"
import { Context, type Effect, type Scope } from "effect"

/** Of our locks among the advisory locks of the database; any number, the same in every process. */
export const lockClass = 716_655_320

/**
 * Advisory locks of a database session of this process: they end with the process, whatever ends it. `PostgresClient.layer`
 * and `PostgresNotifications.layer` come with it; without it there are none.
 */
export class SessionLocks extends Context.Tag("webhook-trigger/SessionLocks")<
  SessionLocks,
  {
    /**
     * Holds the lock of this number until the scope closes, unless another session has it. Returns whether it is held now: not
     * while there is no session, which is replaced when it breaks.
     */
    readonly hold: (id: number) => Effect.Effect<() => boolean, never, Scope.Scope>
  }
>() {}

/**
 * No session holds the lock. Where sessions are shared, as by PgBouncer, the asking one may be the holder's, and would get the
 * lock again: so it is looked for as well, which takes longer than the attempt.
 */
export const isFree = (sql: SqlClient.SqlClient, id: Statement.Fragment): Statement.Fragment => sql`
  case when pg_try_advisory_xact_lock_shared(${sql.literal(String(lockClass))}, ${id}) then not exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.mode = 'ExclusiveLock'
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = ${sql.literal(String(lockClass))}::oid and l.objid = ${id}::oid and l.objsubid = 2
  ) else false end`
