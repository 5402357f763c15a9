/** The files on a run's page: those that were sent can be downloaded, and the others say why they cannot. */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import { startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

it("shows the files of a run, downloads one, and says why others are missing", async () => {
  await ui.call("POST", "/api/teams", { team: "files" })
  const attachments = { urls: "payload.files", hosts: ["files.example.com"] }
  const draft = { name: "With files", team: "files", prompt_template: "Read them", input: "payload", attachments }
  const { token } = await ui.call("POST", "/api/webhooks", { ...draft, when_team_stopped: "queue" })
  const body = new FormData()
  body.append("files", "https://files.example.com/later.png")
  body.append("files", "https://elsewhere.example.com/other.png")
  body.append("log", new Blob(["what happened"], { type: "text/plain" }), "server.log")
  const answer = await fetch(`${ui.server.url}/webhook/trigger/${token}`, { method: "POST", body })
  expect(answer.status).toBe(202)
  const { run_id } = (await answer.json()) as { readonly run_id: string }
  const page = await ui.newPage({ signedIn: true })
  await page.goto(`/runs/${run_id}`)
  const files = page.getByRole("region", { name: "Files" })
  await files.getByText("from the request, 13B").waitFor()
  expect(await files.getByRole("listitem").allInnerTexts()).toEqual([
    "server.log from the request, 13B",
    "later.png from the request, not fetched",
    "other.png from the request. Its URL is not at one of the webhook's hosts."
  ])
  const download = page.waitForEvent("download")
  await files.getByRole("link").click()
  expect(readFileSync(await (await download).path(), "utf8")).toBe("what happened")
  await page.context().close()
})
