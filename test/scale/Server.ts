/** The built server, and the leader of all teams, each in its own process. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { here } from "../bench/Ours.ts"
import { type Place, untilAnswers } from "../bench/Place.ts"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const adminKey = "an-admin-key-for-scale"

export const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

export interface Server {
  readonly pid: number
  readonly url: string
  readonly adminKey: string
  readonly stop: () => Promise<void>
  /** The body of a response of the management API. Fails if the request is refused. */
  readonly request: (method: string, path: string, body?: unknown) => Promise<any>
}

let processes = 0

/** Starts a server on the place's database and broker. `settings` may change all others. */
export const startServer = async (
  place: Place,
  {
    nodeArgs = [],
    settings = {}
  }: { nodeArgs?: ReadonlyArray<string>; settings?: Readonly<Record<string, string>> } = {}
): Promise<Server> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const begin = performance.now()
  const daemon = place.node(`server-${++processes}`, [...nodeArgs, join(here, "dist/main.js"), "serve"], {
    DATABASE_URL: place.databaseUrl,
    AMQP_URL: place.amqpUrl,
    HOST: "127.0.0.1",
    PORT: String(port),
    ADMIN_API_KEY: adminKey,
    WEBHOOK_MAX_QUEUED: "10000000",
    RUN_RETENTION: "off",
    MAX_CONNECTIONS_PER_ADDRESS: "15000",
    LOG_LEVEL: "warn",
    ...settings
  })
  await untilAnswers(daemon, `${url}/health/ready`, begin)
  return {
    pid: daemon.pid,
    url,
    adminKey,
    stop: () => daemon.stop(),
    request: async (method, path, body) => {
      const answer = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
      return answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text
    }
  }
}

/** How many prompts the leader has received. */
export type Leader = () => Promise<number>

export interface LeaderOptions {
  /** It never answers. */
  readonly silent?: boolean
  readonly answer?: string
}

export const startLeader = async (
  place: Place,
  teams: ReadonlyArray<string>,
  { answer = "done", silent = false }: LeaderOptions = {}
): Promise<Leader> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const daemon = place.node(`leader-${++processes}`, [pathOf("leader.mjs")], {
    AMQP_URL: place.amqpUrl,
    CONTROL_PORT: String(port),
    TEAMS: JSON.stringify(teams),
    ANSWER: answer,
    ...(silent && { SILENT: "true" })
  })
  await untilAnswers(daemon, url, performance.now())
  return async () => ((await (await fetch(url)).json()) as { readonly prompts: number }).prompts
}

/** A webhook of a running team: its ID, and its trigger URL. */
export const createWebhook = async (
  { request, url }: Server,
  team: string
): Promise<{ readonly id: string; readonly trigger: string }> => {
  await until(`team ${team} is running`, async () => (await request("GET", `/api/teams/${team}`)).running)
  const draft = { name: team, team, prompt_template: "{{text}} of {{nested.ref}}" }
  const { trigger_url, webhook } = await request("POST", "/api/webhooks", draft)
  return { id: webhook.id, trigger: url + new URL(trigger_url).pathname }
}
