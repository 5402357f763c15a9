import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually, reviewDraft, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

/** A webhook of a team without a leader, with runs that wait. */
const waiting = async (team: string, runs: number) => {
  await ui.call("POST", "/api/teams", { team })
  const draft = { ...reviewDraft, name: `for ${team}`, team, when_team_stopped: "queue" }
  const { id } = (await ui.call("POST", "/api/webhooks", draft)).webhook
  const variables = { title: "Fix login", author: { name: "Ann" } }
  const run_ids: Array<string> = []
  for (let i = 0; i < runs; i++) run_ids.push((await ui.call("POST", `/api/webhooks/${id}/runs`, { variables })).run_id)
  return { id, run_ids }
}

describe("cancelling", () => {
  it("ends a queued run after a question, and says what became of it", async () => {
    const { run_ids } = await waiting("one", 1)
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/runs/${run_ids[0]}`)
    await page.getByRole("button", { name: "Cancel run" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Cancel this run?" })
    await dialog.getByText("The prompt will not be sent to the team.").waitFor()
    await dialog.getByRole("button", { name: "Keep it" }).click()
    await page.getByRole("button", { name: "Cancel run" }).click()
    await dialog.getByRole("button", { name: "Cancel run" }).click()
    await page.getByText("The prompt was never sent.").waitFor()
    expect(await page.getByRole("button", { name: "Cancel run" }).count()).toBe(0)
    expect((await ui.call("GET", `/api/runs/${run_ids[0]}`)).status).toBe("cancelled")
    await page.context().close()
  })

  it("ends all that waits for a team, with the number in the question", async () => {
    const { run_ids } = await waiting("several", 3)
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/teams/several")
    const counted = "**/api/teams/several/cancel-queued?dry_run=true"
    await page.route(counted, (route) => route.fulfill({ json: { cancelled: 3, retries: 1 } }))
    await page.getByRole("button", { name: "Cancel queued" }).click()
    const withRetry = page.getByRole("alertdialog", { name: "Cancel 3 queued runs and 1 retry?" })
    await withRetry.getByText("and failed runs will not be retried").waitFor()
    await withRetry.getByRole("button", { name: "Keep them" }).click()
    await page.unroute(counted)
    await page.getByRole("button", { name: "Cancel queued" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Cancel 3 queued runs?" })
    await dialog.getByRole("button", { name: "Cancel them" }).click()
    await page.getByText("3 runs cancelled").waitFor()
    await eventually(() => page.getByRole("button", { name: "Cancel queued" }).count()).toBe(0)
    for (const id of run_ids) expect((await ui.call("GET", `/api/runs/${id}`)).status).toBe("cancelled")
    await page.context().close()
  })
})

describe("pausing", () => {
  it("holds a team's triggers back until it is resumed, and says so wherever it matters", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/teams/demo")
    await page.getByRole("button", { name: "Pause" }).click()
    await page.getByText("Paused since").waitFor()
    const { webhook } = await ui.call("POST", "/api/webhooks", { ...reviewDraft, name: "for demo" })
    const variables = { title: "Fix login", author: { name: "Ann" } }
    const { run_id } = await ui.call("POST", `/api/webhooks/${webhook.id}/runs`, { variables })
    await page.goto(`/runs/${run_id}`)
    await page.getByText("is paused. This run continues").waitFor()
    await page.goto(`/webhooks/${webhook.id}?tab=test`)
    await page.getByText("is paused. Requests are queued until it is resumed").waitFor()
    await page.goto("/")
    const paused = page.getByRole("region", { name: "Waiting for you" }).getByText("Paused", { exact: true })
    await paused.waitFor()
    await page.goto("/teams/demo")
    await page.getByRole("button", { name: "Resume" }).click()
    await page.getByText("Team demo resumed").waitFor()
    await eventually(async () => (await ui.call("GET", `/api/runs/${run_id}`)).status).toBe("success")
    await page.context().close()
  })
})

describe("a template's versions", () => {
  it("show what has changed, and are restored; a duplicate shows its own token", async () => {
    const { webhook } = await ui.call("POST", "/api/webhooks", { ...reviewDraft, name: "Versions" })
    const prompt_template = `${reviewDraft.prompt_template}\nin English`
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { prompt_template, template_language: "liquid" })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}?tab=settings`)
    await page.getByRole("link", { name: "Versions" }).click()
    await page.getByRole("region", { name: "Changes" }).getByText("added: in English").waitFor()
    await page.getByText("Template language: simple liquid").waitFor()
    await page.getByRole("button", { name: /^Version 1/ }).click()
    await page.getByRole("button", { name: "Restore" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Restore" }).click()
    await page.getByText("Restored as version 3").waitFor()
    await page.getByRole("button", { name: "Version 3, current" }).waitFor()
    const restored = await ui.call("GET", `/api/webhooks/${webhook.id}`)
    expect(restored).toMatchObject({ prompt_template: reviewDraft.prompt_template, template_language: "simple" })

    await page.goto(`/webhooks/${webhook.id}?tab=settings`)
    await page.getByRole("button", { name: "Duplicate" }).click()
    await page.getByRole("heading", { level: 1, name: "Save your token" }).waitFor()
    await page.getByText("whk_").first().waitFor()
    const { data: all } = await ui.call("GET", "/api/webhooks")
    expect(all.map(({ name }: { readonly name: string }) => name)).toContain("Versions (copy)")
    await page.context().close()
  })
})
