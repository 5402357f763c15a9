import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { createReview, eventually, settingField, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
  await createReview(ui)
})

afterAll(() => ui?.close())

describe("a template for whole requests", () => {
  it("is previewed with a request that is pasted, in both languages, and names what is missing", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    const template = page.getByLabel("Prompt template")
    const preview = page.getByRole("region", { name: "Preview" })
    await (await settingField(page, "Input")).selectOption("payload")
    await template.fill("{{payload.alerts.0.status}} {{headers.x-kind?}}{{payload.none}}")
    await preview.getByLabel("payload", { exact: true }).fill('{"alerts":[{"status":"firing"},{"status":"resolved"}]}')
    await preview.getByText("Without a value: payload.none.").waitFor()
    await template.fill("{{payload.alerts.0.status}}{{headers.x-kind?}}!")
    await preview.getByText("firing!", { exact: true }).waitFor()
    await page.getByLabel("Template language").selectOption("liquid")
    await template.fill("{% for alert in payload.alerts %}{{ alert.status | upcase }};{% endfor %}")
    await preview.getByText("FIRING;RESOLVED;", { exact: true }).waitFor()
    await template.fill("{% for alert in payload.alerts %}")
    await page.getByText(/Line 1, column 1: .* not closed/).waitFor()
  })

  it("is written by clicking into a received request, which previews it, tries the filter and is sent as a test", async () => {
    const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Received", team: "demo", prompt_template: "Kind:  of it", input: "payload", store_requests: "all" },
      accept_if: "payload.alerts[0].status == 'firing'"
    })
    const send = (body: string, type = "application/json") =>
      fetch(`${trigger_url}?env=live`, { method: "POST", headers: { "content-type": type, "x-kind": "alert" }, body })
    await send('{"alerts":[{"status":"resolved"}]}')
    await send('{"alerts":[{"status":"firing","labels":{"app/name":"api"}}]}')
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    const preview = page.getByRole("region", { name: "Preview" })
    const requests = preview.getByLabel("Use a received request")
    await requests.selectOption(await requests.getByText("ignored").getAttribute("value"))
    await preview.getByText("Such a request is ignored").waitFor()
    await preview.getByText("payload.alerts[0].status == 'firing' does not hold.").waitFor()
    await preview.getByText("payload.alerts is a list of 1").waitFor()
    // What the filter says now, before it is saved, also of the stored requests.
    const stored = preview.getByRole("list", { name: "What the filter says of stored requests" })
    await eventually(() => stored.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringContaining("accepted"),
      expect.stringContaining("ignored")
    ])
    const filter = await settingField(page, "Filter")
    await filter.fill("payload.alerts[0].status == firing")
    await preview.getByText("firing is not part of a request").waitFor()
    await filter.fill("payload.alerts[0].status == 'resolved'")
    await eventually(() => stored.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringContaining("ignored"),
      expect.stringContaining("accepted")
    ])
    await preview.getByText("Such a request is accepted").waitFor()
    await filter.fill("payload.alerts[0].status == 'firing'")
    await requests.selectOption(await requests.getByText("accepted").getAttribute("value"))
    await preview.getByText("Such a request is accepted").waitFor()

    const template = page.getByLabel("Prompt template")
    const tree = preview.getByRole("group", { name: "The request's values" })
    const toggle = (name: string) => tree.getByRole("button", { name: `Members of ${name}`, exact: true }).click()
    await toggle("alerts")
    await toggle("0")
    await toggle("labels")
    await template.press("Home")
    for (const _ of "Kind: ") await template.press("ArrowRight")
    await tree.getByRole("button", { name: 'status "firing"' }).click()
    await preview.getByText("Kind: firing of it", { exact: true }).waitFor()
    expect(await template.inputValue()).toBe("Kind: {{payload.alerts.0.status}} of it")
    await tree.getByRole("button", { name: 'app/name "api"' }).click()
    await preview.getByText("Kind: firingapi of it", { exact: true }).waitFor()
    expect(await axe(page)).toEqual([])
    await page.getByLabel("Template language").selectOption("liquid")
    await template.fill("")
    await tree.getByRole("button", { name: 'app/name "api"' }).click()
    await tree.getByRole("button", { name: 'env "live"' }).click()
    await preview.getByText("apilive", { exact: true }).waitFor()
    expect(await template.inputValue()).toBe('{{ payload.alerts[0].labels["app/name"] }}{{ query.env }}')
    await page.emulateMedia({ colorScheme: "dark" })
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await axe(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole("button", { name: "Save" }).click()

    await page.getByRole("tab", { name: "Test" }).click()
    const tested = page.getByRole("region", { name: "Send a test" }).getByLabel("Use a received request")
    await tested.selectOption(await tested.getByText("accepted").first().getAttribute("value"))
    await eventually(() => page.getByLabel("payload", { exact: true }).inputValue()).toContain("firing")
    await page.getByRole("button", { name: "Send test" }).click()
    await page.getByText("apilive").first().waitFor()
    await page.context().close()
  })
})
