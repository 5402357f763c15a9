import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi(Effect.succeed({ LEADERS: "failing=false" }))
  for (const team of ["docs", "ops"]) await ui.call("POST", "/api/teams", { team })
})
afterAll(() => ui.close())

const create = async (name: string, more: Readonly<Record<string, unknown>> = {}): Promise<any> =>
  ui.call("POST", "/api/webhooks", { name, team: "docs", prompt_template: "Go", ...more })

const trigger = async ({ trigger_url }: { readonly trigger_url: string }, query = ""): Promise<number> => {
  const url = new URL(new URL(trigger_url).pathname + query, ui.server.url)
  const headers = { "content-type": "application/json" }
  return (await fetch(url, { method: "POST", headers, body: '{"variables":{}}' })).status
}

/** Opens the list of the webhooks whose names contain the word. */
const open = async (word: string): Promise<Page> => {
  const page = await ui.newPage({ signedIn: true })
  await page.goto(`/webhooks?search=${word}`)
  await page.getByRole("list", { name: "Webhooks" }).waitFor()
  return page
}

const names = (page: Page) =>
  page.getByRole("list", { name: "Webhooks" }).locator(".webhook-name").getByRole("link").allInnerTexts()

const select = async (page: Page, ...selected: ReadonlyArray<string>) => {
  for (const name of selected) await page.getByRole("checkbox", { name: `Select ${name}`, exact: true }).check()
}

describe("the list of webhooks", () => {
  it("is ordered by name with its numbers, by team, by the last run, and by failures", async () => {
    const failing = await create("sorted 2", { team: "failing" })
    const tenth = await create("sorted 10", { team: "ops", when_team_stopped: "queue" })
    await create("sorted 1", { team: "ops" })
    expect(await trigger(failing, "?wait=true")).toBe(502)
    expect(await trigger(tenth)).toBe(202)
    const page = await open("sorted")
    await eventually(() => names(page)).toEqual(["sorted 1", "sorted 2", "sorted 10"])
    const order = page.getByRole("combobox", { name: "Order" })
    await order.selectOption("By team")
    await eventually(() => names(page)).toEqual(["sorted 2", "sorted 1", "sorted 10"])
    await order.selectOption("Last run first")
    await eventually(() => names(page)).toEqual(["sorted 10", "sorted 2", "sorted 1"])
    await order.selectOption("Most failures first")
    await eventually(() => names(page)).toEqual(["sorted 2", "sorted 1", "sorted 10"])
    // For a bookmark.
    expect(new URL(page.url()).searchParams.get("order")).toBe("failures")
  })

  it("switches several off, moves them, and deletes them after a confirmation", async () => {
    for (const name of ["several a", "several b", "several c"]) await create(name)
    const stored = async () =>
      (await ui.call("GET", "/api/webhooks")).data
        .filter(({ name }: { readonly name: string }) => name.startsWith("several"))
        .map((webhook: Readonly<Record<string, unknown>>) => [webhook.name, webhook.team, webhook.enabled])
        .sort()
    const page = await open("several")
    await select(page, "several a", "several c")
    await page.getByRole("button", { name: "Switch 2 off" }).click()
    await eventually(stored).toEqual([
      ["several a", "docs", false],
      ["several b", "docs", true],
      ["several c", "docs", false]
    ])

    await page.getByRole("button", { name: "Select all on this page" }).click()
    await page.getByRole("button", { name: "Move 3" }).click()
    await page.getByRole("alertdialog").getByLabel("Team").selectOption("ops")
    await page.getByRole("alertdialog").getByRole("button", { name: "Move" }).click()
    await eventually(stored).toEqual([
      ["several a", "ops", false],
      ["several b", "ops", true],
      ["several c", "ops", false]
    ])

    await select(page, "several a", "several b")
    await page.getByRole("button", { name: "Delete 2" }).click()
    const confirm = page.getByRole("button", { name: "Delete permanently" })
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByLabel("Type delete 2 to confirm").fill("delete 2")
    await confirm.click()
    await eventually(stored).toEqual([["several c", "ops", false]])
  })

  it("says where it stopped, and keeps selected what is left", async () => {
    const { webhook } = await create("kept owner")
    await create("kept sharing", { shares: webhook.id })
    const page = await open("kept")
    await select(page, "kept owner")
    await page.getByRole("button", { name: "Delete 1" }).click()
    await page.getByLabel("Type delete 1 to confirm").fill("delete 1")
    await page.getByRole("button", { name: "Delete permanently" }).click()
    await page.getByText(/0 of 1 webhook deleted\. /).waitFor()
    expect(await page.getByRole("checkbox", { name: "Select kept owner" }).isChecked()).toBe(true)
  })

  it("shows no selection to those who may not edit", async () => {
    await create("viewed")
    const { key } = await ui.call("POST", "/api/keys", { name: "reader", role: "viewer" })
    const page = await ui.newPage()
    expect((await page.context().request.post("/api/session", { data: { key } })).status()).toBe(200)
    await page.goto("/webhooks?search=viewed")
    await eventually(() => names(page)).toEqual(["viewed"])
    expect(await page.getByRole("checkbox").count()).toBe(0)
  })
})
