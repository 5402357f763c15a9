import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("a team's page", () => {
  it("shows what holds the team, also a run that has ended while its agent works, and releases the team", async () => {
    await ui.call("POST", "/api/teams", { team: "held" })
    const { key } = await ui.call("POST", "/api/teams/held/leader-keys", { name: "deaf" })
    const leader = randomUUID()
    const ask = (path: string, body: object) =>
      fetch(`${ui.server.url}/leader/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ leader, ...body })
      })
    const asking = ask("next", {})
    await eventually(async () => (await ui.call("GET", "/api/teams/held")).running).toBe(true)
    const { message_id } = await ui.call("POST", "/api/teams/held/messages", { message: "work" })
    await asking
    // It does not stop, but is there: after 8 s of silence, its team would be released.
    const presence = setInterval(() => ask("work", { run_id: message_id }).catch(() => {}), 1_000)
    onTestFinished(() => clearInterval(presence))
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/teams/held")
    await page.getByRole("link", { name: "work", exact: true }).waitFor()
    expect(await page.getByRole("button", { name: "Release team" }).count()).toBe(0)

    await page.goto(`/runs/${message_id}`)
    await page.getByRole("button", { name: "Cancel message" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel message" }).click()
    await page.getByText("The leader was told to stop but may still be working").waitFor()
    expect(await page.getByRole("button", { name: "Cancel message" }).count()).toBe(0)
    await page.goto("/teams/held")
    await page.getByText("It has ended, but its agent still works").waitFor()
    await page.getByRole("button", { name: "Release team" }).click()
    await page.getByRole("alertdialog", { name: "Release the team?" }).getByRole("button", { name: "Release" }).click()
    await page.getByText("1 run released").waitFor()
    await page.getByText("The agent may still work").waitFor()
    await page.goto(`/runs/${message_id}`)
    await page.getByText("The leader did not confirm that the agent has stopped").waitFor()
    await page.context().close()
  })
})
