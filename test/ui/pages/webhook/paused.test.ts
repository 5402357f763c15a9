import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { errorsOf, reviewDraft, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("a webhook that was paused because its runs failed", () => {
  it("says so on the Overview, in the list and on its page, which resumes it", async () => {
    await ui.call("POST", "/api/teams", { team: "quiet" })
    const { token, webhook } = await ui.call("POST", "/api/webhooks", {
      ...reviewDraft,
      name: "Failing",
      team: "quiet",
      // Without a leader, a run ends as an error after a second.
      when_team_stopped: "queue",
      queue_for_seconds: 1,
      pause_after_failures: 1
    })
    await ui.call("POST", `/webhook/trigger/${token}`, { variables: { title: "T", author: { name: "Ada" } } })
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/")
    await page
      .getByRole("region", { name: "Waiting for you" })
      .getByText("paused because the last run failed")
      .waitFor()
    expect(await axe(page)).toEqual([])
    await page.goto("/webhooks")
    await page.getByRole("listitem").filter({ hasText: "Failing" }).getByText("Paused", { exact: true }).waitFor()
    expect(await axe(page)).toEqual([])
    await page.goto(`/webhooks/${webhook.id}`)
    await page.getByText(/^Paused since .*: the last run failed\. Requests are rejected/).waitFor()
    expect(await axe(page)).toEqual([])
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width)
    }
    await page.getByRole("button", { name: "Resume" }).click()
    await page.getByText("Failing resumed").waitFor()
    await page.getByText(/^Paused automatically/).waitFor({ state: "detached" })
    expect((await ui.call("GET", `/api/webhooks/${webhook.id}`)).paused_at).toBeUndefined()
    await page.goto(`/audit?object=${webhook.id}`)
    const events = page.getByRole("list", { name: "Events, newest first" })
    await events.getByText("Webhook paused").waitFor()
    await events.getByText(/by the server, automatically/).waitFor()
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})
