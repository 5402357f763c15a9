/**
 * `npm run screenshots`: writes the pictures in docs/screenshots anew. It starts the built server on an empty database,
 * leads three teams over HTTP with agents that know their answers, and opens the pages.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
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

/** Leads a team until the server stops. */
const lead = async (team: string) => {
  await request("POST", "/api/teams", { team })
  const { key: leaderKey } = await request("POST", `/api/teams/${team}/leader-keys`, { name: `${team}-1` })
  const leader = crypto.randomUUID()
  const ask = (path: string, body: object) => request("POST", `/leader/${path}`, body, leaderKey)
  const answer = async ({ correlation_id, prompt, run_id }: Record<string, string>) => {
    const reply = replyTo(prompt!)
    if (reply !== undefined) return ask("reply", { correlation_id, ...reply })
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

const untilEnded = async (count: number) => {
  for (;;) {
    const { data } = await request("GET", "/api/runs?status=success,error&limit=100")
    if (data.length >= count) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** The pages' content. Returns the run whose page is shown. */
const fill = async () => {
  for (const team of ["review", "ops", "docs"]) await lead(team)
  await request("POST", "/api/teams", { team: "support" })
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
  await untilEnded(8)
  await pull(401, "Migrate the consumers to the new queue")
  await pull(402, "Remove the old queue")
  return { github, run: shown.run_id as string }
}

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

const data = mkdtempSync(join(tmpdir(), "webhook-trigger-screenshots-"))
const child = server(data)
try {
  while (
    !(await fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false
    ))
  ) {
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const { github, run } = await fill()
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
    await page.getByText(text).first().waitFor()
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
  }
  const [light, dark] = [await open(), await open({ dark: true })]
  const pages: ReadonlyArray<readonly [name: string, path: string, text: string]> = [
    ["overview", "/", "Waiting for you"],
    ["run", `/runs/${run}`, "Two things should change"],
    ["webhook", `/webhooks/${github}`, "Slots in use"],
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
