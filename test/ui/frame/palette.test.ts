/** The search for everything with a name, by Ctrl+K. */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axeAtBothWidths } from "../Axe.ts"
import { errorsOf, eventually, runReview, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let webhook: string
let run: string

beforeAll(async () => {
  ui = await startTestUi()
  const draft = { name: "Review by Ada", team: "demo", prompt_template: "Review {{title}} by {{author.name}}" }
  webhook = (await ui.call("POST", "/api/webhooks", draft)).webhook.id
  const verification = { preset: "github" }
  await ui.call("POST", "/api/webhooks", { ...draft, name: "Triage", verification, secret: "a secret for the tests" })
  run = await runReview(ui, webhook)
  await runReview(ui, webhook)
})
afterAll(() => ui?.close())

const field = (page: Page) => page.getByRole("dialog", { name: "Search" }).getByRole("combobox")
const options = (page: Page) => page.getByRole("dialog", { name: "Search" }).getByRole("option")
const pathOf = (page: Page) => new URL(page.url()).pathname

const opened = async (page: Page): Promise<void> => {
  await page.keyboard.press("Control+k")
  await eventually(() => field(page).evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
}

describe("the search for everything with a name", () => {
  it("opens by a key, also in a field, and goes to a webhook found by a part of its name, without a pointer", async () => {
    const page = await ui.newSignedInPage()
    const search = page.getByRole("searchbox", { name: "Search" })
    await search.focus()
    await opened(page)
    await options(page).filter({ hasText: "Review by Ada" }).waitFor()
    expect(await axeAtBothWidths(page)).toEqual([])
    // Escape and the key close it, and the focus returns.
    for (const key of ["Escape", "Control+k"]) {
      await page.keyboard.press(key)
      await eventually(() => search.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
      await opened(page)
    }
    await page.keyboard.type("ADA rev")
    await eventually(() => options(page).count()).toBe(2)
    const id = await options(page).first().getAttribute("id")
    expect(await field(page).getAttribute("aria-activedescendant")).toBe(id)
    await page.keyboard.press("ArrowDown")
    await eventually(() => options(page).nth(1).getAttribute("aria-selected")).toBe("true")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Review by Ada" }).waitFor()
    expect(pathOf(page)).toBe(`/webhooks/${webhook}`)
    expect(await page.getByRole("dialog").count()).toBe(0)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("opens a run by its whole or its short ID, and searches the runs for any text, with the mouse too", async () => {
    const page = await ui.newSignedInPage()
    for (const id of [run, run.slice(-8)]) {
      await page.goto("/teams")
      await page.getByRole("button", { name: "Search" }).click()
      await field(page).fill(id)
      await options(page).filter({ hasText: "Review # A change" }).waitFor()
      await page.keyboard.press("Enter")
      await eventually(() => pathOf(page)).toBe(`/runs/${run}`)
    }
    await page.getByRole("button", { name: "Search" }).click()
    await field(page).fill("no such thing")
    await eventually(() => options(page).allTextContents()).toEqual(["Search the runs for “no such thing”Runs"])
    await options(page).click()
    await eventually(() => new URL(page.url()).searchParams.get("search")).toBe("no such thing")
    await page.context().close()
  })

  it("goes to each page by its name", async () => {
    const page = await ui.newSignedInPage()
    for (const [name, path] of [
      ["Teams", "/teams"],
      ["Runs", "/runs"],
      ["Questions and approvals", "/runs?status=asks"],
      ["Alerts", "/alerts"],
      ["Webhooks", "/webhooks"],
      ["Overview", "/"]
    ] as const) {
      await opened(page)
      await field(page).fill(name)
      await options(page).getByText(name, { exact: true }).first().click()
      await eventually(() => page.url().replace(new URL(page.url()).origin, "")).toBe(path)
    }
    await page.context().close()
  })

  it("offers recipes, with the mark of each service, and to a viewer no page that the role may not use", async () => {
    const page = await ui.newSignedInPage()
    expect(await page.getByTitle("GitHub").textContent()).toBe("GHGitHub")
    await opened(page)
    await field(page).fill("github")
    await eventually(() => options(page).first().textContent()).toBe("GHNew webhook from GitHubRecipe")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "New webhook" }).waitFor()
    expect(new URL(page.url()).searchParams.get("from")).toBe("github")
    const { key } = await ui.call("POST", "/api/keys", { name: "Vera", role: "viewer" })
    const theirs = await ui.newPage()
    await theirs.context().request.post("/api/session", { data: { key } })
    await theirs.goto("/webhooks")
    await theirs.getByRole("link", { name: "Triage" }).waitFor()
    const offered = async (of: Page) => {
      await opened(of)
      await options(of).filter({ hasText: "Review by Ada" }).waitFor()
      return options(of).allTextContents()
    }
    const mayNot = ["New webhookPage", "API keysPage", "AuditPage", "GHNew webhook from GitHubRecipe"]
    expect(await offered(page)).toEqual(expect.arrayContaining(mayNot))
    expect((await offered(theirs)).filter((text) => mayNot.includes(text))).toEqual([])
    await page.context().close()
    await theirs.context().close()
  })
})
