import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { teamNameAccepts } from "../../../../src/domain/TeamName.ts"
import { Gate } from "../../../support/Gate.ts"
import { createReview, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
  await createReview(ui)
})

afterAll(() => ui?.close())

describe("the team", () => {
  it("can be chosen as soon as the teams are there", async () => {
    const page = await ui.newPage({ signedIn: true })
    const gate = new Gate()
    await page.route("**/api/teams", async (route) => {
      await gate.opened
      await route.continue()
    })
    await page.goto("/webhooks/new")
    const team = page.getByRole("button", { name: / Team$/ })
    await team.waitFor()
    expect(await team.isDisabled()).toBe(true)
    gate.open()
    await team.click()
    await page.getByRole("option", { name: /^demo/ }).waitFor()
    await page.context().close()
  })
})

describe("a new team", () => {
  it("has a name by the server's rule, which the form explains", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    await page.getByRole("button", { name: "New team" }).click()
    const dialog = page.getByRole("dialog", { name: "New team" })
    await dialog.getByLabel("Name").fill("My Team")
    await dialog.getByRole("button", { name: "Create team" }).click()
    await dialog.getByText(teamNameAccepts.slice(1)).waitFor()
    await dialog.getByLabel("Name").fill("my-team")
    await dialog.getByRole("button", { name: "Create team" }).click()
    await page.getByRole("button", { name: /^my-team.* Team$/ }).waitFor()
    await page.context().close()
  })
})
