/**
 * Databases in memory for tests. Opening one takes a second, and emptying it three milliseconds. So a process keeps them,
 * and a test gets one that the tests before have left.
 */
import { setImmediate } from "node:timers/promises"
import type { PGlite } from "@electric-sql/pglite"
import { type Clock, Context, Effect, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Notifications } from "./Notifications.ts"
import { connect, open } from "./PgliteDatabase.ts"
import type { PgliteSocket } from "./PgliteSocket.ts"

/** `TestClock` moves the database's clock: PostgreSQL searches this schema's functions before its own. */
const clockFunctions = `
  create schema testing;
  create function testing.clock_timestamp() returns timestamptz language sql as $$
    select coalesce(
      to_timestamp(nullif(current_setting('testing.time', true), '')::float8 / 1000), pg_catalog.clock_timestamp())
  $$;
  create function testing.now() returns timestamptz language sql as $$ select testing.clock_timestamp() $$;
  set search_path = testing, pg_catalog, public`

/**
 * Makes `testing.restore()`, which leaves the rows that are there now, unless the database has it already. Rows go before
 * those that they refer to: without foreign keys (`session_replication_role`), PostgreSQL forgets all plans, and planning
 * takes ten times as long as running. Truncating would take twenty times as long: it gives each table and index new files.
 */
export const makeRestore = `
  do $do$
  declare
    one record; has_rows boolean;
    deletes text := ''; inserts text := '';
  begin
    if to_regprocedure('testing.restore()') is not null then return; end if;
    create schema if not exists testing;
    for one in
      with recursive levels as (
        select c.oid as id, 0 as level from pg_class c
        where c.relnamespace = 'webhook_trigger'::regnamespace and c.relkind = 'r'
        union all
        select f.conrelid, l.level + 1 from levels l join pg_constraint f on f.confrelid = l.id and f.conrelid <> l.id
      )
      select id::regclass::text as name, format('testing."%s"', id) as kept from levels group by id order by max(level) desc
    loop
      deletes := deletes || format('delete from %s;', one.name);
      execute format('select exists (select from %s)', one.name) into has_rows;
      if has_rows then
        execute format('create table %s as table %s', one.kept, one.name);
        inserts := format('insert into %s table %s;', one.name, one.kept) || inserts;
      end if;
    end loop;
    execute format(
      'create function testing.restore() returns void language plpgsql as $$ begin %s %s end $$', deletes, inserts);
  end $do$`

/** The sessions of all databases. */
const sockets: Array<PgliteSocket> = []

interface TestDatabase {
  readonly services: Context.Context<SqlClient.SqlClient | Notifications>
  /** The clock of the test that has it. */
  clock: Clock.Clock
}

/** Sets the database's clock, if the test has a `TestClock`. Otherwise, it is the system's. */
const setClock = (db: PGlite, clockOf: () => Clock.Clock) => {
  let time: number | undefined
  return () => {
    const clock = clockOf()
    const given = "adjust" in clock ? clock.currentTimeMillisUnsafe() : undefined
    if (given === time) return undefined
    time = given
    return db.query("select set_config('testing.time', $1, false)", [`${given ?? ""}`])
  }
}

/** It stays open for as long as the process. */
const create = (clock: Clock.Clock): Effect.Effect<TestDatabase> =>
  Effect.gen(function* () {
    const db = yield* Effect.orDie(open(undefined))
    yield* Effect.promise(() => db.exec(clockFunctions))
    const current = { clock }
    const { services, socket } = yield* connect(db, { before: setClock(db, () => current.clock) })
    sockets.push(socket)
    yield* Effect.promise(() => db.exec(makeRestore))
    return Object.assign(current, { services })
  }).pipe(Scope.provide(Effect.runSync(Scope.make())))

const idle: Array<TestDatabase> = []

/** A database without rows, for one test at a time. Its clock is that of the effect which builds the layer. */
export const layer: Layer.Layer<SqlClient.SqlClient | Notifications> = Layer.effectContext(
  Effect.acquireRelease(
    Effect.clockWith((clock) => {
      const database = idle.pop()
      if (database === undefined) return create(clock)
      database.clock = clock
      const sql = Context.get(database.services, SqlClient.SqlClient)
      return Effect.as(Effect.orDie(sql`select testing.restore()`), database)
    }),
    (database) => Effect.sync(() => idle.push(database))
  ).pipe(Effect.map(({ services }) => services))
)

/** Turns of the event loop without a statement, after which none is expected to follow. */
const turns = 10

/** Waits until no statement runs, and none follows. */
export const settled: Effect.Effect<void> = Effect.promise(async () => {
  for (let quiet = 0; quiet < turns; quiet = sockets.every(({ isIdle }) => isIdle) ? quiet + 1 : 0) await setImmediate()
})
