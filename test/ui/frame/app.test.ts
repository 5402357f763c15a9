import type { Page, Route } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { adminKey, createReview, eventually, runReview, signIn, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let webhook: { readonly id: string }
let run_id: string

beforeAll(async () => {
  ui = await startTestUi()
  webhook = await createReview(ui)
  run_id = await runReview(ui, webhook.id)
})
afterAll(() => ui?.close())

describe("the session", () => {
  it("is required at every address, rejects a wrong key, and ends when the user signs out", async () => {
    const page = await ui.newPage()
    await page.goto(`/runs/${run_id}`)
    await page.getByLabel("API key or admin key").fill("not the key")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByText("This is neither the admin key nor an API key.").waitFor()
    await signIn(page)
    // The page that was requested is shown.
    await page.getByRole("heading", { name: /^Review/ }).waitFor()
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ name: "webhook_trigger_session", httpOnly: true, sameSite: "Strict", path: "/" })
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("API key or admin key").waitFor()
    expect(await page.context().cookies()).toEqual([])
    await page.context().close()
  })

  it("can be renewed in the middle of work without losing it", async () => {
    const page = await ui.newSignedInPage()
    await page.getByRole("link", { name: "New webhook" }).click()
    await page.getByLabel("Prompt template").fill("A long thought about {{everything}}")
    await page.context().clearCookies()
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor()
    await page.getByLabel("API key or admin key").fill(adminKey)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    expect(await page.getByLabel("Prompt template").inputValue()).toBe("A long thought about {{everything}}")
    await page.context().close()
  })
})

describe("the connection", () => {
  it("is reported when lost, and changes made meanwhile are shown once it is back", async () => {
    const page = await ui.newSignedInPage()
    await page.getByRole("link", { name: "Review" }).waitFor()
    await page.context().setOffline(true)
    await page.getByText("The server cannot be reached. This page may be out of date").waitFor()
    const { webhook: other } = await ui.call("POST", "/api/webhooks", {
      name: "Created meanwhile",
      team: "demo",
      prompt_template: "x"
    })
    await page.context().setOffline(false)
    await page.getByRole("link", { name: "Created meanwhile" }).waitFor()
    await page.getByText("The server cannot be reached.").waitFor({ state: "detached" })
    await ui.call("DELETE", `/api/webhooks/${other.id}`)
    await page.context().close()
  })

  it("has one event stream for all tabs, which another tab takes over when its tab is closed", async () => {
    const first = await ui.newSignedInPage()
    await first.getByText("Live", { exact: true }).waitFor()
    const streams: Array<string> = []
    first.context().on("request", (request) => {
      if (request.url().endsWith("/api/events")) streams.push(request.url())
    })
    const second = await first.context().newPage()
    await second.goto("/webhooks")
    const showsChange = async (page: Page, enabled: boolean) => {
      await page.getByText("Live", { exact: true }).waitFor()
      await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { enabled })
      const name = `Review is ${enabled ? "on" : "off"}`
      await page.getByRole("switch", { name }).waitFor()
    }
    await showsChange(second, false)
    expect(streams).toEqual([])
    await first.close()
    await eventually(() => streams.length).toBe(1)
    await showsChange(second, true)
    await second.context().close()
  })

  it("works without server-sent events, by polling", async () => {
    const page = await ui.newPage()
    await page.route("**/api/events", (route) => route.abort())
    await page.goto("/webhooks")
    await signIn(page)
    await page.getByText("Polling").waitFor()
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { enabled: false })
    await page.getByRole("switch", { name: "Review is off" }).waitFor()
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { enabled: true })
    await page.context().close()
  })
})

describe("numbers and times", () => {
  it("are in English in a browser of any language, and in the user's own variant of English", async () => {
    const [at, now] = ["2026-03-02T12:00:00.000Z", "2026-03-02T15:00:00.000Z"]
    const all = [{ ...(await ui.call("GET", `/api/webhooks/${webhook.id}`)), last_triggered_at: at }]
    const shown = async (locale: string) => {
      const page = await ui.newPage({ signedIn: true, locale })
      await page.clock.setFixedTime(now)
      await page.route("**/api/webhooks", (route) => route.fulfill({ json: { data: all, next_cursor: null } }))
      await page.goto("/webhooks")
      const time = page.locator("time").first()
      await time.waitFor()
      const texts = [await time.textContent(), await time.getAttribute("title")]
      await page.context().close()
      return texts
    }
    expect(await shown("de-DE")).toEqual(["3 hr ago", expect.stringMatching(/^2 Mar 2026/)])
    expect(await shown("en-US")).toEqual(["3 hr. ago", expect.stringMatching(/^Mar 2, 2026/)])
  })
})

describe("the list of webhooks", () => {
  it("shows all of them for a state in the address that does not exist", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks?state=nonsense")
    await page.getByRole("switch", { name: "Review is on" }).waitFor()
    expect(await page.getByLabel("State").inputValue()).toBe("")
    await page.context().close()
  })
})

describe("a webhook's toggle", () => {
  it("keeps its new position when the response to an earlier request arrives late", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}`)
    const toggle = page.getByRole("switch")
    await toggle.waitFor()
    const [requested, pressed, answered] = [new Gate(), new Gate(), new Gate()]
    const address = `/api/webhooks/${webhook.id}`
    const delay = async (route: Route) => {
      const response = await route.fetch()
      requested.open()
      await pressed.opened
      // The page may have cancelled the request.
      await route.fulfill({ response }).catch(() => {})
      answered.open()
    }
    await page.route(`**${address}`, delay, { times: 1 })
    // A change by someone else makes the page read the webhook.
    await ui.call("PATCH", address, { timeout_seconds: 60 })
    await requested.opened
    await toggle.press("Space")
    await page.getByText("Review is off").waitFor()
    pressed.open()
    await answered.opened
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(await toggle.isChecked()).toBe(false)
    await toggle.press("Space")
    await page.getByText("Review is on").waitFor()
    await page.context().close()
  })
})
