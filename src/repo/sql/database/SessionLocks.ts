import type { SqlClient, Statement } from "@effect/sql"
import { Context, type Effect, type Scope } from "effect"

/** Separates our locks from the database's other advisory locks: an arbitrary number, the same in every process. */
export const lockClass = 716_655_320

/**
 * Advisory locks of a database session of this process, which end with the process in any case. `PostgresClient.layer`
 * and `PostgresNotifications.layer` provide them; otherwise there are none.
 */
export class SessionLocks extends Context.Tag("webhook-trigger/SessionLocks")<
  SessionLocks,
  {
    /**
     * Holds the lock with this number until the scope closes, unless another session has it. Returns a check of whether
     * it is held now. It is not held while a broken session is being replaced.
     */
    readonly hold: (id: number) => Effect.Effect<() => boolean, never, Scope.Scope>
  }
>() {}

/**
 * Whether no session holds the lock. If sessions are shared, as with PgBouncer, the asking session may be the holder's,
 * and would get the lock again. So the list of locks is read too, which takes longer than the attempt.
 */
export const isFree = (sql: SqlClient.SqlClient, id: Statement.Fragment): Statement.Fragment => sql`
  case when pg_try_advisory_xact_lock_shared(${sql.literal(String(lockClass))}, ${id}) then not exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.mode = 'ExclusiveLock'
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = ${sql.literal(String(lockClass))}::oid and l.objid = ${id}::oid and l.objsubid = 2
  ) else false end`
