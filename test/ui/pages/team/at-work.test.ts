import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("a team's page", () => {
  it("shows why the team rests and until when, and ends the rest", async () => {
    await ui.call("POST", "/api/teams", { team: "limited" })
    const { key } = await ui.call("POST", "/api/teams/limited/leader-keys", { name: "agent" })
    const ask = (path: string, body: object) =>
      fetch(`${ui.server.url}/leader/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
    const leader = randomUUID()
    const asking = ask("next", { leader })
    await eventually(async () => (await ui.call("GET", "/api/teams/limited")).running).toBe(true)
    const { message_id } = await ui.call("POST", "/api/teams/limited/messages", { message: "work" })
    const { correlation_id } = (await (await asking).json()) as { correlation_id: string }
    const limited = { until: new Date(Date.now() + 3_600_000).toISOString() }
    const reply = { type: "error", message: "You've hit your limit · resets 2pm", limited }
    await ask("reply", { correlation_id, ...reply })

    const page = await ui.newPage({ signedIn: true })
    await page.goto("/teams/limited")
    await page.getByText("the agent has reached a usage limit").waitFor()
    await page.getByText(reply.message).waitFor()
    await page.getByText("Resting", { exact: true }).waitFor()
    await page.goto(`/runs/${message_id}`)
    await page.getByText("This run continues when the limit ends").waitFor()
    await page.goto("/teams/limited")
    await page.getByRole("button", { name: "Resume now" }).click()
    await page.getByText("Team limited resumed").waitFor()
    await page.getByText("the agent has reached a usage limit").waitFor({ state: "detached" })
    expect(await ui.call("GET", "/api/teams/limited")).not.toHaveProperty("resting_until")
    await page.context().close()
  })

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
