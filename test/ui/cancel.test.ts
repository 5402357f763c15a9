import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually, reviewDraft, startTestUi, type TestUi } from "./TestUi.ts"

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
    const page = await ui.newSignedInPage()
    await page.goto(`/runs/${run_ids[0]}`)
    await page.getByRole("button", { name: "Cancel run" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Cancel this run?" })
    await dialog.getByText("Its prompt will not be sent to the team.").waitFor()
    await dialog.getByRole("button", { name: "Keep it" }).click()
    await page.getByRole("button", { name: "Cancel run" }).click()
    await dialog.getByRole("button", { name: "Cancel run" }).click()
    await page.getByText("Its prompt was never sent.").waitFor()
    expect(await page.getByRole("button", { name: "Cancel run" }).count()).toBe(0)
    expect((await ui.call("GET", `/api/runs/${run_ids[0]}`)).status).toBe("cancelled")
    await page.context().close()
  })

  it("ends all that waits for a team, with the number in the question", async () => {
    const { run_ids } = await waiting("several", 3)
    const page = await ui.newSignedInPage()
    await page.goto("/teams/several")
    await page.getByRole("button", { name: "Cancel queued" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Cancel 3 queued runs?" })
    await dialog.getByRole("button", { name: "Cancel them" }).click()
    await page.getByText("3 runs cancelled").waitFor()
    await eventually(() => page.getByRole("button", { name: "Cancel queued" }).count()).toBe(0)
    for (const id of run_ids) expect((await ui.call("GET", `/api/runs/${id}`)).status).toBe("cancelled")
    await page.context().close()
  })
})
