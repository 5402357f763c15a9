import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Gate } from "../../../support/Gate.ts"
import { axe } from "../../Axe.ts"
import { chooseFound, createReview, errorsOf, eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let review: { readonly id: string }
let demo: { readonly id: string }
const ids: Array<string> = []

beforeAll(async () => {
  ui = await startTestUi()
  review = await createReview(ui)
  demo = (await ui.call("GET", "/api/webhooks")).data.find(({ name }: { name: string }) => name === "demo")
  for (const [id, variables] of [
    [review.id, { title: "Fix login", author: { name: "Ada" } }],
    [demo.id, { name: "world" }],
    [review.id, { title: "Needle in hay", author: { name: "Ann" } }]
  ] as const) {
    ids.unshift((await ui.call("POST", `/api/webhooks/${id}/runs?wait=true`, { variables })).run_id)
  }
  ids.unshift((await ui.call("POST", "/api/teams/demo/messages?wait=true", { message: "Hello" })).message_id)
})
afterAll(() => ui?.close())

const rows = (page: Page) => page.getByRole("list", { name: "Runs, newest first" }).getByRole("link")
const shown = (page: Page) =>
  rows(page).evaluateAll((links) => links.map((link) => link.getAttribute("href")!.replace("/runs/", "")))

/** A run that has ended; its id. */
const runReview = async (): Promise<string> => {
  const variables = { title: "Another review", author: { name: "Eve" } }
  return (await ui.call("POST", `/api/webhooks/${review.id}/runs?wait=true`, { variables })).run_id
}

// The first ones say which runs there are on the whole server; the later ones add some.
describe("the page of all runs", { shuffle: false }, () => {
  it("shows the runs of all webhooks and chat, and finds them by what stands in its address", async () => {
    const page = await ui.newSignedInPage()
    await page.getByRole("link", { name: "Runs", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor()
    await eventually(() => shown(page)).toEqual(ids)
    expect(await rows(page).first().textContent()).toContain("Chat")
    expect(await rows(page).nth(1).textContent()).toContain("Review · demo")

    await page.getByRole("searchbox", { name: "Search" }).fill("needle IN")
    await eventually(() => shown(page)).toEqual([ids[1]])
    expect(new URL(page.url()).search).toBe("?search=needle+IN")
    await page.getByLabel("Status").selectOption("Failed: error or timeout")
    await page.getByText("No runs match.").waitFor()
    await page.getByRole("button", { name: "Show all" }).click()
    await eventually(() => shown(page)).toEqual(ids)
    await chooseFound(page, "Webhook", "demo")
    await eventually(() => shown(page)).toEqual([ids[2]])
    await page.getByRole("button", { name: "More filters" }).click()
    await page.getByLabel("Source").selectOption("Chat messages")
    await page.getByText("No runs match.").waitFor()
    const address = page.url()
    await page.goto("/webhooks")
    await page.goto(address)
    await page.getByText("No runs match.").waitFor()
    expect(await page.getByLabel("Source").inputValue()).toBe("chat")

    // The id of a run, wherever it is pasted, and whatever else is filtered.
    await page.getByRole("searchbox", { name: "Search" }).fill(` ${ids[3]} `)
    await eventually(() => shown(page)).toEqual([ids[3]])
    await page.goto("/webhooks")
    await page.getByRole("searchbox", { name: "Search" }).fill(ids[3]!)
    await page.getByRole("link", { name: "Search the runs" }).click()
    await eventually(() => shown(page)).toEqual([ids[3]])
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("shows the runs of the last hour or days, counted from when the page was opened", async () => {
    const page = await ui.newPage({ signedIn: true })
    let from = ""
    page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url())
      if (pathname === "/api/runs" && !searchParams.has("asks")) from = searchParams.get("from") ?? ""
    })
    const hoursBack = () => Math.round((Date.now() - Date.parse(from)) / 360_000) / 10
    await page.goto("/runs?from=2026-01-02&period=constructor")
    await page.getByLabel("Time").selectOption("Last hour")
    await eventually(hoursBack).toBe(1)
    await eventually(() => shown(page)).toEqual(ids)
    expect(new URL(page.url()).search).toBe("?period=1h")
    await page.goto("/runs?period=7d")
    await eventually(hoursBack).toBe(7 * 24)
    await page.getByRole("button", { name: "More filters" }).click()
    await page.getByLabel("From").fill("2026-02-03")
    await eventually(() => new URL(page.url()).search).toBe("?from=2026-02-03")
    expect(await page.getByLabel("Time").inputValue()).toBe("")
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await axe(page)).toEqual([])
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    }
    await page.context().close()
  })

  it("is worked with by keys, shows a run beside it, and what happens meanwhile", async () => {
    const page = await ui.newSignedInPage()
    await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor()
    await page.keyboard.press("/")
    await eventually(() => page.evaluate("document.activeElement.type")).toBe("search")
    await page.keyboard.type("review")
    await eventually(() => shown(page)).toEqual([ids[1], ids[3]])
    const run_id = await runReview()
    // Typing is not disturbed by the keys of the list.
    await page.keyboard.type("j")
    await page.getByText("No runs match.").waitFor()
    await page.keyboard.press("Backspace")
    await eventually(() => shown(page)).toEqual([run_id, ids[1], ids[3]])
    await page.getByRole("heading", { level: 1 }).click()
    const focused = () => page.evaluate<string>("(document.activeElement.getAttribute('href') ?? '').slice(6)")
    for (const [key, expected] of [
      ["j", run_id],
      ["j", ids[1]],
      ["j", ids[3]],
      ["j", ids[3]],
      ["k", ids[1]]
    ] as const) {
      await page.keyboard.press(key)
      expect(await focused()).toBe(expected)
    }
    // Beside the list, where there is room.
    const panel = page.getByRole("region", { name: "Run", exact: true })
    await page.keyboard.press("Enter")
    await panel.getByRole("heading", { level: 2, name: "Needle in hay" }).waitFor()
    expect(new URL(page.url()).searchParams.get("run")).toBe(ids[1])
    expect(await axe(page)).toEqual([])
    await page.keyboard.press("j")
    await panel.getByRole("heading", { level: 2, name: "Fix login" }).waitFor()
    expect(await shown(page)).toEqual([run_id, ids[1], ids[3]])
    await page.keyboard.press("Escape")
    await panel.waitFor({ state: "detached" })
    await page.setViewportSize({ width: 1000, height: 800 })
    await page.keyboard.press("k")
    await page.keyboard.press("Enter")
    await page.waitForURL(`**/runs/${ids[1]}`)
    await page.goBack()
    await eventually(() => shown(page)).toEqual([run_id, ids[1], ids[3]])
    await page.context().close()
  })

  it("shows what came since, when one goes back to a list of a moment ago", async () => {
    const page = await ui.newSignedInPage()
    // No list grows old: it is read again only because of changes.
    await page.clock.setFixedTime(Date.now())
    await page.goto(`/runs?webhook=${review.id}`)
    await rows(page).first().waitFor()
    const before = await shown(page)
    const seen = await runReview()
    await eventually(() => shown(page)).toEqual([seen, ...before])
    await page.getByRole("button", { name: "Show all" }).click()
    await eventually(() => shown(page)).toContain(ids[0])
    const unseen = await runReview()
    await eventually(() => shown(page)).toContain(unseen)
    await page.goBack()
    await eventually(() => shown(page)).toEqual([unseen, seen, ...before])
    await page.context().close()
  })

  it("shows what was asked for, also when the pointer is over the rows of before", async () => {
    const page = await ui.newSignedInPage()
    await page.goto("/runs")
    await rows(page).first().waitFor()
    const gate = new Gate()
    await page.route("**/api/runs?*", async (route) => {
      await gate.opened
      await route.continue()
    })
    await page.getByRole("searchbox", { name: "Search" }).fill("Needle")
    await page.getByLabel("Runs found").and(page.locator("[aria-busy=true]")).waitFor()
    await rows(page).nth(1).hover()
    expect(await axe(page)).toEqual([])
    gate.open()
    await eventually(() => shown(page)).toEqual([ids[1]])
    await page.context().close()
  })

  it("cancels and replays the runs that are chosen, after a question, and exports what is found", async () => {
    await ui.call("POST", "/api/teams", { team: "idle" })
    const draft = { name: "Waits", team: "idle", prompt_template: "x", when_team_stopped: "queue" }
    const { id } = (await ui.call("POST", "/api/webhooks", draft)).webhook
    const queued: Array<string> = []
    for (let n = 0; n < 3; n++) {
      queued.unshift((await ui.call("POST", `/api/webhooks/${id}/runs`, { variables: {} })).run_id)
    }
    const page = await ui.newSignedInPage()
    await page.goto("/runs?team=idle")
    await eventually(() => shown(page)).toEqual(queued)
    await page
      .getByRole("checkbox", { name: /^Select x, / })
      .first()
      .check()
    await page.keyboard.press("Escape")
    await rows(page).nth(2).focus()
    await page.keyboard.press("x")
    await page.getByText("2 selected").waitFor()
    await page.keyboard.press("c")
    await page.getByRole("alertdialog", { name: "Cancel 2 runs?" }).getByRole("button", { name: "Cancel them" }).click()
    await page.getByText("2 runs cancelled").waitFor()
    const statuses = () => Promise.all(queued.map(async (id) => (await ui.call("GET", `/api/runs/${id}`)).status))
    expect(await statuses()).toEqual(["cancelled", "queued", "cancelled"])

    await page.getByRole("button", { name: "Select all on this page" }).click()
    await page.getByRole("button", { name: "Cancel 1 run" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Cancel 1 run?" })
    await dialog.getByText("2 selected runs already ended").waitFor()
    await dialog.getByRole("button", { name: "Keep them" }).click()

    await page.getByRole("button", { name: "Select none" }).click()
    await rows(page).nth(1).focus()
    await page.keyboard.press("r")
    const lists = new Gate()
    await page.route("**/api/runs?*", async (route) => {
      await lists.opened
      await route.continue()
    })
    await page.getByRole("alertdialog", { name: "Replay 1 run?" }).getByRole("button", { name: "Replay" }).click()
    // What others do waits while one points at the rows; what one has done oneself does not.
    await rows(page).nth(1).hover()
    lists.open()
    await page.getByText("1 run replayed").waitFor()
    await eventually(async () => (await shown(page)).length).toBe(4)
    queued.unshift((await shown(page))[0]!)
    expect((await ui.call("GET", `/api/runs/${queued[0]}`)).replay_of).toBe(queued[2])

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "JSON Lines" }).click()
    ])
    expect(download.suggestedFilename()).toBe("runs.jsonl")
    const lines = readFileSync(await download.path(), "utf8")
      .trimEnd()
      .split("\n")
    expect(lines.map((line) => JSON.parse(line).run_id)).toEqual(queued)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("offers to cancel failed runs that would be tried again", async () => {
    const { data } = await ui.call("GET", "/api/runs?source=webhook&limit=2")
    const [failed, ended] = data
    const waits = { ...failed, status: "error", attempt: 1, max_attempts: 4, retry_at: "2126-01-02T10:00:00.000Z" }
    const page = await ui.newSignedInPage()
    await page.route("**/api/runs?*", (route) => route.fulfill({ json: { data: [waits, ended], next_cursor: null } }))
    await page.goto("/runs?source=webhook")
    await eventually(() => shown(page)).toEqual([failed.run_id, ended.run_id])
    await page.getByRole("button", { name: "Select all on this page" }).click()
    await page.getByRole("button", { name: "Cancel 1 run" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Cancel 1 run?" })
    await dialog.getByText("Failed runs won't be retried.").waitFor()
    await page.route("**/api/runs/cancel", (route) =>
      route.fulfill({ json: { cancelled: [failed.run_id], refused: [] } })
    )
    const [request] = await Promise.all([
      page.waitForRequest("**/api/runs/cancel"),
      dialog.getByRole("button", { name: "Cancel them" }).click()
    ])
    expect(request.postDataJSON()).toEqual({ run_ids: [failed.run_id] })
    await page.getByText("1 run cancelled").waitFor()
    await page.context().close()
  })
})
