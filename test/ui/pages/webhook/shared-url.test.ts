import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { chooseFound, errorsOf, reviewDraft, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("a webhook that shares a URL", () => {
  it("is created without a token, and both webhooks' pages name the other one", async () => {
    const { webhook: owner } = await ui.call("POST", "/api/webhooks", { ...reviewDraft, name: "Pushes" })
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    await page.getByLabel("Name", { exact: true }).fill("Issues")
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^demo/ }).click()
    await page.getByLabel("Prompt template").fill("Triage {{title}}")
    await page.getByRole("heading", { name: "Callers", exact: true }).click()
    await chooseFound(page, "Shared URL", "Pushes")
    expect(await axe(page)).toEqual([])
    await page.getByRole("button", { name: "Create webhook" }).click()

    await page.getByText("Shares the URL of Pushes").waitFor()
    const { data } = await ui.call("GET", "/api/webhooks")
    expect(data.find(({ name }: { name: string }) => name === "Issues").shares).toBe(owner.id)
    expect(await page.getByRole("link", { name: "How to call it" }).count()).toBe(0)
    await page.getByRole("tab", { name: "Settings" }).click()
    await page.getByRole("button", { name: "Delete webhook" }).waitFor()
    expect(await page.getByRole("button", { name: "Regenerate token" }).count()).toBe(0)
    await page.getByRole("region", { name: "Settings" }).getByRole("link", { name: "Pushes" }).waitFor()
    expect(await axe(page)).toEqual([])
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width)
    }
    await page.getByRole("link", { name: "Pushes" }).first().click()
    await page.getByRole("heading", { name: "Pushes" }).waitFor()
    await page.getByRole("tab", { name: "Settings" }).click()
    await page.getByText("URL shared by").waitFor()
    await page.getByRole("region", { name: "Settings" }).getByRole("link", { name: "Issues" }).waitFor()
    await page.goto("/webhooks")
    await page.getByRole("listitem").filter({ hasText: "Issues" }).getByText("shared URL").waitFor()
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})
