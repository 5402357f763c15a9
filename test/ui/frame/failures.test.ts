import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createReview, eventually, reviewDraft, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let webhook: { readonly id: string }

beforeAll(async () => {
  ui = await startTestUi()
  webhook = await createReview(ui)
})
afterAll(() => ui?.close())

describe("a refused request", () => {
  it("is explained by the problem's title and each of its faults", async () => {
    await ui.call("POST", "/api/teams", { team: "short-lived" })
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    await page.getByLabel("Name", { exact: true }).fill(reviewDraft.name)
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^short-lived/ }).click()
    await page.getByLabel("Prompt template").fill(reviewDraft.prompt_template)
    await ui.call("DELETE", "/api/teams/short-lived")
    await page.getByRole("button", { name: "Create webhook" }).click()
    await eventually(() => page.getByRole("alert").textContent()).toBe(
      "Some fields are not valid. team: does not exist."
    )
    await page.context().close()
  })

  it("is explained by the problem's details when it has no faults", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/teams/demo")
    await page.getByRole("button", { name: "Delete team" }).click()
    await page.getByRole("button", { name: "Delete", exact: true }).click()
    const alert = page.getByRole("alert")
    await alert.getByText("The team is in use. Webhooks that point at it: ").waitFor()
    await page.context().close()
  })

  it("is explained without advice that does not apply to it", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/teams/demo")
    await page.getByLabel("Message", { exact: true }).fill("Hello")
    const problem = { title: "The team is in use", detail: "It is busy." }
    await page.route("**/messages", (route) => route.fulfill({ status: 409, json: problem }), { times: 1 })
    await page.getByRole("button", { name: "Send" }).click()
    const alert = page.getByRole("alert")
    await eventually(() => alert.textContent()).toBe("The team is in use. It is busy.")
    // Nothing repeats an action that did not reach the server.
    await page.route("**/messages", (route) => route.abort(), { times: 1 })
    await page.getByRole("button", { name: "Send" }).click()
    await eventually(() => alert.textContent()).toBe(
      "The server cannot be reached.Check your connection and that the server is running."
    )
    await page.context().close()
  })
})

describe("a message at the bottom of the page", () => {
  it("has another icon for a failure than for what was done", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}`)
    const icon = (text: string) => page.locator(".toast", { hasText: text }).locator("path").getAttribute("d")
    await page.route(`**/api/webhooks/${webhook.id}`, (route) =>
      route.request().method() === "PATCH" ? route.fulfill({ status: 500 }) : route.fallback()
    )
    const toggle = page.getByRole("switch")
    await toggle.press("Space")
    const failure = await icon("The server responded with 500.")
    await eventually(() => toggle.isChecked()).toBe(true)
    await page.unrouteAll()
    await toggle.press("Space")
    expect(await icon("Review is off")).not.toBe(failure)
    await toggle.press("Space")
    await page.getByText("Review is on").waitFor()
    await page.context().close()
  })
})
