import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
const triggered = async () => {
  const { token } = await ui.call("POST", "/api/webhooks", {
    ...{ name: "Deploy", team: "demo", prompt_template: "Deploy {{version}}", approval: "required" }
  })
  const start = (version: string) => ui.call("POST", `/webhook/trigger/${token}`, { variables: { version } })
  return [(await start("7")).run_id, (await start("8")).run_id] as const
}

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("a run that waits for approval", () => {
  it("waits for a person on the first page, and shows its prompt with the buttons that decide", async () => {
    const [first, second] = await triggered()
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/")
    const items = page.getByRole("region", { name: "Waiting for you" }).getByRole("listitem")
    await eventually(() => items.allTextContents()).toEqual([
      expect.stringMatching(/^Deploy 8Deploy.*To approve$/),
      expect.stringMatching(/^Deploy 7Deploy.*To approve$/)
    ])
    await page.getByRole("link", { name: "Questions and approvals: 2" }).waitFor()
    expect(await page.title()).toBe("(2) Overview · Webhook Trigger")
    const row = page.getByRole("region", { name: "Latest runs" }).getByRole("link", { name: /Deploy 8/ })
    const [badge, title] = [row.getByText("To approve"), row.getByText("Deploy 8")]
    const [left, right] = [(await badge.boundingBox())!, (await title.first().boundingBox())!]
    expect(left.x + left.width).toBeLessThanOrEqual(right.x)
    await items.first().getByRole("link").click()
    const card = page.getByRole("region", { name: "Approval" })
    await card.getByText("Deploy 8").waitFor()
    await card.getByRole("button", { name: "Approve" }).click()
    await page.getByText("Approved by admin key").waitFor()
    await card.waitFor({ state: "detached" })
    await page.goto(`/runs/${first}`)
    await card.getByRole("button", { name: "Deny" }).click()
    await page.getByText("Denied by admin key").waitFor()
    await page.goto("/audit?action=run.denied")
    await page.getByRole("listitem").getByRole("link", { name: "Deploy 7" }).waitFor()
    expect((await ui.call("GET", `/api/runs/${second}`)).decided_by).toBe("admin key")
    await page.context().close()
  })

  it("shows who may decide, and no buttons, to those who may not", async () => {
    const { token, webhook } = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Guarded", team: "demo", prompt_template: "Deploy", approval: "required" }
    })
    const { run_id } = await ui.call("POST", `/webhook/trigger/${token}`, { variables: {} })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/runs/${run_id}`)
    const card = page.getByRole("region", { name: "Approval" })
    await card.getByRole("button", { name: "Approve" }).waitFor()
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { approvers: ["key:release"] })
    await page.reload()
    await card.getByText("Only those whom the webhook names (`approvers`) may approve or deny its runs.").waitFor()
    await card.getByText("Approvers: key:release.").waitFor()
    expect(await card.getByRole("button", { name: /Approve|Deny/ }).count()).toBe(0)
    await page.context().close()
  })
})
