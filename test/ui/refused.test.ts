import { afterAll, beforeAll, describe, it } from "vitest"
import { startTestUi, type TestUi } from "./TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("refused requests", () => {
  it("are shown beside the runs of their webhook, with what they contained if the webhook keeps it", async () => {
    const draft = { name: "Refusing", team: "demo", prompt_template: "Review {{title}}" }
    const { token, webhook } = await ui.call("POST", "/api/webhooks", draft)
    const headers = { "content-type": "application/json" }
    const trigger = (body: string) =>
      fetch(`${ui.server.url}/webhook/trigger/${token}`, { method: "POST", headers, body })
    const page = await ui.newSignedInPage()
    await page.goto(`/webhooks/${webhook.id}`)
    const refused = page.getByRole("region", { name: "Refused requests" })
    await refused.getByText("Nothing was refused in the last day.").waitFor()

    await trigger('{"variables":{}}')
    await page.reload()
    await refused.getByText("missing_variables").waitFor()
    await refused.getByText("Without a value: title.").waitFor()
    await refused.getByText("From 127.0.0.1, 16 bytes").waitFor()
    await refused.getByText("choose “Kept bodies” under Edit").waitFor()

    await page.getByRole("link", { name: "Edit" }).click()
    await page.getByLabel("Kept bodies").selectOption("refused")
    await page.getByRole("button", { name: "Save" }).click()
    await refused.waitFor()
    await trigger('{"variables":{"titel":"a typo"}}')
    await page.reload()
    await refused.getByText("Body", { exact: true }).click()
    await refused.getByRole("region", { name: "Body" }).getByText('{"variables":{"titel":"a typo"}}').waitFor()
    await page.context().close()
  })
})
