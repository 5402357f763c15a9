/** What the page of a run says while it waits. */
import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, it } from "vitest"
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
      return { LEADERS: `ops=${process.execPath} ${folder}-agent.cjs\nqa=${process.execPath} ${folder}-agent.cjs` }
    })
  )
  page = await ui.newPage({ signedIn: true })
})
afterAll(async () => {
  writeFileSync(gate, "")
  await ui?.close()
})

/** Runs of a new webhook, the first of which is in work. */
const runsOf = async (team: string, count: number, settings = {}): Promise<ReadonlyArray<string>> => {
  const draft = { name: `Work of ${team}`, team, prompt_template: "work", ...settings }
  const { webhook } = await ui.call("POST", "/api/webhooks", draft)
  const ids: Array<string> = []
  while (ids.length < count) {
    ids.push((await ui.call("POST", `/api/webhooks/${webhook.id}/runs`, { variables: {} })).run_id)
  }
  await until(
    "the first run is in work",
    async () => (await ui.call("GET", `/api/runs/${ids[0]}`)).status === "running"
  )
  return ids
}

describe("a queued run", () => {
  it("says how many runs are ahead of it, and when it is the next one", async () => {
    const ids = await runsOf("ops", 5)
    const sent = async (id: string) => (await ui.call("GET", `/api/runs/${id}`)).sent_at !== undefined
    await until("the second run is sent", () => sent(ids[1]!))
    await page.goto(`/runs/${ids[4]}`)
    await page.getByText("Waiting in the queue of ops: 2 runs ahead of this one.").waitFor()
    await ui.call("POST", `/api/runs/${ids[3]}/cancel`)
    await page.getByText("1 run ahead of this one.").waitFor()
    await page.goto(`/runs/${ids[2]}`)
    await page.getByText("Next in the queue. Waiting for the team to finish earlier work").waitFor()
  })

  it("says that the slots of its webhook are in use", async () => {
    const ids = await runsOf("qa", 2, { max_concurrent: 1 })
    await page.goto(`/runs/${ids[1]}`)
    await page.getByText("Next in the queue. Waiting for a slot of the webhook: 1 of 1 in use.").waitFor()
  })
})
