import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("the sessions page", () => {
  it("lists the browsers that are signed in, and ends one, or all with its own", async () => {
    const other = await ui.newSignedInPage()
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/audit")
    await page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name: "Sessions" }).click()
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor()
    const sessions = page.getByRole("list", { name: "Sessions, most recently used first" }).locator("> li")
    await eventually(() => sessions.count()).toBe(2)
    expect(await sessions.filter({ hasText: "This browser" }).count()).toBe(1)

    await sessions.filter({ hasNotText: "This browser" }).getByRole("button", { name: "End the session" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "End session" }).click()
    await eventually(() => sessions.count()).toBe(1)
    await other.goto("/teams")
    await other.getByLabel("API key or admin key").waitFor()

    await page.getByRole("button", { name: "End all sessions" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "End all" }).click()
    await page.getByLabel("API key or admin key").waitFor()
    for (const each of [other, page]) await each.context().close()
  })
})
