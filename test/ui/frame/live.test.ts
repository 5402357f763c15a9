/** What a page that is open costs while runs with long answers come and go. */
import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { newFolder } from "../../cli/Program.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { queryPostgres } from "../../support/Postgres.ts"
import { eventually, reviewDraft, startTestUi, type TestUi } from "../TestUi.ts"

const answerLength = 1_000_000

let ui: TestUi
let database: string
/** The agent of the team `waiting` answers once this file exists. */
let gate: string

beforeAll(async () => {
  ui = await startTestUi(
    Effect.zipWith(freshDatabase, newFolder, (DATABASE_URL, folder) => {
      database = DATABASE_URL
      gate = folder
      return { DATABASE_URL, LEADERS: `waiting=sh -c 'until [ -e ${gate} ]; do sleep 0.1; done; echo done'` }
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

const createWebhook = async (name: string, more: object = {}): Promise<string> =>
  (await ui.call("POST", "/api/webhooks", { ...reviewDraft, name, ...more })).webhook.id

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
    await first.getByText("before 24").waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    const before = bytes()
    const paths = pathsOf(page)
    for (let n = 0; n < 100; n++) await trigger(id, `number ${n} `.padEnd(20_000, "long "))
    await first.getByText("number 99").waitFor()
    await first.getByText("Success").waitFor()
    const received = bytes() - before
    const reads = paths.filter((path) => path === `/api/webhooks/${id}/runs`).length
    // Every page read whole answers before, 20 MB each time.
    expect(received / (100 + reads)).toBeLessThan(150_000)
    await page.context().close()
  })

  it("reads nothing again but charts when a run that it shows ends", async () => {
    const id = await createWebhook("With one run", { team: "waiting" })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${id}`)
    await page.getByText("No runs yet").waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    const path = `/api/webhooks/${id}/runs`
    const variables = { title: "the only one", author: { name: "Ada" } }
    const { run_id } = await ui.call("POST", path, { variables })
    await page.getByRole("link", { name: /Queued|Sent or working/ }).waitFor()
    const paths = pathsOf(page)
    writeFileSync(gate, "")
    await page.getByRole("link", { name: /Success/ }).waitFor()
    // Once at most, if news of the start came while the list with the new row was read. The end is in the event.
    expect(paths.filter((one) => one === path).length).toBeLessThanOrEqual(1)
    expect(paths.filter((one) => one === "/api/webhooks" || one === `/api/runs/${run_id}`)).toEqual([])
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
