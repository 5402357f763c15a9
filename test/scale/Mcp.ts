/** Calls of tools at `/mcp`, beside triggers that wait. */
import { openPlace, type Place } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { createWebhook, startLeader, startServer } from "./Server.ts"

interface Kind {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The time of this many requests at once until the last answer, in milliseconds. */
const timeOf = async ({ body, headers, url }: Kind, requests: number): Promise<number> => {
  const text = JSON.stringify(body)
  const begin = performance.now()
  await Promise.all(
    Array.from({ length: requests }, async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: text
      })
      const answer = await response.text()
      if (!response.ok || !answer.includes("done")) throw new Error(`${url}: ${response.status} ${answer}`)
    })
  )
  return performance.now() - begin
}

const measure = async (place: Place, requests: number, rounds: number) => {
  await startLeader(place, ["team-1"])
  const nodeArgs =
    process.env.MCP_PROFILE === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${process.env.MCP_PROFILE}`]
  const server = await startServer(place, { nodeArgs, settings: { WEBHOOK_MAX_CONCURRENT: "1000" } })
  await server.request("POST", "/api/teams", { team: "team-1" })
  const { id, trigger } = await createWebhook(server, "team-1")
  await server.request("PATCH", `/api/webhooks/${id}`, { mcp_tool: "work" })
  const { key } = await server.request("POST", "/api/keys", { name: "assistant", role: "caller", webhooks: [id] })
  const variables = { text: "a text", nested: { ref: "main" } }
  const plain: Kind = { url: `${trigger}?wait=true`, headers: {}, body: { variables } }
  const call: Kind = {
    url: `${server.url}/mcp`,
    headers: {
      authorization: `Bearer ${key}`,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18"
    },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work", arguments: variables } }
  }
  const statements = async () => {
    const [row] = await queryPostgres(
      place.databaseUrl,
      "select xact_commit::int as commits from pg_stat_database where datname = current_database()"
    )
    return Number(row?.commits)
  }
  const measured = async (kind: Kind) => {
    const before = await statements()
    const ms = await timeOf(kind, requests)
    return { ms, commits: ((await statements()) - before) / requests }
  }
  for (const kind of [plain, call]) await timeOf(kind, requests)
  const times: Array<readonly [plain: number, call: number]> = []
  const commits: Array<readonly [plain: number, call: number]> = []
  for (let round = 0; round < rounds; round++) {
    const [one, two] = [await measured(plain), await measured(call)]
    times.push([one.ms, two.ms])
    commits.push([one.commits, two.commits])
  }
  await server.stop()
  return { times, commits }
}

export const measureMcp = async (services: Services, requests: number, rounds: number): Promise<Measured> => {
  const place = await openPlace(services)
  try {
    const { commits, times } = await measure(place, requests, rounds)
    const row = (name: string, which: 0 | 1) => [
      name,
      formatted(medianOf(times.map((pair) => pair[which]))),
      formatted(medianOf(commits.map((pair) => pair[which])), 2)
    ]
    const ratio = medianOf(times.map(([plain, call]) => call / plain))
    return {
      title: `${formatted(requests)} calls of a tool at once`,
      head: ["", "ms until the last answer", "transactions per request"],
      rows: [row("triggers that wait", 0), row("calls at `/mcp`", 1)],
      notes: [`Calls take ${formatted(ratio, 2)} times as long: the median of ${rounds} rounds, each with both.`]
    }
  } catch (error) {
    throw new Error(place.output(), { cause: error })
  } finally {
    await place.close()
  }
}
