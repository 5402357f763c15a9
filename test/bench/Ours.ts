/** The built server: on PostgreSQL and RabbitMQ, and embedded, with only the settings that a benchmark needs. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { queryPostgres } from "../support/Postgres.ts"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"
import { type Contender, type Counts, connections, type Running, team, teams, webhookTemplate } from "./Contender.ts"
import { type Place, untilAnswers } from "./Place.ts"
import { startLeader } from "./Programs.ts"

const adminKey = "benchmark-admin-key"

/** This project's folder. */
export const here = fileURLToPath(new URL("../..", import.meta.url))

/** A request to the management API of the server at `url`. */
const request = async (url: string, method: string, path: string, body?: unknown): Promise<any> => {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  // 409: the team exists.
  if (!answer.ok && answer.status !== 409) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Starts the server in `folder`. It gets only `PATH` of this process's environment. */
const serve = async (place: Place, folder: string, settings: Readonly<Record<string, string>>) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const begin = performance.now()
  const daemon = place.node("server", [join(folder, "dist/main.js"), "serve"], {
    ...settings,
    HOST: "127.0.0.1",
    PORT: String(port),
    DATA_DIR: join(place.dir, "data"),
    ADMIN_API_KEY: adminKey,
    WEBHOOK_MAX_QUEUED: "10000000",
    LOG_LEVEL: "warn"
  })
  const startSeconds = await untilAnswers(daemon, `${url}/health/ready`, begin)
  return { pid: daemon.pid, startSeconds, url }
}

const createWebhook = async (url: string, name: string): Promise<{ readonly id: string; readonly trigger: string }> => {
  await request(url, "POST", "/api/teams", { team: name })
  await until(`team ${name} is running`, async () => (await request(url, "GET", `/api/teams/${name}`)).running)
  const draft = { name, team: name, prompt_template: webhookTemplate }
  const { trigger_url, webhook } = await request(url, "POST", "/api/webhooks", draft)
  return { id: webhook.id, trigger: url + new URL(trigger_url).pathname }
}

/** Webhooks that are offered each request of another one, and want none. */
const shareUrl = async (url: string, shares: string, count: number) => {
  for (let n = 1; n <= count; n++) {
    await request(url, "POST", "/api/webhooks", {
      ...{ name: `sharing-${n}`, team, prompt_template: webhookTemplate, shares },
      accept_if: `nested.ref == 'branch-${n}'`
    })
  }
}

const startProduction =
  (folder: string, settings: Readonly<Record<string, string>> = {}, sharing = 0) =>
  async (place: Place): Promise<Running> => {
    const leader = await startLeader(place)
    const { url, ...server } = await serve(place, folder, {
      ...settings,
      DATABASE_URL: place.databaseUrl,
      AMQP_URL: place.amqpUrl
    })
    const webhooks: Array<Awaited<ReturnType<typeof createWebhook>>> = []
    for (const name of [team, ...teams]) webhooks.push(await createWebhook(url, name))
    await shareUrl(url, webhooks[0]!.id, sharing)
    const countRuns = async () => {
      const sql = "select count(*)::int as rows, count(finished_at)::int as ended from webhook_trigger.runs"
      const [row] = await queryPostgres(place.databaseUrl, sql)
      return row as Counts
    }
    return {
      ...server,
      store: "postgres",
      url: webhooks[0]!.trigger,
      urls: webhooks.slice(1).map(({ trigger }) => trigger),
      counts: async () => ({ ...(await leader.counts()), ...(await countRuns()) })
    }
  }

const startEmbedded =
  (folder: string) =>
  async (place: Place): Promise<Running> => {
    const { url, ...server } = await serve(place, folder, {})
    // The team that the server leads itself.
    const { id, trigger } = await createWebhook(url, "demo")
    const counts = async (): Promise<Counts> => {
      const { buckets } = await request(url, "GET", `/api/webhooks/${id}/statistics?range=24h`)
      let [rows, ended] = [0, 0]
      for (const { live, success } of buckets as ReadonlyArray<{ live: number; success: number }>) {
        rows += live + success
        ended += success
      }
      return { rows, ended }
    }
    return { ...server, url: trigger, urls: [], counts }
  }

const git = (folder: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" }).trim()

/** The commit of the clone in `folder`, marked if files differ from it. */
export const versionOf = (folder: string): string => {
  try {
    const changed = git(folder, "status", "--porcelain", "--untracked-files=no", "src") !== ""
    return git(folder, "rev-parse", "--short", "HEAD") + (changed ? ", changed" : "")
  } catch {
    return "unknown"
  }
}

/** The ways to run the server built in `folder`. */
export const oursIn = (folder: string, name: string, title: string): ReadonlyArray<Contender> => {
  if (!existsSync(join(folder, "dist/main.js")))
    throw new Error(`there is no dist/main.js in ${folder}: build it first`)
  return [
    {
      name,
      title,
      about: "the built server with `DATABASE_URL` and `AMQP_URL`",
      waits: "many teams",
      accepts: true,
      start: startProduction(folder)
    },
    {
      name: `${name}-${connections}`,
      title: `${title}, up to ${connections} at once`,
      about: `the same with \`WEBHOOK_MAX_CONCURRENT=${connections}\` in place of 20; the others have no such limit`,
      waits: "many teams",
      accepts: false,
      start: startProduction(folder, { WEBHOOK_MAX_CONCURRENT: String(connections) })
    },
    {
      name: `${name}-embedded`,
      title: `${title}, embedded`,
      about:
        "the built server without settings: PGlite and the bus in its own process, which leads the one team itself",
      waits: "one team",
      accepts: true,
      start: startEmbedded(folder)
    }
  ]
}

/** Its one team has ten webhooks with one URL. */
export const shared: Contender = {
  name: "ours-shared",
  title: "ours, ten webhooks on one URL",
  about: "the same with nine more webhooks that share the URL, whose filters want none of the requests",
  waits: "no",
  accepts: true,
  start: startProduction(here, {}, 9)
}
