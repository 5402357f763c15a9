/** What a page that is open costs while runs with long answers come and go. */
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freshDatabase } from "../../support/fresh.ts"
import { queryPostgres } from "../../support/Postgres.ts"
import { eventually, reviewDraft, startTestUi, type TestUi } from "../TestUi.ts"

const answerLength = 1_000_000

let ui: TestUi
let database: string

beforeAll(async () => {
  ui = await startTestUi(
    Effect.map(freshDatabase, (DATABASE_URL) => {
      database = DATABASE_URL
      return { DATABASE_URL }
    })
  )
})
afterAll(() => ui?.close())

/** The bytes that the page has received so far, the stream of events included. */
const countBytes = async (page: Page): Promise<() => number> => {
  const session = await page.context().newCDPSession(page)
  let bytes = 0
  session.on("Network.dataReceived", ({ dataLength, encodedDataLength }) => {
    bytes += Math.max(dataLength, encodedDataLength)
  })
  await session.send("Network.enable")
  return () => bytes
}

const trigger = async (id: string, title: string): Promise<string> =>
  (await ui.call("POST", `/api/webhooks/${id}/runs?wait=true`, { variables: { title, author: { name: "Ada" } } }))
    .run_id

const createWebhook = async (name: string): Promise<string> =>
  (await ui.call("POST", "/api/webhooks", { ...reviewDraft, name })).webhook.id

/** The paths of the requests that the page sends from now on. */
const pathsOf = (page: Page): ReadonlyArray<string> => {
  const paths: Array<string> = []
  page.on("request", (request) => paths.push(new URL(request.url()).pathname))
  return paths
}

describe("a page that is open", () => {
  it("shows a hundred runs with long answers as they come, and reads little", async () => {
    const id = await createWebhook("With long answers")
    for (let n = 0; n < 25; n++) await trigger(id, `before ${n}`)
    await queryPostgres(database, `update webhook_trigger.runs set response = repeat('x', ${answerLength})`)
    const page = await ui.newPage({ signedIn: true })
    const bytes = await countBytes(page)
    await page.goto(`/webhooks/${id}`)
    const first = page.getByRole("list", { name: "Runs, newest first" }).getByRole("listitem").first()
    await first.getByText("title: before 24").waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    const before = bytes()
    const paths = pathsOf(page)
    for (let n = 0; n < 100; n++) await trigger(id, `number ${n} `.padEnd(20_000, "long "))
    await first.getByText("title: number 99").waitFor()
    await first.getByText("Success").waitFor()
    const received = bytes() - before
    const reads = paths.filter((path) => path === `/api/webhooks/${id}/runs`).length
    // Every page read whole answers before, 20 MB each time.
    expect(received / (100 + reads)).toBeLessThan(150_000)
    await page.context().close()
  })

  it("reads nothing again but charts when a run that it shows ends", async () => {
    const id = await createWebhook("With a run")
    await ui.call("POST", "/api/teams/demo/pause")
    const variables = { title: "the only one", author: { name: "Ada" } }
    const { run_id } = await ui.call("POST", `/api/webhooks/${id}/runs`, { variables })
    const page = await ui.newPage({ signedIn: true })
    const all = pathsOf(page)
    await page.goto(`/webhooks/${id}`)
    await page.getByRole("link", { name: /Queued.*the only one/ }).waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    // What it reads because its stream was opened, it has begun to read once it was told of a change.
    for (const name of ["Renamed", "With one run"]) {
      await ui.call("PATCH", `/api/webhooks/${id}`, { name })
      await page.getByRole("heading", { level: 1, name }).waitFor()
    }
    const paths = pathsOf(page)
    await ui.call("POST", "/api/teams/demo/resume")
    await page.getByRole("link", { name: /Success.*the only one/ }).waitFor()
    // That it has ended is in the event.
    expect(paths).not.toContain(`/api/webhooks/${id}/runs`)
    expect(paths).not.toContain(`/api/runs/${run_id}`)
    // The list of all webhooks may be long, and is not shown.
    expect(all).not.toContain("/api/webhooks")
    await page.context().close()
  })

  it("shows a webhook that was created, renamed and deleted elsewhere, and reads that one only", async () => {
    const page = await ui.newSignedInPage()
    await page.getByRole("link", { name: "With one run" }).waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    const lists: Array<string> = []
    page.on("request", (request) => {
      if (new URL(request.url()).pathname === "/api/webhooks") lists.push(request.url())
    })
    const id = await createWebhook("A new one")
    await page.getByRole("link", { name: "A new one" }).waitFor()
    await ui.call("PATCH", `/api/webhooks/${id}`, { name: "Z, the last one" })
    await page.getByRole("link", { name: "Z, the last one" }).waitFor()
    const names = () => page.getByRole("link", { name: /^(With|A new|Z)/ }).allTextContents()
    await eventually(names).toEqual(["With long answers", "With one run", "Z, the last one"])
    await ui.call("DELETE", `/api/webhooks/${id}`)
    await page.getByRole("link", { name: "Z, the last one" }).waitFor({ state: "detached" })
    // Once at most, when the stream was opened.
    expect(lists.length).toBeLessThanOrEqual(1)
    await page.context().close()
  })
})
