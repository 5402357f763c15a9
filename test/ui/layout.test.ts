import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Gate } from "../support/Gate.ts"
import { createReview, runReview, startTestUi, type TestUi } from "./TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
  const { id } = await createReview(ui)
  await runReview(ui, id)
  await runReview(ui, id)
})
afterAll(() => ui?.close())

/** Records what moves on the page without an action of the user, as the browser measures it. */
const recordShifts = `
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
      const page = await ui.newSignedInPage({ width })
      await page.addInitScript(recordShifts)
      // Each response is shown before the next one arrives.
      const requests = ["/api/teams/demo", "/api/teams/demo/runs?limit=30", "/api/server", "/api/webhooks"]
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
      await page.getByText("This server uses its embedded bus").waitFor()
      await page.getByRole("list", { name: "Newest first" }).getByText("Review", { exact: true }).first().waitFor()
      await page.evaluate(drawn)
      expect(await page.evaluate("window.shifts")).toEqual([])
      await page.unrouteAll({ behavior: "ignoreErrors" })
      await page.context().close()
    })
  }
})
