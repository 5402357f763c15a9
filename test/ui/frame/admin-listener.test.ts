import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createReview, errorsOf, eventually, signIn, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi(
    Effect.succeed({ ADMIN_LISTEN: "127.0.0.1:0", PUBLIC_URL: "https://hooks.example.com", API_DOCS: "false" })
  )
})
afterAll(() => ui?.close())

describe("the UI at an address of its own", () => {
  it("signs in there, shows the public trigger URL, and has no link to documentation that is not served", async () => {
    const { id } = await createReview(ui)
    const page = await ui.newPage()
    await page.goto(`/webhooks/${id}/call`)
    await signIn(page)
    await eventually(() => page.textContent("main")).toContain("https://hooks.example.com/webhook/trigger/")
    await page.getByText(/^Webhook Trigger \d/).waitFor()
    expect(await page.getByRole("link", { name: /API documentation|OpenAPI/ }).count()).toBe(0)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})
