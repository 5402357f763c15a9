import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createReview, eventually, runReview, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let webhook: { readonly id: string }

beforeAll(async () => {
  ui = await startTestUi()
  webhook = await createReview(ui)
  await runReview(ui, webhook.id)
  await ui.call("POST", "/api/teams", { team: "idle" })
})
afterAll(() => ui?.close())

describe("the overview", () => {
  it("shows first what waits for a person, then the last day and what each team does, after signing in", async () => {
    const page = await ui.newPage({ signedIn: true })
    const { data: runs } = await ui.call("GET", "/api/runs")
    const conversation = { prompt: "Release 7", response: "All tests pass.\n\nShip **it**?" }
    const since = runs[0].accepted_at
    const now = {
      work: [{ run_id: runs[0].run_id, team: "demo", webhook_id: webhook.id, since, activity: "Read src/a.ts" }]
    }
    const asking = { ...runs[0], conversation, asks: ["Ship it"] }
    await page.route("**/api/now", (route) => route.fulfill({ json: now }))
    await page.route("**/api/runs?asks=true*", (route) => route.fulfill({ json: { data: [asking] } }))
    await page.route("**/api/activity", async (route) => {
      const { data, ...list } = await (await route.fetch()).json()
      const hours = [{ hour: 20, success: 1, error: 2, timeout: 1 }]
      await route.fulfill({ json: { ...list, data: data.map((each: any) => ({ ...each, hours })) } })
    })
    await page.route("**/api/teams", async (route) => {
      const { data, ...list } = await (await route.fetch()).json()
      await route.fulfill({ json: { ...list, data: data.map((each: any) => ({ ...each, queued: 7 })) } })
    })
    await page.goto("/")
    const part = (name: string) => page.getByRole("region", { name }).getByRole("listitem")
    await eventually(() => part("Waiting for you").allTextContents()).toEqual([
      expect.stringMatching(/^Ship it\?Review.*Asks$/),
      "idle7 queuedStopped",
      "Review3 of 4 runs in 24 hoursFailing"
    ])
    await eventually(() => part("Teams").allTextContents()).toEqual([
      expect.stringMatching(/^demoConnectedRead src\/a\.tsReview.*7 waiting$/),
      "idleStoppedIdle7 waiting"
    ])
    const figures = page.getByRole("region", { name: "Last 24 hours" })
    expect(await figures.locator("dt").allTextContents()).toEqual(["Runs", "Success rate", "Median time", "Cost"])
    expect((await figures.locator(".big").allTextContents())[1]).toBe("100%")
    await page.getByRole("link", { name: "Ship it?" }).click()
    await page.getByRole("heading", { level: 1, name: "Review" }).waitFor()
    await page.unrouteAll({ behavior: "ignoreErrors" })
    await page.context().close()
  })

  it("counts and lists a run that has just ended, and leads from a day to its runs", async () => {
    const page = await ui.newPage({ signedIn: true, timezone: "America/New_York" })
    await page.goto("/")
    const count = page.getByRole("region", { name: "Last 24 hours" }).locator(".big").first()
    const rows = page.getByRole("region", { name: "Latest runs" }).getByRole("listitem")
    await rows.first().waitFor()
    const before = [Number(await count.textContent()), await rows.count()]
    await runReview(ui, webhook.id)
    await eventually(async () => [Number(await count.textContent()), await rows.count()]).toEqual(
      before.map((number) => number + 1)
    )
    expect(await page.getByRole("region", { name: "Waiting for you" }).count()).toBe(0)
    const { days } = await ui.call("GET", "/api/totals")
    const today = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" }).format(
      Date.parse(days.at(-1).at)
    )
    const last = page.getByRole("region", { name: "Last 14 days" }).getByRole("button").last()
    expect(await last.getAttribute("aria-label")).toMatch(new RegExp(`^${today} \\(UTC\\): `))
    await page.getByRole("heading", { name: "Last 14 days in UTC" }).waitFor()
    await last.click()
    await page.waitForURL(/\/runs\?from=/)
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor()
    await page.context().close()
  })

  it("counts a run that ended while the page was loading", async () => {
    const page = await ui.newPage({ signedIn: true })
    let open = () => {}
    const mayOpen = new Promise<void>((resolve) => (open = resolve))
    await page.route("**/api/events", async (route) => {
      await mayOpen
      await route.continue()
    })
    await page.goto("/")
    const count = page.getByRole("region", { name: "Last 24 hours" }).locator(".big").first()
    const before = Number(await count.textContent())
    await runReview(ui, webhook.id)
    open()
    await eventually(async () => Number(await count.textContent())).toBe(before + 1)
    await page.context().close()
  })

  it("links to the API's documentation, and says which version it is", async () => {
    const page = await ui.newSignedInPage()
    const { version } = await ui.call("GET", "/api/server")
    await page.getByText(`Webhook Trigger ${version}`).waitFor()
    await page.getByRole("link", { name: "Guides", exact: true }).click()
    await page.waitForURL("**/docs/README.md")
    await page.getByRole("link", { name: "← Web UI" }).click()
    await page.getByRole("link", { name: "API documentation" }).click()
    await page.waitForURL("**/docs")
    await page.context().close()
  })
})

describe("the overview of a new server", () => {
  it("leads to a first answer and shows the line that starts it with an agent, until another team has work", async () => {
    const page = await ui.newPage({ signedIn: true })
    const start = page.getByRole("region", { name: "Get started" })
    await page.goto("/")
    const { command } = await ui.call("GET", "/api/server")
    await start.getByText(`${command} serve --agent 'review=claude --permission-mode acceptEdits'`).waitFor()
    await start.getByRole("tab", { name: "Any program" }).click()
    await start.getByText(`${command} serve --leader 'review=cat'`).waitFor()
    await start.getByText("None of claude").waitFor()
    await start.getByRole("link", { name: "Send it a test" }).click()
    await page.getByRole("region", { name: "Send a test" }).waitFor()

    await page.route("**/api/server", async (route) => {
      const agents = [{ title: "Codex", example: "codex --sandbox workspace-write" }]
      await route.fulfill({ json: { ...(await (await route.fetch()).json()), agents } })
    })
    await page.goto("/")
    await start.getByText("Installed on this machine: Codex").waitFor()
    await start.getByText(`${command} serve --agent 'review=codex --sandbox workspace-write'`).waitFor()

    await page.route("**/api/teams", async (route) => {
      const { data, ...list } = await (await route.fetch()).json()
      await route.fulfill({ json: { ...list, data: data.map((each: any) => ({ ...each, running: true })) } })
    })
    await page.goto("/")
    await page.getByRole("region", { name: "Teams" }).waitFor()
    expect(await start.count()).toBe(0)
    await page.unrouteAll({ behavior: "ignoreErrors" })
    await page.context().close()
  })
})

describe("the runs of a webhook", () => {
  it("stay where they are under the pointer, and say how many are new", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}`)
    const rows = page.getByRole("list", { name: "Runs, newest first" }).getByRole("link")
    await rows.first().hover()
    const before = await rows.count()
    const first = await rows.first().getAttribute("href")
    await runReview(ui, webhook.id)
    await runReview(ui, webhook.id)
    const button = page.getByRole("button", { name: "2 new runs" })
    await button.waitFor()
    expect(await rows.count()).toBe(before)
    expect(await rows.first().getAttribute("href")).toBe(first)
    await button.click()
    await eventually(() => rows.count()).toBe(before + 2)
    await page.context().close()
  })

  it("are those of a bar of the chart once it is clicked, or chosen with the keyboard", async () => {
    const page = await ui.newPage({ signedIn: true })
    // Another bar, of hours ago, whose runs are gone.
    await page.route("**/statistics?*", async (route) => {
      const { buckets, ...others } = await (await route.fetch()).json()
      const earlier = { ...buckets[5], success: 1 }
      await route.fulfill({ json: { ...others, buckets: buckets.with(5, earlier) } })
    })
    await page.goto(`/webhooks/${webhook.id}`)
    const rows = page.getByRole("list", { name: "Runs, newest first" }).getByRole("link")
    await rows.first().waitFor()
    const { data } = await ui.call("GET", `/api/webhooks/${webhook.id}/runs`)
    const bars = page.getByRole("button", { name: /Show these runs$/ })
    const shown: Array<number> = []
    for (const choose of [() => bars.first().click(), () => bars.last().press("Enter")]) {
      await choose()
      await page.getByText(/^Accepted from /).waitFor()
      const { searchParams } = new URL(page.url())
      const [from, to] = [searchParams.get("from")!, searchParams.get("to") ?? "later"]
      const ofBar = data.filter(({ accepted_at }: any) => from <= accepted_at && accepted_at < to)
      await eventually(() => rows.count()).toBe(ofBar.length)
      shown.push(ofBar.length)
      await page.getByRole("button", { name: "Show all" }).click()
      await page.getByText(/^Accepted from /).waitFor({ state: "detached" })
      await eventually(() => rows.count()).toBe(data.length)
    }
    expect(shown).toEqual([0, expect.toSatisfy((count: number) => count > 0)])
    await page.unrouteAll({ behavior: "ignoreErrors" })
    await page.context().close()
  })
})

describe("a preview", () => {
  it("shows the names of values that are missing", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    await eventually(() => page.locator("output").textContent()).toBe("Review {{title}} by {{author.name}}")
    await page.getByRole("textbox", { name: "title" }).fill("it")
    await eventually(() => page.locator("output").textContent()).toBe("Review it by {{author.name}}")
    await page.context().close()
  })
})
