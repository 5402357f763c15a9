/** What runs take in PostgreSQL: rows, indexes and write-ahead log. */
import { openPlace } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"
import { formatted, type Measured } from "./Report.ts"
import { createWebhook, startLeader, startServer } from "./Server.ts"

const words =
  "the build of main failed in step deploy after merge request review was approved by team with error".split(" ")
/** Words at random, since the database compresses what repeats. */
const text = (bytes: number): string => {
  let written = ""
  while (written.length < bytes) written += `${words[Math.floor(Math.random() * words.length)]}${Math.random()} `
  return written.slice(0, bytes)
}

const callers = 32

/** Bytes for each run. */
const takenBy = async (services: Services, runs: number, size: number) => {
  const place = await openPlace(services)
  try {
    await startLeader(place, ["team-1"], { answer: text(size) })
    const server = await startServer(place)
    await server.request("POST", "/api/teams", { team: "team-1" })
    const { trigger } = await createWebhook(server, "team-1")
    const numbers = async () => {
      await queryPostgres(place.databaseUrl, "vacuum analyze webhook_trigger.runs")
      const [row] = await queryPostgres(
        place.databaseUrl,
        `select pg_table_size('webhook_trigger.runs')::float8 as rows,
           pg_indexes_size('webhook_trigger.runs')::float8 as indexes,
           pg_database_size(current_database())::float8 as database,
           (pg_current_wal_lsn() - '0/0')::float8 as log`
      )
      return row as { readonly rows: number; readonly indexes: number; readonly database: number; readonly log: number }
    }
    const send = async (count: number) => {
      let left = count
      const caller = async () => {
        while (left-- > 0) {
          const body = JSON.stringify({ variables: { text: text(size), nested: { ref: "main" } } })
          const answer = await fetch(trigger, { method: "POST", headers: { "content-type": "application/json" }, body })
          if (answer.status !== 202) throw new Error(`a trigger: ${answer.status} ${await answer.text()}`)
        }
      }
      await Promise.all(Array.from({ length: callers }, caller))
      const ended = async () => {
        const [row] = await queryPostgres(
          place.databaseUrl,
          "select count(*)::int as open from webhook_trigger.runs where finished_at is null"
        )
        return Number(row?.open) === 0
      }
      await until("all runs have ended", ended, 300_000, 200)
    }
    // Pages that exist already are filled first.
    await send(runs / 10)
    const before = await numbers()
    await send(runs)
    const after = await numbers()
    const each = (key: keyof typeof before) => (after[key] - before[key]) / runs
    return { rows: each("rows"), indexes: each("indexes"), database: each("database"), log: each("log") }
  } catch (error) {
    throw new Error(place.output(), { cause: error })
  } finally {
    await place.close()
  }
}

export const measureStorage = async (services: Services, runs: number): Promise<Measured> => {
  const kilobytes = (bytes: number) => formatted(bytes / 1024, 1)
  const row = async (size: number) => {
    const { database, indexes, log, rows } = await takenBy(services, runs, size)
    return [`${size / 1024} KB each`, kilobytes(rows), kilobytes(indexes), kilobytes(database), kilobytes(log)]
  }
  return {
    title: "Storage of a run",
    head: ["prompt, variables and answer", "rows, KB", "indexes, KB", "whole database, KB", "write-ahead log, KB"],
    rows: [await row(512), await row(2_048), await row(16_384)],
    notes: [`${formatted(runs)} runs of each size from ${callers} callers, with PostgreSQL's default settings.`]
  }
}
