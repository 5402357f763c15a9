/** Collects what somebody needs who helps with a problem, without secrets and without texts of callers and agents. */
import { writeFile } from "node:fs/promises"
import { arch, cpus, freemem, loadavg, release, totalmem } from "node:os"
import { Effect, Option, type Redacted, Result } from "effect"
import type { SqlError } from "effect/sql"
import { createTarGzip } from "nanotar"
import { exitCodes, Failure } from "../../cli/Failure.ts"
import type { SupportOptions } from "../../cli/LocalCommands.ts"
import { print } from "../../cli/Output.ts"
import { settings as engineSettings } from "../../engine/SettingsConfig.ts"
import { keys } from "../../leader/Place.ts"
import { causeOf } from "../../repo/database/Database.ts"
import { openSession } from "../../repo/database/Driver.ts"
import { sessionOf } from "../../repo/database/PostgresAddress.ts"
import { withDeadline } from "../../runtime/Deadline.ts"
import { decoded } from "../../runtime/Scrub.ts"
import type { Setting } from "../../settings/EnvironmentVariable.ts"
import * as Services from "../doctor/Services.ts"
import { settings } from "../environment/Environment.ts"
import * as LoadSettings from "../environment/LoadSettings.ts"

/** In milliseconds. */
const patience = 10_000

const tables = [settings, engineSettings] as ReadonlyArray<Readonly<Record<string, Partial<Setting<unknown>>>>>

const secretNames = new Set([...keys, ...tables.flatMap((table) => LoadSettings.secretsOf(table as never))])

/** Command lines and headers may have a key in them. */
const isHidden = (variable: string): boolean =>
  secretNames.has(variable) || ["LEADERS", "AGENTS"].includes(variable) || variable.endsWith("_HEADERS")

/** Only variables of this program. */
const settingsText = (): string =>
  tables
    .flatMap((table) => Object.values(table).flatMap(({ variable }) => variable ?? []))
    .sort()
    .map((variable) => {
      const value = process.env[variable]?.trim() ?? ""
      return `${variable}=${value === "" ? "" : isHidden(variable) ? "[removed]" : value}`
    })
    .join("\n")

const program = (version: string): string =>
  JSON.stringify(
    {
      version,
      node: process.version,
      platform: `${process.platform} ${release()} ${arch()}`,
      cpus: cpus().length,
      load: loadavg(),
      memory: { total: totalmem(), free: freemem() },
      written_at: new Date().toISOString()
    },
    null,
    2
  )

const orReason = (read: () => Promise<string>): Promise<string> =>
  read().catch(
    (error: unknown) => `not read: ${error instanceof Error ? [error.message, error.cause].join(" ") : error}`
  )

/** On the way to other hosts, plain HTTP can be read. */
const isPrivate = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

const fromServer = (url: string, path: string, token?: string) =>
  orReason(async () => {
    const isSent = token !== undefined && isPrivate(new URL(url))
    const headers: Record<string, string> = isSent ? { authorization: `Bearer ${token}` } : {}
    const note = token !== undefined && !isSent ? "METRICS_TOKEN is not sent over plain HTTP to another host.\n" : ""
    return withDeadline(patience, async (signal) => {
      const response = await fetch(`${url}${path}`, { headers, signal })
      return `${note}${response.status} ${response.headers.get("content-type")}\n\n${await response.text()}`
    })
  })

// The state of the tables, without anything that callers, agents or people wrote.

/** In milliseconds, so that a loaded database is not loaded more. */
const silence = 5_000

const queries = Object.entries({
  migrations: "select migration_id, name, created_at from webhook_trigger.migrations order by migration_id",
  tick: "select ticked_at from webhook_trigger.ticks",
  queues: `select r.team, r.status, count(*)::int as runs, min(r.accepted_at) as oldest, t.paused_at, t.resting_until
    from webhook_trigger.runs r left join webhook_trigger.teams t on t.team = r.team
    where r.finished_at is null group by r.team, r.status, t.paused_at, t.resting_until order by r.team, r.status`,
  tables: `select relname as table, n_live_tup::float8 as rows, n_dead_tup::float8 as dead_rows,
      pg_total_relation_size(relid)::float8 as bytes, last_autovacuum, last_autoanalyze
    from pg_stat_user_tables where schemaname = 'webhook_trigger' order by bytes desc`,
  connections: `select state, wait_event_type, count(*)::int as connections, max(now() - state_change)::text as longest
    from pg_stat_activity where datname = current_database() group by state, wait_event_type`
})

/** The rows of each query, or why there are none. */
const databaseState = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const session = yield* openSession({ ...sessionOf(url), silence })
    return yield* Effect.forEach(queries, ([name, query]) =>
      session.executeUnprepared(query, []).pipe(
        Effect.match({ onFailure: notRead, onSuccess: (rows) => rows }),
        Effect.map((found) => [name, found])
      )
    )
  }).pipe(
    Effect.scoped,
    Effect.match({ onFailure: notRead, onSuccess: (found) => JSON.stringify(Object.fromEntries(found), null, 2) })
  )

const notRead = (error: SqlError.SqlError): string => {
  const cause = causeOf(error)
  return `not read: ${cause instanceof Error ? cause.message : error.message}`
}

// Secrets are removed from a support bundle, whichever part of it the text is from.

/** Shorter values would remove half of the text. */
const leastSecret = 4

/** The user, the password and the query of an address, which may have keys. */
const addressSecrets = (text: string): ReadonlyArray<string> => {
  if (!URL.canParse(text)) return []
  const { password, search, username } = new URL(text)
  return [password, decoded(password), search.slice(1), username].filter((part) => part !== "")
}

const tokens = /\bwh[a-z]_[0-9A-Za-z_-]{8,}/g
const eMail = /[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(\.[\w-]+)+/g
const userInfo = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi
const query = /(\bhttps?:\/\/[^\s?"'#]+)\?[^\s"']*/gi

/** A function for texts. `secrets` are the values of variables that are secret. */
const scrubber = (secrets: ReadonlyArray<string>) => {
  const values = secrets
    .flatMap((secret) => [secret, secret.trim(), ...addressSecrets(secret)])
    .filter((value) => value.length >= leastSecret)
    .sort((a, b) => b.length - a.length)
  return (text: string): string =>
    values
      .reduce((rest, value) => rest.replaceAll(value, "[removed]"), text)
      .replace(userInfo, "$1[removed]@")
      .replace(query, "$1?[removed]")
      .replace(tokens, "[removed]")
      .replace(eMail, "[removed]")
}

/** The files, before anything is removed from them. */
const collect = (url: string, version: string): Effect.Effect<Readonly<Record<string, string>>> =>
  Effect.gen(function* () {
    const loaded = yield* Effect.result(Services.settings)
    const examined = Result.isFailure(loaded) ? [] : yield* Services.examine(loaded.success)
    const doctor = Result.isFailure(loaded)
      ? `settings are not valid: ${loaded.failure.faults.map(({ name }) => name).join(", ")}`
      : examined
          .flatMap(({ checks }) => checks)
          .map(({ detail = "", result, what }) => `${what}: ${result} ${detail}`.trimEnd())
          .join("\n")
    const databaseUrl = Result.isFailure(loaded) ? Option.none<Redacted.Redacted>() : loaded.success.databaseUrl
    const database = yield* Option.match(databaseUrl, {
      onNone: () => Effect.succeed("The database is embedded: only its server can read it."),
      onSome: databaseState
    })
    const metricsToken = process.env.METRICS_TOKEN?.trim() || undefined
    const [live, ready, metrics] = yield* Effect.promise(() =>
      Promise.all([
        fromServer(url, "/health/live"),
        fromServer(url, "/health/ready"),
        fromServer(url, "/metrics", metricsToken)
      ])
    )
    return {
      "program.json": program(version),
      "settings.env": settingsText(),
      "doctor.txt": doctor,
      "database.json": database,
      "health.txt": `${live}\n\n${ready}`,
      "metrics.txt": metrics
    }
  })

const ownSecrets = (): ReadonlyArray<string> =>
  [...secretNames].flatMap((name) => process.env[name] ?? []).filter((value) => value.trim() !== "")

/** The `support-bundle` command. */
export const write = ({ output, url }: SupportOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const scrub = scrubber(ownSecrets())
    const files = Object.entries(yield* collect(url, version)).map(([name, text]) => ({
      name: `support-bundle/${name}`,
      data: `${scrub(text)}\n`
    }))
    yield* Effect.tryPromise({
      try: async () => writeFile(output, await createTarGzip(files), { mode: 0o600 }),
      catch: (error) =>
        new Failure({
          exit: exitCodes.refused,
          title: "Cannot write the output",
          detail: error instanceof Error ? error.message : String(error)
        })
    })
    yield* print(
      [
        `${output} contains these files. Review them before you share it:`,
        ...files.map(({ name }) => `  ${name}`)
      ].join("\n")
    )
  })
