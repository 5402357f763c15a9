import { Effect, Option, Queue, Redacted } from "effect"
import { causeOf, readOnly } from "../../repo/database/Database.ts"
import { openSession, type Session } from "../../repo/database/Driver.ts"
import { advice, sessionOf } from "../../repo/database/PostgresAddress.ts"
import { type Examined, failedAt, oneLine, passed } from "./Check.ts"

const names = [
  "database reached",
  "database signed in",
  "database version",
  "database rights",
  "database notifications"
]
const [reached, signedIn, version, rights, notifications] = [0, 1, 2, 3, 4]

/** How long a notification may take, in milliseconds. */
const notifiedWithin = 3_000

/** PostgreSQL 15, the first with `nulls not distinct`. */
const leastVersion = 150_000

interface Facts {
  readonly version: string
  readonly version_number: number
  readonly user: string
  readonly database: string
  readonly is_replica: boolean
  readonly read_only: string
  readonly may_create: boolean
  /** The owner of the schema of our tables, if it exists. */
  readonly owner: string | null
  readonly is_owner: boolean | null
}

const facts = `
  select current_setting('server_version') as version, current_setting('server_version_num')::int as version_number,
    current_user as user, current_database() as database, pg_is_in_recovery() as is_replica,
    ${readOnly} as read_only,
    has_database_privilege(current_database(), 'create') as may_create,
    n.nspowner::regrole::text as owner, pg_has_role(n.nspowner, 'usage') as is_owner
  from (select) as always left join pg_namespace n on n.nspname = 'webhook_trigger'`

const refused = (error: unknown, place: string): Examined => {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  const text = oneLine(String(message === "" || message === undefined ? code : message))
  const help = advice(error)
  if (help !== undefined) return failedAt(names, reached, `${place}: ${text}`, help)
  switch (code) {
    case "28P01":
    case "28000":
      return failedAt(names, signedIn, text, "Correct the user and the password in DATABASE_URL, or pg_hba.conf.", [
        place
      ])
    case "3D000":
      return failedAt(names, signedIn, text, "Create the database that DATABASE_URL names, with createdb.", [place])
    case "42501":
      return failedAt(names, signedIn, text, "Grant the user in DATABASE_URL the right to connect.", [place])
    case "53300":
      return failedAt(names, signedIn, text, "Raise max_connections of PostgreSQL, or close other connections.", [
        place
      ])
    default:
      return failedAt(
        names,
        reached,
        `${place}: ${text}`,
        "Check that PostgreSQL runs, and the host, the port and the TLS parameters in DATABASE_URL."
      )
  }
}

const judged = (found: Facts, place: string): Examined => {
  const { database, is_owner, is_replica, may_create, owner, read_only, user } = found
  const known = [place, user, found.version]
  if (found.version_number < leastVersion) {
    return failedAt(names, version, found.version, "Use PostgreSQL 15 or later.", known)
  }
  if (is_replica) {
    return failedAt(
      names,
      rights,
      "it is a read-only replica",
      "Use the address of the primary in DATABASE_URL.",
      known
    )
  }
  if (read_only === "on") {
    const help = "Use the address of the primary in DATABASE_URL, or turn default_transaction_read_only off."
    return failedAt(names, rights, "it is read-only", help, known)
  }
  if (is_owner === false) {
    const detail = `the schema webhook_trigger belongs to ${owner}`
    return failedAt(
      names,
      rights,
      detail,
      `Use the user ${owner} in DATABASE_URL, or: grant ${owner} to ${user}`,
      known
    )
  }
  if (owner === null && !may_create) {
    const detail = `${user} may not create a schema in ${database}`
    return failedAt(
      names,
      rights,
      detail,
      `As the owner of the database: grant create on database ${database} to ${user}`,
      known
    )
  }
  const tables = owner === null ? "the tables will be created" : "the tables are there"
  return passed(names, [...known, tables])
}

/** Milliseconds. */
const silence = 5_000

const connect = (url: Redacted.Redacted) => openSession({ ...sessionOf(url), silence })

/** Whether a session gets its notifications. It does not behind a pooler that gives each transaction another session. */
const isNotified = (url: Redacted.Redacted, listener: Session) =>
  Effect.gen(function* () {
    const channel = `webhook_trigger_doctor_${process.pid}`
    const received = yield* listener.listen(channel)
    yield* Effect.scoped(Effect.flatMap(connect(url), (notifier) => notifier.execute(`notify ${channel}`, [])))
    const first = yield* Effect.timeoutOption(Queue.take(received), notifiedWithin)
    if (Option.isSome(first)) return true
    // Notifications that came while this process stood still are read before the answer.
    yield* listener.execute("select 1", [])
    return (yield* Queue.clear(received)).length > 0
  }).pipe(Effect.scoped)

/** Whether a server can use the database at `DATABASE_URL`. Changes nothing. */
export const examineDatabase = (url: Redacted.Redacted): Effect.Effect<Examined> => {
  const { host, pathname } = new URL(Redacted.value(url))
  const place = `${host}${pathname}`
  return Effect.gen(function* () {
    const session = yield* connect(url)
    const rows: ReadonlyArray<unknown> = yield* session.execute(facts, [])
    const found = judged(rows[0] as Facts, place)
    if (found.help !== undefined || (yield* isNotified(url, session))) return found
    return failedAt(
      names,
      notifications,
      "none arrives",
      "Connect to PostgreSQL directly, or through a pooler in session mode (PgBouncer: pool_mode = session).",
      found.checks.map(({ detail }) => detail)
    )
  }).pipe(
    Effect.scoped,
    Effect.catch((error) => Effect.succeed(refused(causeOf(error), place)))
  )
}
