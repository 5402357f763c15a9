/** A run beside others: the request that started it, its neighbours in a list, its original, and all that match a filter. */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { createReview, errorsOf, eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let review: { readonly id: string }
const ids: Array<string> = []

const run = async (id: string, title: string): Promise<string> => {
  const variables = { title, author: { name: "Ada" } }
  return (await ui.call("POST", `/api/webhooks/${id}/runs?wait=true`, { variables })).run_id
}

beforeAll(async () => {
  ui = await startTestUi()
  review = await createReview(ui)
  for (let count = 0; count < 23; count++) ids.unshift(await run(review.id, `change ${count}`))
  const demo = (await ui.call("GET", "/api/webhooks")).data.find(({ name }: { name: string }) => name === "demo")
  await ui.call("POST", `/api/webhooks/${demo.id}/runs?wait=true`, { variables: { name: "world" } })
})
afterAll(() => ui?.close())

const isFine = async (page: Page) => {
  for (const width of [320, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    expect(await axe(page)).toEqual([])
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
  }
}

const rows = (page: Page) => page.getByRole("list", { name: "Runs, newest first" }).getByRole("link")
const shownRun = (page: Page) => new URL(page.url()).pathname.split("/").at(-1)

describe("from a list, its runs are read one after the other", () => {
  const walks = async (page: Page, address: string, opensPanel = false) => {
    await page.goto(address)
    await rows(page).first().click()
    if (opensPanel) await page.getByRole("link", { name: "Open its page" }).click()
    await eventually(() => shownRun(page)).toBe(ids[0])
    await page.getByRole("link", { name: "Older run" }).waitFor()
    expect(await page.getByRole("link", { name: "Newer run" }).count()).toBe(0)
    for (const id of ids.slice(1)) {
      await page.getByRole("link", { name: "Older run" }).click()
      await eventually(() => shownRun(page)).toBe(id)
    }
    await page.getByRole("link", { name: "Newer run" }).waitFor()
    expect(await page.getByRole("link", { name: "Older run" }).count()).toBe(0)
    await page.getByRole("link", { name: "Newer run" }).click()
    await eventually(() => shownRun(page)).toBe(ids.at(-2))
  }

  it("with the filter of the page of all runs, over its pages", async () => {
    const page = await ui.newPage({ signedIn: true })
    await walks(page, `/runs?webhook=${review.id}`, true)
    await isFine(page)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("with that of a webhook's page", async () => {
    const page = await ui.newPage({ signedIn: true })
    await walks(page, `/webhooks/${review.id}`)
    await page.context().close()
  })

  it("and a run that was opened by its address alone has no neighbours", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/runs/${ids[3]}`)
    await page.getByText("Rendered prompt").waitFor()
    expect(await page.getByRole("navigation", { name: "Runs of the list" }).count()).toBe(0)
    await page.context().close()
  })
})

it("shows a replay beside its original, with links both ways", async () => {
  const variables = { title: "another title", author: { name: "Ada" } }
  const { run_id } = await ui.call("POST", `/api/runs/${ids[2]}/replay?wait=true`, { variables })
  const page = await ui.newPage({ signedIn: true })
  await page.goto(`/runs/${run_id}`)
  const both = page.getByRole("region", { name: "Comparison with the original" })
  const original = both.getByRole("region", { name: "Original", exact: true })
  await original.getByText("Review change 20 by Ada").first().waitFor()
  await both
    .getByRole("region", { name: "This replay", exact: true })
    .getByText("Review another title by Ada")
    .first()
    .waitFor()
  await isFine(page)
  const [left, right] = await Promise.all(
    [original, both.getByRole("region", { name: "This replay", exact: true })].map((side) => side.boundingBox())
  )
  expect(left!.x + left!.width).toBeLessThan(right!.x)
  await original.getByRole("link", { name: "Original" }).click()
  await eventually(() => shownRun(page)).toBe(ids[2])
  await page.getByRole("list", { name: "Replays, newest first" }).getByRole("link").click()
  await eventually(() => shownRun(page)).toBe(run_id)
  await page.context().close()
})

it("shows the request that started a run, without its secrets, or says why it is not stored", async () => {
  const draft = { name: "Stores", team: "demo", prompt_template: "{{payload.a}}", input: "payload" }
  const create = (more: object) => ui.call("POST", "/api/webhooks", { ...draft, ...more })
  const page = await ui.newPage({ signedIn: true })
  for (const store_requests of ["all", "refused"]) {
    const { trigger_url } = await create({ store_requests })
    const answer = await fetch(`${trigger_url}?env=live&wait=true`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-event": "push", "x-api-key": "secret-of-the-sender" },
      body: '{"a": "b", "c": "not in the template"}'
    })
    const { run_id } = (await answer.json()) as { run_id: string }
    await page.goto(`/runs/${run_id}`)
    for (const name of ["Request", "Variables"]) {
      await page.locator("summary").getByRole("heading", { name }).click()
    }
    const request = page.getByRole("region", { name: "Request", exact: true })
    if (store_requests === "all") {
      await request.getByText('{"a": "b", "c": "not in the template"}').waitFor()
      const text = await request.innerText()
      expect(text).toContain("x-event")
      expect(text).toContain("env")
      expect(text).not.toContain("secret-of-the-sender")
      await isFine(page)
    } else {
      await request.getByText("Not stored, because “Store requests” is not “all”.").waitFor()
    }
    await page.getByRole("region", { name: "Variables" }).getByText("payload").waitFor()
  }
  await page.context().close()
})

it("selects all runs that match the filter, on all its pages, and replays as many as it says", async () => {
  const page = await ui.newPage({ signedIn: true })
  await page.goto(`/runs?webhook=${review.id}&search=change`)
  await page.getByRole("button", { name: "Select all that match the filter" }).click()
  const selected = page.getByRole("group", { name: "Selected runs" })
  await selected.getByText("23 selected").waitFor()
  await page.getByRole("checkbox").first().uncheck()
  await selected.getByText("22 selected").waitFor()
  await selected.getByRole("button", { name: "Replay 22 runs" }).click()
  const dialog = page.getByRole("alertdialog", { name: "Replay 22 runs?" })
  await dialog.waitFor()
  const before = (await ui.call("GET", `/api/runs?webhook_id=${review.id}&limit=100`)).data.length
  await dialog.getByRole("button", { name: "Replay", exact: true }).click()
  await page.getByText("22 runs replayed").waitFor()
  const after = (await ui.call("GET", `/api/runs?webhook_id=${review.id}&limit=100`)).data.length
  expect(after - before).toBe(22)
  await page.goto("/runs?search=nothing-like-it")
  await page.getByText("No runs match.").waitFor()
  expect(await page.getByRole("button", { name: "Select all that match the filter" }).count()).toBe(0)
  await page.context().close()
})
