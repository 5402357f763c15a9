import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually, reviewDraft, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let id: string

beforeAll(async () => {
  ui = await startTestUi()
  id = (await ui.call("POST", "/api/webhooks", { ...reviewDraft, name: "Audited" })).webhook.id
  await ui.call("PATCH", `/api/webhooks/${id}`, { name: "Renamed", prompt_template: "\u202ereversed" })
})
afterAll(() => ui?.close())

// Each shows events that the ones before it caused.
describe("the audit page", { shuffle: false }, () => {
  it("shows who did what, with what was there before and after, and filters it", async () => {
    const page = await ui.newSignedInPage()
    await page.getByRole("link", { name: "Settings", exact: true }).click()
    await page.getByRole("link", { name: "Audit", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor()
    const events = page.getByRole("list", { name: "Events, newest first" }).locator("> li")
    await eventually(() => events.first().textContent()).toContain("Signed in")
    const edit = events.filter({ hasText: "Webhook edited" })
    await edit.getByText("Details").click()
    expect(await edit.locator("del").allTextContents()).toEqual(["Audited", reviewDraft.prompt_template])
    expect(await edit.locator("ins").allTextContents()).toEqual(["Renamed", "[U+202E]reversed"])
    expect(await edit.textContent()).toMatch(/by the admin key.*from (127\.0\.0\.1|::1)/)

    await page.getByLabel("Action").selectOption("Webhook created")
    await eventually(async () => new Set(await events.locator("strong").allTextContents())).toEqual(
      new Set(["Webhook created"])
    )
    expect(new URL(page.url()).searchParams.get("action")).toBe("webhook.created")
    await page.getByRole("button", { name: "Show all" }).click()
    await page.getByLabel("To", { exact: true }).fill("2020-01-31")
    await page.getByText("No events.").waitFor()
    await page.getByLabel("From", { exact: true }).fill("2020-01-01")
    await page.getByLabel("To", { exact: true }).fill("")
    await eventually(() => edit.count()).toBe(1)
    expect(new URL(page.url()).searchParams.get("from")).toBe("2020-01-01")
    await page.getByRole("button", { name: "Show all" }).click()
    expect(await page.getByLabel("From", { exact: true }).inputValue()).toBe("")
    await edit.getByText("Details").click()
    await edit.getByRole("button", { name: "Show related events" }).click()
    await eventually(() => events.locator("strong").allTextContents()).toEqual(["Webhook edited", "Webhook created"])
    await edit.getByRole("link", { name: "Renamed" }).click()
    await page.getByRole("heading", { level: 1, name: "Renamed" }).waitFor()
    await page.context().close()
  })

  it("shows webhooks that are gone by their name, and older events on further pages", async () => {
    await ui.call("DELETE", `/api/webhooks/${id}`)
    for (let n = 0; n < 21; n++) await ui.call("POST", "/api/teams", { team: `team-${n}` })
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/audit")
    await page.getByRole("link", { name: "team-20" }).waitFor()
    await page.getByRole("button", { name: "Older" }).click()
    const deletion = page.locator(".audit-line", { hasText: "Webhook deleted" })
    await deletion.getByText("Renamed").first().waitFor()
    await page.getByRole("button", { name: "Newest" }).click()
    await page.getByRole("link", { name: "team-20" }).waitFor()
    await page.context().close()
  })

  it("says a small change in words", async () => {
    const { webhook } = await ui.call("POST", "/api/webhooks", { ...reviewDraft, name: "Small change" })
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { max_concurrent: 3 })
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/audit?action=webhook.edited")
    const event = page.locator(".audit-line", { hasText: "Small change" })
    await eventually(() => event.textContent()).toContain("Webhook edited Small change · concurrency limit none → 3")
    await page.context().close()
  })

  it("exports the events that it shows", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/audit?action=team.created")
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "JSON Lines" }).click()
    ])
    const lines = readFileSync(await file.path(), "utf8")
      .trimEnd()
      .split("\n")
    expect(new Set(lines.map((line) => JSON.parse(line).action))).toEqual(new Set(["team.created"]))
    expect(file.suggestedFilename()).toBe("audit.jsonl")
    await page.context().close()
  })
})
