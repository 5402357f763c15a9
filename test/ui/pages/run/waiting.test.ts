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
  it("says how many runs are ahead of it, and when it is the next one", async () => {
    const ids = await runsOf("ops", 5)
    await until("the first is in work", async () => (await ui.call("GET", `/api/runs/${ids[0]}`)).status === "running")
    await page.goto(`/runs/${ids[4]}`)
    await page.getByText("Waiting in the queue of ops: 3 runs ahead of this one.").waitFor()
    await ui.call("POST", `/api/runs/${ids[3]}/cancel`)
    await page.getByText("2 runs ahead of this one.").waitFor()
    await page.goto(`/runs/${ids[1]}`)
    await page.getByText("Next in the queue. Waiting for the team to finish earlier work.").waitFor()
  })

  it("says that it waits for a free slot, when other teams have them all", async () => {
    const [id] = await runsOf("qa", 1)
    await page.goto(`/runs/${id}`)
    await page.getByText("Next in the queue. Waiting for a free slot.").waitFor()
  })
})
