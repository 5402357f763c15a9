/**
 * `npm run screenshots`: writes the pictures in docs/screenshots anew. It starts the built server on an empty database,
 * leads three teams over HTTP with agents that know their answers, makes a month of their runs, and opens the pages.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PGlite } from "@electric-sql/pglite"
import type { Page } from "playwright-core"
import { randomSecret } from "../../src/recipes/Recipe.ts"
import { type RecipeName, recipes } from "../../src/recipes/Recipes.ts"
import { sharedBrowser } from "../support/Chromium.ts"

const folder = new URL("../../docs/screenshots/", import.meta.url).pathname
const key = "an-admin-key-for-the-screenshots"
const url = "http://127.0.0.1:8089"

const request = async (method: string, path: string, body?: unknown, bearer = key): Promise<any> => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.status === 204 ? undefined : response.json()
}

const review = `Two things should change before this is merged.

1. **\`retry.ts\`, line 48:** the delay doubles without a limit. After ten failures a request waits 17 minutes. Cap it at 30 s.
2. **No test covers a 429 with \`Retry-After\`.** The header is read, but a date in it is taken for a number.

The rest reads well, and the new names are better than the old ones.

\`\`\`ts
const delay = Math.min(base * 2 ** attempt, 30_000)
\`\`\``

const usage = { input_tokens: 48_210, output_tokens: 1_904, cost_usd: 0.21, model: "claude-sonnet-5" }

/** In `aMonth`: minutes between two of the latest runs, and since the last of them. */
const [between, sinceLast] = [31, 14]
const now = Date.now()
/** How many came after the one that is shown. */
const newer = 3

/** What an agent reports before its reply, and how many seconds after the run's acceptance. */
const steps = [
  { after: 4, kind: "tool", tool: "Bash", title: "gh pr diff 396", result_bytes: 18_412, duration_ms: 1_240 },
  { after: 19, kind: "tool", tool: "Read", title: "Read src/s3/retry.ts", result_bytes: 6_120, duration_ms: 35 },
  { after: 31, kind: "tool", tool: "Grep", title: "Search for Retry-After", result_bytes: 912, duration_ms: 210 },
  { after: 44, kind: "text", title: "The header is read, but a date in it is taken for a number." },
  { after: 46, kind: "tool", tool: "Bash", title: "npm test -- s3", result_bytes: 4_806, duration_ms: 48_300 }
].map(({ after, ...step }, index) => ({
  ...{ id: `${index}`, status: "ok", ...step },
  at: new Date(now - (newer * between + sinceLast) * 60_000 + after * 1_000).toISOString()
}))

/** What an agent replies to a prompt. `undefined`: it works on. */
const replyTo = (prompt: string): object | undefined => {
  if (prompt.includes("Migrate")) return undefined
  if (prompt.includes("flaky")) return { type: "error", message: "The test database could not be reached" }
  const links = [{ title: "Pull request", url: "https://github.com/acme/infra/pull/396" }]
  if (prompt.includes("Rotate")) {
    const response = "The key is used by two services. Shall I rotate both at once?"
    return { type: "response", response, usage, asks: ["Both at once", "One after the other"] }
  }
  return { type: "response", response: review, usage, links }
}

const teams = ["review", "ops", "docs"]

/** Leads a team until the server stops. */
const lead = async (team: string) => {
  const { key: leaderKey } = await request("POST", `/api/teams/${team}/leader-keys`, { name: `${team}-1` })
  const leader = crypto.randomUUID()
  const ask = (path: string, body: object) => request("POST", `/leader/${path}`, body, leaderKey)
  const answer = async ({ correlation_id, prompt, run_id }: Record<string, string>) => {
    const reply = replyTo(prompt!)
    if (reply !== undefined) {
      await ask("reply", { correlation_id, type: "progress", seq: 1, steps })
      return ask("reply", { correlation_id, ...reply })
    }
    const [text, activity] = ["I have found 14 call sites. ", "Edit src/queue/consumer.ts"]
    await ask("reply", { correlation_id, type: "progress", seq: 1, text, activity })
    for (;;) await ask("work", { leader, run_id })
  }
  const loop = async () => {
    for (;;) {
      const response = await fetch(`${url}/leader/next`, {
        method: "POST",
        headers: { authorization: `Bearer ${leaderKey}`, "content-type": "application/json" },
        body: JSON.stringify({ leader })
      })
      if (response.status === 200) await answer((await response.json()) as Record<string, string>)
    }
  }
  loop().catch(() => {})
}

const create = async (name: RecipeName, more: object): Promise<string> => {
  const recipe = recipes[name]
  const { name: title, prompt_template, settings, verification } = recipe
  const draft = { name: title, prompt_template, verification, secret: randomSecret(recipe), ...settings, ...more }
  return (await request("POST", "/api/webhooks", draft)).webhook.id
}

const until = async (isDone: () => Promise<boolean>) => {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 200))
}
const untilRuns = (status: string, count: number) =>
  until(async () => (await request("GET", `/api/runs?status=${status}&limit=100`)).data.length >= count)

/** The pages' content. Returns the run whose page is shown. */
const fill = async () => {
  for (const team of [...teams, "support"]) await request("POST", "/api/teams", { team })
  for (const team of teams) await lead(team)
  const [github, alerts] = [await create("github", { team: "review" }), await create("alertmanager", { team: "ops" })]
  await create("slack-command", { team: "support" })
  const { webhook: docs } = await request("POST", "/api/webhooks", {
    ...{ name: "Update the docs", team: "docs", prompt_template: "Update the docs for {{release}}." },
    run_title: "Docs for {{release}}"
  })
  const { sample } = recipes.github
  const pull = (number: number, title: string) => {
    const payload = structuredClone(sample.payload) as Record<string, any>
    payload.number = payload.pull_request.number = number
    payload.repository.full_name = payload.pull_request.base.repo.full_name = "acme/infra"
    payload.pull_request.title = title
    return request("POST", `/api/webhooks/${github}/runs`, { payload, headers: sample.headers })
  }
  const titles = [
    "Pin the base image",
    "Log the tenant of a job",
    "Fix a flaky test of the queue",
    "Rotate the signing key"
  ]
  for (const [index, title] of titles.entries()) await pull(388 + index, title)
  const shown = await pull(396, "Add retries to the S3 client")
  for (const release of ["2.3.0", "2.4.0"])
    await request("POST", `/api/webhooks/${docs.id}/runs`, { variables: { release } })
  const { payload, headers } = recipes.alertmanager.sample
  await request("POST", `/api/webhooks/${alerts}/runs`, { payload, headers })
  await untilRuns("success,error", 8)
  const work = async () => {
    for (const team of teams) await lead(team)
    await pull(401, "Migrate the consumers to the new queue")
    await pull(402, "Remove the old queue")
    // The leaders of the first start count as present for a while.
    await untilRuns("running", 1)
    await until(async () => {
      const { data }: { data: ReadonlyArray<{ team: string; running: boolean }> } = await request("GET", "/api/teams")
      return data.every(({ running, team }) => running || team === "support")
    })
  }
  return { github, run: shown.run_id as string, work }
}

/** Of earlier pull requests. */
const others = [
  "Pin the base image",
  "Log the tenant of a job",
  "Cache the index of packages",
  "Retry uploads after 503",
  "Drop the second copy of the schema",
  "Move the cron jobs to the scheduler",
  "Close idle connections to the broker",
  "Say which region a bucket is in",
  "Read secrets from files",
  "Count jobs by queue",
  "Stop workers before the volume goes",
  "Update the base of the test image"
]

/**
 * Spreads the runs over the last hours, as if their agents had worked for minutes, and copies them into the month before:
 * fewer at weekends, and at a price of their own each. The counts are made anew from them.
 */
const aMonth = `
  set search_path = webhook_trigger;
  create temp table past as
    select r.*, d.day, k, abs(hashtext(d.day::text || '-' || k)) as chance
    from generate_series(1, 29) as d(day)
    cross join lateral generate_series(1, case when extract(isodow from now() - d.day * interval '1 day') > 5
      then 1 + d.day % 3 else 9 + (d.day * 7) % 11 end) as k
    join lateral (
      select * from runs order by abs(hashtext(id::text || d.day::text || '-' || k)) limit 1
    ) as r on true;
  update past set
    seq = -100 * day + k - 1000, place = -100 * day + k - 1000,
    accepted_at = date_trunc('day', now()) - day * interval '1 day' + interval '7 hours' + (chance % 36000) * interval '1 second',
    thread_id = null, thread_key = null, singleton_key = null, triggered_by = null;
  -- As all IDs, in the order of time.
  update past set id = (lpad(to_hex((extract(epoch from accepted_at) * 1000)::bigint), 12, '0')
    || '7' || substr(md5(seq::text), 1, 3) || '8' || substr(md5(seq::text), 4, 15))::uuid;
  update past set report = jsonb_set(report::jsonb, '{usage,cost_usd}', to_jsonb((5 + chance % 53)::float8 / 100))
  where report::jsonb #> '{usage,cost_usd}' is not null;
  update past set report = report::jsonb - 'asks';
  update past set title = 'acme/infra#' || (370 - day * 9 + k / 2) || ': ' ||
    (array['${others.join("', '")}'])[1 + chance % ${others.length}] where title like 'acme/%';
  update past set title = 'Docs for 2.' || (day / 15) || '.' || (30 - day) / 2 where title like 'Docs%';
  alter table past drop column chance, drop column day, drop column k;
  update runs set accepted_at = timestamptz '${new Date(now).toISOString()}' - (select count(*) from runs other where other.seq > runs.seq) * interval '${between} minutes'
    - interval '${sinceLast} minutes';
  insert into runs overriding system value select * from past;
  update runs set
    admitted_at = accepted_at, sent_at = accepted_at + interval '40 milliseconds',
    started_at = accepted_at + interval '55 milliseconds',
    finished_at = accepted_at + interval '1 second' * (95 + abs(hashtext(id::text)) % 420),
    recorded_at = accepted_at + interval '1 second' * (95 + abs(hashtext(id::text)) % 420);
  update teams set created_at = now() - interval '4 months';
  update webhooks set created_at = now() - interval '3 months', verified_at = now() - interval '3 months';
  truncate run_counts, run_durations, run_usage;
  update run_counts_state set counted_to = '-infinity', hours_from = '-infinity', days_from = '-infinity'`

const server = (data: string) => {
  const env = {
    ...process.env,
    DATA_DIR: data,
    PORT: "8089",
    PUBLIC_URL: "https://hooks.acme.example",
    ADMIN_API_KEY: key
  }
  return spawn(process.execPath, ["dist/main.js", "serve"], { env, stdio: "ignore" })
}

const isReady = () =>
  fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false
  )

const data = mkdtempSync(join(tmpdir(), "webhook-trigger-screenshots-"))
let child = server(data)
try {
  await until(isReady)
  const { github, run, work } = await fill()
  await new Promise((resolve) => {
    child.once("exit", resolve)
    child.kill()
  })
  const database = await PGlite.create(join(data, "database"))
  await database.exec(aMonth)
  await database.close()
  child = server(data)
  await until(isReady)
  await work()
  const browser = await sharedBrowser()
  const open = async ({ dark = false } = {}) => {
    const context = await browser.newContext({
      ...{ baseURL: url, locale: "en-GB", colorScheme: dark ? "dark" : "light", reducedMotion: "reduce" },
      viewport: { width: 1280, height: 900 }
    })
    await context.request.post("/api/session", { data: { key } })
    return context.newPage()
  }
  const shoot = async (page: Page, path: string, text: string, name: string) => {
    await page.goto(path)
    await page.getByText(text).filter({ visible: true }).first().waitFor()
    if (name.startsWith("run")) {
      await page.getByText("What the agent did", { exact: true }).click()
      await page.getByText("gh pr diff 396").first().waitFor()
    }
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
  }
  const [light, dark] = [await open(), await open({ dark: true })]
  const pages: ReadonlyArray<readonly [name: string, path: string, text: string]> = [
    ["overview", "/", "Shall I rotate both at once?"],
    ["run", `/runs/${run}`, "Two things should change"],
    ["webhook", `/webhooks/${github}`, "acme/infra#401"],
    ["new-webhook", "/webhooks/new?from=github", "Customize"]
  ]
  for (const [name, path, text] of pages) await shoot(light, path, text, name)
  await shoot(dark, `/runs/${run}`, "Two things should change", "run-dark")
  await browser.close()
} finally {
  child.kill("SIGKILL")
  rmSync(data, { recursive: true, force: true })
}
process.exit(0)
