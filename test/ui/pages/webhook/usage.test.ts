import { Effect, Layer, Logger, Redacted } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { LeaderAmqp } from "../../../../src/amqp.ts"
import { Leader, TeamName } from "../../../../src/leader/index.ts"
import { freshVhost } from "../../../support/fresh.ts"
import { until } from "../../../support/Until.ts"
import { axe } from "../../Axe.ts"
import { errorsOf, eventually, startTestUi, type TestUi } from "../../TestUi.ts"

const team = "review"

let ui: TestUi
let page: Page

const usages: Readonly<Record<string, object>> = {
  costly: { cost_usd: 0.25, input_tokens: 1_200, output_tokens: 80 },
  local: { input_tokens: 300, output_tokens: 20 },
  silent: {}
}

/** Reports the usage that the prompt names. */
const agent = Leader.layer({
  team: TeamName.make(team),
  handler: ({ prompt }) => Effect.succeed({ response: "ok", report: { usage: usages[prompt] ?? {} } })
})

beforeAll(async () => {
  let url = ""
  ui = await startTestUi(
    Effect.map(freshVhost, (AMQP_URL) => {
      url = AMQP_URL
      return { AMQP_URL }
    })
  )
  await ui.call("POST", "/api/teams", { team })
  const bus = LeaderAmqp.layer({ url: Redacted.make(url), queueType: "classic" })
  await ui.run(Layer.build(agent.pipe(Layer.provide(bus), Layer.provide(Logger.layer([])))))
  await until(`${team} runs`, async () => (await ui.call("GET", `/api/teams/${team}`)).running)
  page = await ui.newPage({ signedIn: true })
})
afterAll(() => ui?.close())

const webhookWith = async (name: string, work: ReadonlyArray<keyof typeof usages>): Promise<string> => {
  const { webhook } = await ui.call("POST", "/api/webhooks", { name, team, prompt_template: "{{work}}" })
  for (const each of work) {
    await ui.call("POST", `/api/webhooks/${webhook.id}/runs?wait=true`, { variables: { work: each } })
  }
  return webhook.id
}

describe("the usage that agents report", () => {
  it("is shown over time as tokens and cost, with the number of runs that reported it", async () => {
    // The last row of the table is the current hour, and must have all runs.
    await until("the hour does not end soon", () => Date.now() % 3_600_000 < 3_540_000, 120_000)
    const id = await webhookWith("Reviews", ["costly", "costly", "local", "silent"])
    await page.goto(`/webhooks/${id}`)
    const activity = page.getByRole("region", { name: "Activity" })
    await activity.getByRole("img", { name: "Tokens: 2,700 input, 180 output, reported by 3 of 4 runs" }).waitFor()
    await activity.getByRole("img", { name: "Cost: US$0.50, reported by 3 of 4 runs" }).waitFor()
    await activity.getByText("Show as a table").click()
    const row = activity.getByRole("row").last()
    await eventually(async () => (await row.getByRole("cell").allTextContents()).slice(-4)).toEqual([
      "2,700",
      "180",
      "US$0.50",
      "3"
    ])
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await axe(page)).toEqual([])
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    }
    expect(errorsOf(page)).toEqual([])
  })

  it("has no chart where no run reported an amount: that is unknown, and not 0", async () => {
    const local = await webhookWith("Local model", ["local"])
    await page.goto(`/webhooks/${local}`)
    const activity = page.getByRole("region", { name: "Activity" })
    await activity.getByRole("img", { name: /^Tokens: 300 input/ }).waitFor()
    expect(await activity.getByRole("img", { name: /^Cost/ }).count()).toBe(0)
    const silent = await webhookWith("Silent", ["silent"])
    await page.goto(`/webhooks/${silent}`)
    await activity.getByText("of 1", { exact: true }).waitFor()
    expect(await activity.getByText(/Tokens|Cost|tokens/).count()).toBe(0)
  })

  it("is on the overview, the most expensive webhook first", async () => {
    await page.goto("/")
    const used = page.getByRole("region", { name: "Tokens and cost in the last 24 hours" }).getByRole("listitem")
    await eventually(() => used.allTextContents()).toEqual([
      "ReviewsUS$0.50, 2,700 input tokens, 180 output tokens, reported by 3 of 4 runs",
      "Local model300 input tokens, 20 output tokens, reported by 1 of 1 run"
    ])
    expect(await axe(page)).toEqual([])
  })
})
