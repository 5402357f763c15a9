/**
 * How fast the trigger is, as a ratio against things measured in the same run: a server that does nothing but read the
 * body and answer, and a bare question and answer over the same broker. `npm run bench`; about a minute.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { connect } from "amqplib"
import autocannon from "autocannon"
import { queryPostgres, startPostgres } from "../support/Postgres.ts"
import { freePort } from "../support/Process.ts"
import { startRabbitMq } from "../support/RabbitMq.ts"

const seconds = Number(process.argv[2] ?? 8)
const connections = 64
const asks = 300
const adminKey = "benchmark-admin-key"
const body = JSON.stringify({ variables: { text: "x".repeat(500), nested: { ref: "main", count: 3 } } })

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-bench-"))
chmodSync(dir, 0o755)
const children: Array<ChildProcess> = []

const start = (file: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) => {
  const child = fork(file, [...args], {
    env: { PATH: process.env.PATH ?? "", ...env },
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  children.push(child)
  return child
}

const manage = async (url: string, method: string, path: string, body?: unknown) => {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  if (!answer.ok && answer.status !== 409) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json() as Promise<any>
}

const until = async (what: string, holds: () => Promise<boolean>) => {
  for (let tries = 0; tries < 1200; tries++) {
    if (await holds().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`never: ${what}`)
}

/** A server with one webhook for one running team; returns its trigger URL. */
const serve = async (name: string, team: string, env: Record<string, string>) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  start(here("../../dist/main.js"), ["serve"], {
    ...env,
    HOST: "127.0.0.1",
    PORT: String(port),
    DATA_DIR: join(dir, name),
    ADMIN_API_KEY: adminKey,
    WEBHOOK_MAX_QUEUED: "10000000",
    LOG_LEVEL: "warning"
  })
  await until(`${name} is ready`, async () => (await fetch(`${url}/health/ready`)).ok)
  await manage(url, "POST", "/api/teams", { team })
  if (env.AMQP_URL) await once(start(here("leader.mjs"), [env.AMQP_URL, team]), "message")
  await until(`${team} runs`, async () => (await manage(url, "GET", `/api/teams/${team}`)).running)
  const { trigger_url, token } = await manage(url, "POST", "/api/webhooks", {
    name,
    team,
    prompt_template: "{{text}} of {{nested.ref}}"
  })
  return { url, trigger: new URL(new URL(trigger_url ?? `/webhook/trigger/${token}`, url).pathname, url).href }
}

const load = async (url: string) => {
  const result = await autocannon({
    url,
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    connections,
    duration: seconds
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`)
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 }
}

const median = (numbers: ReadonlyArray<number>) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!

const timed = async (times: number, act: () => Promise<unknown>) => {
  const millis: Array<number> = []
  for (let n = 0; n < times; n++) {
    const before = performance.now()
    await act()
    millis.push(performance.now() - before)
  }
  return median(millis.slice(Math.floor(times / 10)))
}

/** A persistent, confirmed message to a leader and its answer, over the same broker, with nothing around it. */
const bareRoundTrip = async (amqpUrl: string) => {
  const model = await connect(amqpUrl, { noDelay: true } as never)
  const channel = await model.createConfirmChannel()
  await once(start(here("leader.mjs"), [amqpUrl, "bare"]), "message")
  const { queue } = await channel.assertQueue("bench.replies", { durable: true })
  let answered: () => void = () => {}
  await channel.consume(queue, (message) => {
    channel.ack(message!)
    answered()
  })
  const result = await timed(asks, () => {
    const answer = new Promise<void>((resolve) => {
      answered = resolve
    })
    channel.sendToQueue("team.bare", Buffer.from("{}"), { persistent: true, correlationId: "1", replyTo: queue })
    return Promise.all([answer, channel.waitForConfirms()])
  })
  await model.close()
  return result
}

const askFor = (url: string) =>
  timed(asks, async () => {
    const answer = await fetch(`${url}?wait=true`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body
    })
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.text()
  })

/** A webhook's page of history, far back in 100,000 runs, against one that has no more than that page. */
const historyPages = async (url: string, databaseUrl: string) => {
  const times: Array<number> = []
  for (const many of [20, 100_000]) {
    const { webhook } = await manage(url, "POST", "/api/webhooks", {
      name: "history",
      team: "bench",
      prompt_template: "x"
    })
    await queryPostgres(
      databaseUrl,
      `insert into webhook_trigger.runs (id, source, webhook_id, team, mode, status, prompt, variables, response,
         timeout_ms, accepted_at, admitted_at, sent_at, finished_at)
       select gen_random_uuid(), 'webhook', '${webhook.id}', 'bench', 'async', 'success', 'prompt ' || n, '{}', 'answer', 1000,
         now(), now(), now(), now() from generate_series(1, ${many}) as n`
    )
    await queryPostgres(databaseUrl, "analyze webhook_trigger.runs")
    const path = `/api/webhooks/${webhook.id}/runs?limit=20`
    const far = many > 20 ? `&cursor=${await cursorFarBack(url, path)}` : ""
    times.push(await timed(100, () => manage(url, "GET", path + far)))
  }
  return times as [number, number]
}

const cursorFarBack = async (url: string, path: string) => {
  let cursor = ""
  for (let page = 0; page < 200; page++) {
    const { next_cursor } = await manage(url, "GET", `${path.replace("limit=20", "limit=100")}${cursor}`)
    cursor = `&cursor=${next_cursor}`
  }
  return cursor.slice("&cursor=".length)
}

const table = (rows: ReadonlyArray<ReadonlyArray<string>>) => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  for (const row of rows) {
    console.log(row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join("  "))
  }
}

try {
  const [postgres, rabbitmq] = await Promise.all([
    startPostgres({ dir: join(dir, "postgres") }),
    startRabbitMq({ dir: join(dir, "rabbitmq") })
  ])
  try {
    await queryPostgres(postgres.url, "CREATE DATABASE bench")
    const databaseUrl = postgres.url.replace(/postgres$/, "bench")

    const bareServer = start(here("bare.mjs"), [])
    const [{ port }] = (await once(bareServer, "message")) as [{ port: number }]
    const bare = await load(`http://127.0.0.1:${port}/`)
    bareServer.kill("SIGKILL")

    const embeddedServer = await serve("embedded", "demo", {})
    const embeddedAsk = await askFor(embeddedServer.trigger)
    const embedded = await load(embeddedServer.trigger)
    children.at(-1)!.kill("SIGKILL")

    const production = await serve("production", "bench", { DATABASE_URL: databaseUrl, AMQP_URL: rabbitmq.url })
    const bareAsk = await bareRoundTrip(rabbitmq.url)
    const ask = await askFor(production.trigger)
    const [fewRuns, manyRuns] = await historyPages(production.url, databaseUrl)
    const real = await load(production.trigger)
    const count = async () =>
      Number(
        (
          await queryPostgres(databaseUrl, "select count(*) from webhook_trigger.runs where finished_at is not null")
        )[0]!.count
      )
    const [ended, from] = [await count(), performance.now()]
    await new Promise((resolve) => setTimeout(resolve, seconds * 500))
    const drained = ((await count()) - ended) / ((performance.now() - from) / 1000)

    const ratio = (value: number, of: number) => (value / of).toFixed(2)
    console.log(`\nTriggers accepted (fire and forget), ${connections} connections, ${seconds} s each`)
    table([
      ["", "per second", "p50 ms", "p99 ms", "ratio"],
      ...Object.entries({
        "bare server, does nothing": bare,
        "embedded (PGlite, in-process bus)": embedded,
        "PostgreSQL and RabbitMQ": real
      }).map(([name, { perSecond, p50, p99 }]) => [
        name,
        perSecond.toFixed(0),
        String(p50),
        String(p99),
        ratio(perSecond, bare.perSecond)
      ])
    ])
    console.log(`\nOne caller who waits for the answer, median of ${asks}`)
    table([
      ["", "ms", "ratio"],
      ["bare question and answer over RabbitMQ", bareAsk.toFixed(2), "1.00"],
      ["embedded (PGlite, in-process bus)", embeddedAsk.toFixed(2), ratio(embeddedAsk, bareAsk)],
      ["PostgreSQL and RabbitMQ", ask.toFixed(2), ratio(ask, bareAsk)]
    ])
    console.log("\nA page of 20 runs, median of 100")
    table([
      ["", "ms", "ratio"],
      ["of 20", fewRuns.toFixed(2), "1.00"],
      ["20,000 back in 100,000", manyRuns.toFixed(2), ratio(manyRuns, fewRuns)]
    ])
    console.log(`\nRuns of one team finished per second, from a backlog: ${drained.toFixed(0)}`)
    console.log(`(${ratio(drained * bareAsk, 1000)} of what one bare question after the other would reach)`)
  } finally {
    for (const child of children) child.kill("SIGKILL")
    await Promise.all([postgres.stop(), rabbitmq.dispose()])
  }
} finally {
  await rm(dir, { recursive: true, force: true })
}
process.exit(0)
