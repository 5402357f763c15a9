import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { createReview, errorsOf, eventually, runReview, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("webhooks that are chained", () => {
  it("are linked in a form, and their runs have links to each other", async () => {
    const { id } = await createReview(ui)
    const next = { name: "Next", team: "demo", prompt_template: "Go on: {{response}}" }
    const { webhook } = await ui.call("POST", "/api/webhooks", next)
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${id}?tab=destinations`)
    await page.getByRole("button", { name: "Add destination" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Kind").selectOption("Another webhook on this server")
    const choose = async (name: string) => {
      await dialog.getByRole("combobox", { name: "Webhook" }).fill(name)
      await dialog.getByRole("option", { name }).click()
    }
    await choose("Review")
    expect(await axe(page)).toEqual([])
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await dialog.getByText("must be another webhook").first().waitFor()
    await choose("Next")
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await dialog.waitFor({ state: "detached" })
    await page.getByRole("button", { name: "Send a test to Next" }).waitFor()
    expect(await page.getByRole("link", { name: "Next" }).getAttribute("href")).toBe(`/webhooks/${webhook.id}`)
    expect(await axe(page)).toEqual([])

    const run_id = await runReview(ui, id)
    const delivery = async () => (await ui.call("GET", `/api/webhooks/${id}/deliveries`)).data[0]?.status
    await eventually(delivery).toBe("delivered")
    await page.goto(`/runs/${run_id}`)
    const link = page.getByRole("region", { name: "Deliveries" }).getByRole("link", { name: "another run" })
    await link.waitFor()
    expect(await axe(page)).toEqual([])
    await link.click()
    await page.getByText(/^Started when another run ended/).waitFor()
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width)
    }
    expect(await axe(page)).toEqual([])
    await page.getByRole("link", { name: "another run" }).click()
    await page.waitForURL(`**/runs/${run_id}`)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})
