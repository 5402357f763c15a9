import type { Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { createReview, reviewDraft, runReview, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
  const { id } = await createReview(ui)
  await runReview(ui, id)
  await runReview(ui, id)
})
afterAll(() => ui?.close())

/**
 * Records what moves on the page without an action of the user, as the browser measures it. The clock stands still,
 * since "just now" is not as wide as "10 sec ago".
 */
const recordShifts = `
  Date.now = ((opened) => () => opened)(Date.now())
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { sources } of list.getEntries()) {
      for (const { node } of sources) window.shifts.push((node?.outerHTML ?? "a removed node").slice(0, 100))
    }
  }).observe({ type: "layout-shift", buffered: true })`

const drawn = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

describe("a team's page", () => {
  for (const width of [390, 1440]) {
    it(`does not move what it already shows while the rest is loaded, ${width} pixels wide`, async () => {
      const page = await ui.newPage({ signedIn: true, width })
      await page.addInitScript(recordShifts)
      // Each response is shown before the next one arrives.
      const requests = [
        "/api/teams/demo",
        "/api/teams/demo/runs?limit=30",
        "/api/teams/demo/leader-keys",
        "/api/server",
        "/api/webhooks"
      ]
      const gates = new Map(requests.map((request) => [request, new Gate()]))
      await page.route("**/api/**", async (route) => {
        await gates.get(route.request().url().slice(ui.server.url.length))?.opened
        await route.continue()
      })
      await page.goto("/teams/demo")
      await page.getByRole("heading", { level: 1, name: "demo" }).waitFor()
      for (const request of requests) {
        await page.evaluate(drawn)
        const response = page.waitForResponse(ui.server.url + request)
        gates.get(request)!.open()
        await response
      }
      await page.getByText("This server uses the embedded bus").waitFor()
      await page.getByRole("list", { name: "Newest first" }).getByText("Review", { exact: true }).first().waitFor()
      await page.evaluate(drawn)
      expect(await page.evaluate("window.shifts")).toEqual([])
      await page.unrouteAll({ behavior: "ignoreErrors" })
      await page.context().close()
    })
  }
})

describe("a page with room for all of it", () => {
  it("does not scroll, and has the footer at the bottom of the window", async () => {
    const page = await ui.newPage({ signedIn: true })
    for (const [path, text] of [
      ["/teams", "1 leader connected"],
      ["/alerts", "No rules yet."]
    ] as const) {
      await page.goto(path)
      await page.getByText(text).waitFor()
      expect([path, await page.evaluate("document.documentElement.scrollHeight - innerHeight")]).toEqual([path, 0])
      const { y, height } = (await page.getByRole("contentinfo").boundingBox())!
      expect([path, y + height]).toEqual([path, 900])
    }
    await page.context().close()
  })
})

describe("the form of a new webhook", () => {
  let page: Page
  let preview: Gate
  let button: Locator
  const open = async (prompt_template: string) => {
    page = await ui.newPage({ signedIn: true })
    // All of the form: where the page scrolls, the browser makes up for what grows above the button.
    await page.setViewportSize({ width: 1440, height: 1800 })
    preview = new Gate()
    await page.route("**/api/templates/preview", async (route) => {
      await preview.opened
      await route.continue()
    })
    await page.goto("/webhooks/new")
    await page.getByLabel("Name", { exact: true }).fill("Review")
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^demo/ }).click()
    await page.getByLabel("Prompt template").fill(prompt_template)
    button = page.getByRole("button", { name: "Create webhook" })
    await button.scrollIntoViewIfNeeded()
  }
  const showVariables = async () => {
    preview.open()
    await page.getByLabel("Variables in the template").waitFor()
  }

  it("does not move its button by a line of variables that comes when typing has paused", async () => {
    await open(reviewDraft.prompt_template)
    const before = await button.boundingBox()
    await showVariables()
    expect(await button.boundingBox()).toEqual(before)
    await page.context().close()
  })

  it("is saved by a click during which the button moves away, and not by one that moves off the button", async () => {
    await open(Array.from({ length: 40 }, (_, i) => `{{variable_${i}}}`).join(" "))
    const saved: Array<string> = []
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/api/webhooks")) saved.push(request.url())
    })
    const { x, y } = (await button.boundingBox())!
    await page.mouse.move(x + 5, y + 5)
    await page.mouse.down()
    await page.mouse.move(x + 5, y - 20)
    await page.mouse.up()
    await page.mouse.move(x + 5, y + 5)
    await page.mouse.down()
    await showVariables()
    expect((await button.boundingBox())!.y).toBeGreaterThan(y + 5)
    await page.mouse.up()
    await page.getByRole("heading", { level: 1, name: "Save your token" }).waitFor()
    expect(saved).toHaveLength(1)
    await page.context().close()
  })
})

describe("the sections in a narrow window", () => {
  it("are in a menu that the next page closes", async () => {
    const page = await ui.newPage({ signedIn: true, width: 390 })
    await page.goto("/")
    const menu = page.getByRole("button", { name: "Menu" })
    await menu.waitFor()
    expect(await page.getByRole("navigation", { name: "Sections" }).isVisible()).toBe(false)
    expect((await page.getByRole("banner").boundingBox())!.height).toBeLessThan(60)
    await menu.click()
    expect(await menu.getAttribute("aria-expanded")).toBe("true")
    await page.getByRole("link", { name: "Teams", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor()
    expect(await page.getByRole("navigation", { name: "Sections" }).isVisible()).toBe(false)
    await page.context().close()
  })
})
