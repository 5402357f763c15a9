/** The memory of a waiting caller. */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { body, type Load } from "../bench/load/Load.ts"
import { openPlace, type Place } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"
import { formatted, type Measured } from "./Report.ts"
import { createWebhook, pathOf, startLeader, startServer } from "./Server.ts"

/** Maximum open files of a process: one per connection, and some more. */
const openFiles = () => Number(execFileSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "utf8" }))

const wait = async (url: string): Promise<Socket> => {
  const { host, hostname, pathname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, "connect")
  socket.on("data", (chunk) => {
    throw new Error(`a caller that should wait was answered: ${chunk.toString().slice(0, 200)}`)
  })
  const head = `POST ${pathname}?wait=true HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`
  socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  return socket
}

const measure = async (place: Place, load: Load, callers: number) => {
  await startLeader(place, ["team-1"])
  await startLeader(place, ["team-2"], { silent: true })
  const file = join(place.dir, "memory.json")
  const nodeArgs = ["--expose-gc", "--import", pathOf("memory.mjs")]
  const server = await startServer(place, { nodeArgs, settings: { MEMORY_FILE: file, WEBHOOK_TIMEOUT: "1 hour" } })
  for (const team of ["team-1", "team-2"]) await server.request("POST", "/api/teams", { team })
  const [answered, silent] = [await createWebhook(server, "team-1"), await createWebhook(server, "team-2")]
  // In kilobytes, after a garbage collection.
  const memory = async () => {
    await sleep(3_000)
    rmSync(file, { force: true })
    process.kill(server.pid, "SIGUSR2")
    await until("the server wrote what it uses", () => existsSync(file), 60_000)
    await sleep(500)
    const { heapUsed, rss } = JSON.parse(readFileSync(file, "utf8")) as NodeJS.MemoryUsage
    return { heap: heapUsed / 1024, rss: rss / 1024 }
  }

  await load({ urls: [`${answered.trigger}?wait=true`], connections: 64, seconds: 5 })
  const before = await memory()
  const sockets: Array<Socket> = []
  while (sockets.length < callers) {
    const some = Array.from({ length: Math.min(100, callers - sockets.length) }, () => wait(silent.trigger))
    sockets.push(...(await Promise.all(some)))
  }
  const waiting = async () => {
    const [row] = await queryPostgres(
      place.databaseUrl,
      "select count(*)::int as runs from webhook_trigger.runs where finished_at is null"
    )
    return Number(row?.runs) === callers
  }
  await until("all callers wait", waiting, 300_000, 500)
  const after = await memory()
  for (const socket of sockets) socket.destroy()
  return { before, after }
}

export const measureWaitingCallers = async (services: Services, load: Load, callers: number): Promise<Measured> => {
  if (openFiles() < callers + 500) throw new Error(`${callers} callers need more open files: ulimit -n ${callers * 2}`)
  const place = await openPlace(services)
  try {
    const { after, before } = await measure(place, load, callers)
    const row = (name: string, key: "heap" | "rss") => [
      name,
      formatted(before[key] / 1024),
      formatted(after[key] / 1024),
      formatted((after[key] - before[key]) / callers, 1)
    ]
    return {
      title: `${formatted(callers)} callers that wait`,
      head: ["", "MB before", "MB with them", "KB per caller (goal 20, at most 40)"],
      rows: [row("resident memory of the server", "rss"), row("of that, JavaScript's heap", "heap")],
      notes: [`Each with a body of ${Buffer.byteLength(body)} bytes; after garbage was collected.`]
    }
  } catch (error) {
    throw new Error(place.output(), { cause: error })
  } finally {
    await place.close()
  }
}
