import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freshDatabase } from "../../../support/fresh.ts"
import { Gate } from "../../../support/Gate.ts"
import { queryPostgres } from "../../../support/Postgres.ts"
import { eventually, startTestUi, type TestUi } from "../../TestUi.ts"

const many = 100_000
/** The runs are numbered, the oldest first. */
const newest = many

let ui: TestUi
let id: string
let url = ""

/** A run every 24 seconds for four weeks; every tenth failed, and the ids begin with their time, as UUIDv7 do. */
const fill = (webhook_id: string) => `
  insert into webhook_trigger.runs
    (id, source, webhook_id, team, mode, status, prompt, variables, response, error_code, error_message, timeout_ms,
     accepted_at, admitted_at, sent_at, started_at, finished_at, recorded_at)
  select
    (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') ||
      '8' || substr(md5(n::text), 1, 15))::uuid,
    'webhook', '${webhook_id}', 'demo', 'async', case when n % 10 = 0 then 'error' else 'success' end,
    'Say hello to number ' || n, json_build_object('name', 'number ' || n), 'Hello, number ' || n,
    case when n % 10 = 0 then 'agent_error' end, case when n % 10 = 0 then 'no' end, 300000,
    at, at, at, at, at + (n % 1000) * interval '1 millisecond', now()
  from (
    select n, now() - (${many} - n) * interval '24 seconds' as at from generate_series(1, ${many}) as n
  ) as runs`

beforeAll(async () => {
  ui = await startTestUi(
    Effect.map(freshDatabase, (DATABASE_URL) => {
      url = DATABASE_URL
      return { DATABASE_URL }
    })
  )
  id = (await ui.call("GET", "/api/webhooks")).data[0].id
  await queryPostgres(url, fill(id))
  await queryPostgres(url, "analyze webhook_trigger.runs")
})
afterAll(() => ui?.close())

describe("a history of 100,000 runs", () => {
  it("is paged, newest first, and has its page in the address", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${id}`)
    const history = page.getByRole("list", { name: "Runs, newest first" })
    const first = history.getByRole("listitem").first()
    await eventually(() => first.textContent()).toContain(`number ${newest}`)
    for (let i = 1; i <= 5; i++) {
      await page.getByRole("button", { name: "Older" }).click()
      await first.getByText(`Say hello to number ${newest - i * 20}`, { exact: true }).waitFor()
    }
    const address = page.url()
    await page.goBack()
    await first.getByText(`Say hello to number ${newest - 80}`, { exact: true }).waitFor()
    await page.goto(address)
    await first.getByText(`Say hello to number ${newest - 100}`, { exact: true }).waitFor()
    await page.getByRole("button", { name: "Newest" }).click()
    await first.getByText(`Say hello to number ${newest}`, { exact: true }).waitFor()
    await page.context().close()
  })

  it("shows the page that was asked for, also when the pointer is over the rows of the one before", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${id}`)
    const first = page.getByRole("list", { name: "Runs, newest first" }).getByRole("listitem").first()
    await first.getByText(`Say hello to number ${newest}`, { exact: true }).waitFor()
    const gate = new Gate()
    await page.route("**/runs?*cursor=*", async (route) => {
      await gate.opened
      await route.continue()
    })
    await page.getByRole("button", { name: "Older" }).click()
    await first.hover()
    gate.open()
    await first.getByText(`Say hello to number ${newest - 20}`, { exact: true }).waitFor()
    await page.context().close()
  })

  it("is filtered by status and by date, however far back", async () => {
    const page = await ui.newPage({ signedIn: true })
    const day = new Date(Date.now() - 20 * 24 * 3_600_000).toISOString().slice(0, 10)
    await page.goto(`/webhooks/${id}?status=error&from=${day}&to=${day}`)
    const history = page.getByRole("list", { name: "Runs, newest first" })
    await eventually(() => history.getByRole("listitem").count()).toBe(20)
    for (const text of await history.getByRole("listitem").allTextContents()) expect(text).toContain("Error")
    const times = await history.locator("time").evaluateAll((all) => all.map((time) => time.getAttribute("datetime")!))
    for (const time of times) expect(new Date(time).toISOString().slice(0, 10)).toBe(day)
    await page.getByRole("button", { name: "Show all" }).click()
    await history.getByText(`number ${newest}`).waitFor()
    expect(new URL(page.url()).search).toBe("")
    await page.context().close()
  })

  it("is counted over a day and over a month", async () => {
    for (const range of ["24h", "30d"]) {
      const { buckets } = await ui.call("GET", `/api/webhooks/${id}/statistics?range=${range}`)
      const counts = `select
          count(*) filter (where status = 'success')::int as success, count(*) filter (where status = 'error')::int as error
        from webhook_trigger.runs where webhook_id = '${id}' and accepted_at >= '${buckets[0].at}'`
      const total = (status: string) => buckets.reduce((sum: number, bucket: any) => sum + bucket[status], 0)
      expect([{ success: total("success"), error: total("error") }]).toEqual(await queryPostgres(url, counts))
      expect(total("error")).toBeGreaterThan(range === "24h" ? 300 : 9_000)
    }
    expect((await ui.call("GET", "/api/activity")).data).toHaveLength(1)
  })
})
