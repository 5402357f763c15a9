/** What the page of a run says while it waits. */
import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { newFolder } from "../../../cli/Program.ts"
import { until } from "../../../support/Until.ts"
import { startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let page: Page
let gate: string

/** Answers once the file exists. */
const agent = (file: string) => `setInterval(() => require("node:fs").existsSync("${file}") && process.exit(), 50)`

beforeAll(async () => {
  ui = await startTestUi(
    Effect.map(newFolder, (folder) => {
      gate = `${folder}-gate`
      writeFileSync(`${folder}-agent.cjs`, agent(gate))
      return {
        WEBHOOK_MAX_CONCURRENT: "1",
        LEADERS: `ops=${process.execPath} ${folder}-agent.cjs\nqa=${process.execPath} ${folder}-agent.cjs`
      }
    })
  )
  page = await ui.newPage({ signedIn: true })
})
afterAll(async () => {
  writeFileSync(gate, "")
  await ui?.close()
})

/** Runs of a new webhook. */
const runsOf = async (team: string, count: number): Promise<ReadonlyArray<string>> => {
  const { webhook } = await ui.call("POST", "/api/webhooks", { name: `Work of ${team}`, team, prompt_template: "work" })
  const ids: Array<string> = []
  while (ids.length < count) {
    ids.push((await ui.call("POST", `/api/webhooks/${webhook.id}/runs`, { variables: {} })).run_id)
  }
  return ids
}

describe("a queued run", () => {
  it("says how many earlier runs it waits for", async () => {
    const ids = await runsOf("ops", 5)
    await until("the first is in work", async () => (await ui.call("GET", `/api/runs/${ids[0]}`)).status === "running")
    await page.goto(`/runs/${ids[4]}`)
    await page.getByText("Waiting for 4 earlier runs of the team ops.").waitFor()
    await ui.call("POST", `/api/runs/${ids[3]}/cancel`)
    await page.getByText("Waiting for 3 earlier runs of the team ops.").waitFor()
    await page.goto(`/runs/${ids[1]}`)
    await page.getByText("Waiting for 1 earlier run of the team ops.").waitFor()
  })

  it("says that it waits for a free slot, when other teams have them all", async () => {
    const [id] = await runsOf("qa", 1)
    await page.goto(`/runs/${id}`)
    await page.getByText("Next in the team's queue, waiting for a free slot.").waitFor()
    await page.getByText("counts the agents at work of all teams").waitFor()
  })

  it("says until when it waits for its time, and starts it early", async () => {
    const { trigger_url } = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Nightly", team: "ops", prompt_template: "work" }
    })
    const path = new URL(trigger_url).pathname
    const { run_id } = await ui.call("POST", `${path}?not_before=8h`, { variables: {} })
    await page.goto(`/runs/${run_id}`)
    await page.getByText(/^This run is scheduled for later\. It starts at .+\d\./).waitFor()
    await page.getByText("Scheduled", { exact: true }).waitFor()
    await page.getByText(/waiting until .*\d:\d\d/).waitFor()
    await page.goto("/runs")
    await page.getByText(/^waits until .*\d:\d\d/).waitFor()
    await page.goto(`/runs/${run_id}`)
    await page.getByRole("button", { name: "Start now" }).click()
    await page.getByRole("button", { name: "Start now" }).waitFor({ state: "detached" })
    await until("it is in the queue", async () => (await ui.call("GET", `/api/runs/${run_id}`)).held_for === undefined)
  })

  it("gives one reason, also while its webhook is paused and its team has no leader", async () => {
    await ui.call("POST", "/api/teams", { team: "idle" })
    const { webhook } = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Kept", team: "idle", prompt_template: "work", when_team_stopped: "queue" }
    })
    const { run_id } = await ui.call("POST", `/api/webhooks/${webhook.id}/runs`, { variables: {} })
    await page.goto(`/runs/${run_id}`)
    await page.getByText("No leader is connected to idle. This run continues when one connects.").waitFor()
    await page.getByText(/waiting for its leader$/).waitFor()
    await page.goto("/runs")
    await page.getByText("waits for its leader", { exact: true }).waitFor()
    const { waits_for: _, ...run } = await ui.call("GET", `/api/runs/${run_id}`)
    const message = "The webhook is paused. This run is kept until the webhook is resumed."
    const kept = {
      held_for: "webhook_paused",
      joined: 0,
      waits_for: { code: "webhook_paused", message }
    }
    await page.route(`**/api/runs/${run_id}`, (route) => route.fulfill({ json: { ...run, ...kept } }))
    await page.goto(`/runs/${run_id}`)
    await page.getByText(message).waitFor()
    for (const other of ["No leader is connected", "Collecting requests", "more requests combined"]) {
      expect(await page.getByText(other).count()).toBe(0)
    }
    await page.unrouteAll()
  })
})
