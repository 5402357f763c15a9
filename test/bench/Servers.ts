/** The processes that the benchmark starts, and requests to the servers among them. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const adminKey = "benchmark-admin-key"

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const children: Array<ChildProcess> = []

const start = (name: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) => {
  const child = fork(fileOf(name), [...args], {
    env: { PATH: process.env.PATH ?? "", ...env },
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  children.push(child)
  return child
}

/** A request to the management API. */
export const api = async (url: string, method: string, path: string, body?: unknown) => {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  if (!answer.ok && answer.status !== 409) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json() as Promise<any>
}

/** The program is killed by `killAll`, or before. */
export const startBareServer = async () => {
  const child = start("bare.mjs", [])
  const [{ port }] = (await once(child, "message")) as [{ port: number }]
  return { url: `http://127.0.0.1:${port}/`, kill: () => child.kill("SIGKILL") }
}

/** Resolves when the leader consumes. */
export const startLeader = async (amqpUrl: string, team: string) => {
  await once(start("leader.mjs", [amqpUrl, team]), "message")
}

/** A server with one webhook for one running team. */
export const serve = async (dir: string, name: string, team: string, env: Record<string, string>) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = start("../../dist/main.js", ["serve"], {
    ...env,
    HOST: "127.0.0.1",
    PORT: String(port),
    DATA_DIR: join(dir, name),
    ADMIN_API_KEY: adminKey,
    WEBHOOK_MAX_QUEUED: "10000000",
    LOG_LEVEL: "warning"
  })
  await until(`${name} is ready`, async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.ok, 60_000)
  await api(url, "POST", "/api/teams", { team })
  if (env.AMQP_URL) await startLeader(env.AMQP_URL, team)
  await until(`team ${team} is running`, async () => (await api(url, "GET", `/api/teams/${team}`)).running)
  const { trigger_url, token } = await api(url, "POST", "/api/webhooks", {
    name,
    team,
    prompt_template: "{{text}} of {{nested.ref}}"
  })
  const trigger = new URL(new URL(trigger_url ?? `/webhook/trigger/${token}`, url).pathname, url).href
  return { url, trigger, kill: () => child.kill("SIGKILL") }
}

export const killAll = () => {
  for (const child of children) child.kill("SIGKILL")
}
