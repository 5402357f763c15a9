import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../Axe.ts"
import { createPages, open } from "../Pages.ts"
import { adminKey, errorsOf, eventually, foreignRequestsOf, signIn, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let content: Awaited<ReturnType<typeof createPages>>

beforeAll(async () => {
  ui = await startTestUi()
  content = await createPages(ui, { webhook: "Review", setUp: "Alerts", idleTeam: "idle" })
})
afterAll(() => ui?.close())

describe("accessibility by every rule of axe", () => {
  /** Both widths, each in light and dark; the theme changes nothing but colours. */
  const check = async (page: Page, what: string): Promise<ReadonlyArray<string>> => {
    const found: Array<string> = []
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme })
        const background = colorScheme === "dark" ? "rgb(18, 22, 20)" : "rgb(245, 244, 239)"
        await eventually(() => page.evaluate("getComputedStyle(document.documentElement).backgroundColor")).toBe(
          background
        )
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        const violations = await axe(page, colorScheme === "dark" ? "colours" : undefined)
        found.push(...violations.map((violation) => `${what}, ${colorScheme}, ${width}: ${violation}`))
      }
      const over = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))
      if (over > 0) found.push(`${what} is ${over} pixels wider than the window of ${width}`)
    }
    return found
  }

  it("has no violation on any page, light and dark, 390 and 1440 pixels wide", async () => {
    const page = await ui.newPage()
    await page.goto("/")
    await page.getByLabel("API key or admin key").waitFor()
    const found = [...(await check(page, "signing in"))]
    await signIn(page)
    for (const each of content.pages) {
      await open(page, each)
      found.push(...(await check(page, each[0])))
    }
    expect(found).toEqual([])
    expect(errorsOf(page)).toEqual([])
    expect(foreignRequestsOf(page)).toEqual([])
    await page.context().close()
  })

  it("has no violation in the guides, light and dark", async () => {
    const page = await ui.newPage()
    await page.goto("/docs/README.md")
    await page.getByRole("main").getByRole("link", { name: "destinations", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Destinations" }).waitFor()
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await axe(page, colorScheme === "dark" ? "colours" : undefined), colorScheme).toEqual([])
    }
    expect(errorsOf(page)).toEqual([])
    await page.getByRole("link", { name: "← Web UI" }).click()
    await page.getByLabel("API key or admin key").waitFor()
    await page.context().close()
  })

  it("has no violation in the API's description, light and dark, whose search shows what has all words", async () => {
    const page = await ui.newPage()
    await page.goto("/docs")
    const entry = (name: string) => page.getByRole("main").getByRole("heading", { level: 3, name, exact: true })
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await axe(page, colorScheme === "dark" ? "colours" : undefined), colorScheme).toEqual([])
    }
    await page.getByRole("searchbox", { name: "Search" }).fill("pause team")
    await page.getByText(/^\d+ found$/).waitFor()
    expect(await entry("Pause a team").isVisible()).toBe(true)
    expect(await entry("Read the audit events").isVisible()).toBe(false)
    expect(await page.getByRole("navigation").getByRole("link", { name: "Sessions", exact: true }).isVisible()).toBe(
      false
    )
    // A link to what the search has hidden ends it.
    await page.evaluate("location.hash = 'schemas'")
    await page.evaluate("location.hash = 'internal_error'")
    await eventually(() => page.getByRole("searchbox").inputValue()).toBe("")
    expect(await entry("Read the audit events").isVisible()).toBe(true)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("has no violation in dialogs, lists, faults and details", async () => {
    const page = await ui.newPage({ signedIn: true })
    const found: Array<string> = []
    await page.goto("/webhooks/new")
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.getByText("Enter a name.").waitFor()
    await page.getByLabel("Prompt template").fill("{{broken")
    found.push(...(await check(page, "a form with faults")))
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^demo/ }).waitFor()
    found.push(...(await check(page, "the list of teams")))
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "New team" }).click()
    await page.getByRole("dialog", { name: "New team" }).waitFor()
    found.push(...(await check(page, "the dialog for a new team")))
    await page.goto(`/webhooks/${content.webhook.id}`)
    await page.getByText("Show as a table").click()
    found.push(...(await check(page, "a table")))
    await page.getByRole("tab", { name: "Test" }).click()
    await page.getByRole("button", { name: "Send test" }).click()
    await page.getByRole("button", { name: "Send without them" }).click()
    await page.getByRole("region", { name: "Answer to the test" }).waitFor()
    found.push(...(await check(page, "a test")))
    await page.getByRole("tab", { name: "Settings" }).click()
    await page.getByRole("button", { name: "Delete webhook" }).click()
    await page.getByRole("alertdialog").waitFor()
    found.push(...(await check(page, "the dialog that confirms a deletion")))
    await page.goto(`/runs/${content.chat_id}`)
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("region", { name: "Replay", exact: true }).waitFor()
    found.push(...(await check(page, "the form that replays a message")))
    expect(found).toEqual([])
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})

describe("the keyboard", () => {
  it("signs in, opens a webhook, and answers a dialog, without a pointer", async () => {
    const page = await ui.newPage()
    await page.goto("/webhooks")
    // The field has the focus already.
    await eventually(() => page.evaluate("document.activeElement.type")).toBe("password")
    await page.keyboard.type(adminKey)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Webhooks" }).waitFor()
    await page.keyboard.press("Tab")
    await page.getByRole("link", { name: "Review" }).focus()
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Review" }).waitFor()
    // Arrows move between the tabs.
    await page.getByRole("tab", { name: "Runs" }).focus()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowRight")
    await page.getByRole("button", { name: "Regenerate token" }).press("Enter")
    await page.getByRole("alertdialog", { name: "Regenerate the token?" }).waitFor()
    // The focus moves inside, stays there while the dialog is open, and returns afterwards.
    const inside = () => page.evaluate("document.activeElement.closest('[role=alertdialog]') !== null")
    await eventually(inside).toBe(true)
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press("Tab")
      expect(await inside()).toBe(true)
    }
    await page.keyboard.press("Escape")
    await page.getByRole("alertdialog").waitFor({ state: "detached" })
    await eventually(() => page.evaluate("document.activeElement.textContent")).toBe("Regenerate token")
    await page.context().close()
  })
})
