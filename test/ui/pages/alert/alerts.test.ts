import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { receiver } from "../../../support/Receiver.ts"
import { until } from "../../../support/Until.ts"
import { axe } from "../../Axe.ts"
import { chooseFound, errorsOf, eventually, reviewDraft, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi(Effect.succeed({ CALLBACK_ALLOW: "127.0.0.1" }))
})
afterAll(() => ui?.close())

describe("the page of alerts", () => {
  it("adds a destination and a rule; the alert is then on the Overview, the webhook and here", async () => {
    const { received, url } = await ui.run(receiver(200))
    const draft = { ...reviewDraft, name: "Alerting", team: "quiet" }
    await ui.call("POST", "/api/teams", { team: "quiet" })
    const { token, webhook } = await ui.call("POST", "/api/webhooks", draft)
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/alerts")
    await page.getByText("No alerts yet.").waitFor()
    await page.getByRole("button", { name: "Add destination" }).click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.getByLabel("Kind").locator("option").allTextContents()).not.toContain(
      "Slack slash command (its response URL)"
    )
    await dialog.getByLabel("URL").fill(url)
    expect(await axe(page)).toEqual([])
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole("button", { name: "Done" }).click()
    await page.getByRole("button", { name: `Send a test to ${url}` }).click()
    await page.getByText(/The test event was delivered: status 200/).waitFor()

    await until("the day of the budget does not end soon", () => Date.now() % 86_400_000 < 86_280_000, 180_000)
    // One that is true at once: the daily budget is used after one run.
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { max_runs_per_day: 1, when_team_stopped: "queue" })
    await ui.call("POST", "/api/alerts/rules", { condition: "budget", webhook_id: webhook.id })
    await ui.call("POST", `/webhook/trigger/${token}`, { variables: { title: "T", author: { name: "Ada" } } })
    const text = "100% of the daily budget is used"
    await page.getByRole("button", { name: "Add rule" }).click()
    await dialog.getByLabel("Condition").selectOption("Failure rate")
    await dialog.getByLabel("Time window (hours)").waitFor()
    await dialog.getByLabel("Condition").selectOption("No run")
    await chooseFound(dialog, "For", "Alerting")
    await dialog.getByLabel("Threshold (minutes)").fill("0")
    expect(await axe(page)).toEqual([])
    await dialog.getByRole("button", { name: "Add rule" }).click()
    await dialog.getByText(/^must be a whole number from 1/).waitFor()
    await dialog.getByLabel("Threshold (minutes)").fill("20")
    await dialog.getByRole("button", { name: "Add rule" }).click()
    const rules = page.getByRole("list", { name: "Rules, oldest first" }).getByRole("listitem")
    await rules.getByText("Threshold: 20 minutes, sent to all alert destinations").waitFor()
    await page.getByRole("button", { name: "Edit No run of Alerting" }).click()
    await dialog.getByLabel("Threshold (minutes)").fill("30")
    await dialog.getByRole("button", { name: "Save" }).click()
    await rules.getByText("Threshold: 30 minutes, sent to all alert destinations").waitFor()
    await page.getByRole("button", { name: "Switch off No run of Alerting" }).click()
    await page.getByRole("button", { name: "Switch on No run of Alerting" }).waitFor()

    await page.getByText(text).first().waitFor()
    await eventually(() => received.map(({ body }) => JSON.parse(body).type)).toEqual(["test", "alert.firing"])
    expect(await axe(page)).toEqual([])
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width)
    }
    await page.goto("/")
    await page.getByRole("region", { name: "Waiting for you" }).getByText(text).waitFor()
    expect(await axe(page)).toEqual([])
    await page.goto(`/webhooks/${webhook.id}`)
    await page.getByText(text).waitFor()
    expect(await axe(page)).toEqual([])
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})
