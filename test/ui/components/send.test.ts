import { Effect, Layer, Logger, Redacted } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { LeaderAmqp } from "../../../src/amqp.ts"
import { Leader, TeamName } from "../../../src/leader/index.ts"
import { freshVhost } from "../../support/fresh.ts"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { createReview, eventually, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
/** Of a team whose leader takes prompts and never answers them. */
let silent: { readonly id: string; readonly trigger_url: string }

beforeAll(async () => {
  let url = ""
  ui = await startTestUi(
    Effect.map(freshVhost, (AMQP_URL) => {
      url = AMQP_URL
      return { AMQP_URL }
    })
  )
  for (const team of ["silent", "demo"]) {
    await ui.call("POST", "/api/teams", { team })
    const handler = team === "silent" ? () => Effect.never : ({ prompt }: { prompt: string }) => Effect.succeed(prompt)
    const leader = Leader.layer({ team: TeamName.make(team), handler })
    const bus = LeaderAmqp.layer({ url: Redacted.make(url), queueType: "classic" })
    await ui.run(Layer.build(leader.pipe(Layer.provide(bus), Layer.provide(Logger.layer([])))))
    await until(`${team} runs`, async () => (await ui.call("GET", `/api/teams/${team}`)).running)
  }
  const draft = { name: "Silent", team: "silent", prompt_template: "Say {{what}}", timeout_seconds: 2 }
  const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", draft)
  silent = { id: webhook.id, trigger_url }
})
afterAll(() => ui?.close())

const countRuns = async (): Promise<number> => (await ui.call("GET", `/api/webhooks/${silent.id}/runs`)).data.length

/** More than one connection to the server, kept open: over those a browser repeats a POST that is answered with 408. */
const openConnections = (page: Page) =>
  page.evaluate(`Promise.all([1, 2, 3, 4].map(() => fetch("/icon.svg", { cache: "no-store" })))`)

describe("a run that is started in a browser and times out", () => {
  it("is one run when it is a test, which shows the run's link at once and then how it ended", async () => {
    const page = await ui.newPage({ signedIn: true })
    const sent: Array<string> = []
    page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).pathname))
    await page.goto(`/webhooks/${silent.id}?tab=test`)
    await page.getByRole("textbox", { name: "what" }).fill("nothing")
    await openConnections(page)
    const before = await countRuns()
    await page.getByRole("textbox", { name: "what" }).press("Control+Enter")
    const test = page.getByRole("region", { name: "Send a test" })
    await test.getByRole("link", { name: "Open the run" }).waitFor()
    await test.getByText("It did not answer within 2 s.").waitFor()
    await test.getByRole("status").getByText("Timeout").waitFor()
    expect(sent).toEqual([`/api/webhooks/${silent.id}/runs`])
    expect(await countRuns()).toBe(before + 1)
    await page.context().close()
  })

  it("is one run when a page waits for it", async () => {
    const page = await ui.newSignedInPage()
    await openConnections(page)
    const before = await countRuns()
    const answer = await page.evaluate(
      `fetch("${new URL(silent.trigger_url).pathname}?wait=true", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ variables: { what: "nothing" } })
      }).then(async (response) => ({ status: response.status, body: await response.json() }))`
    )
    expect(answer).toEqual({ status: 504, body: { status: "timeout", run_id: expect.any(String) } })
    expect(await countRuns()).toBe(before + 1)
    await page.context().close()
  })
})

describe("a test", () => {
  it("shows the answer of its run, formatted", async () => {
    const webhook = await createReview(ui)
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}?tab=test`)
    await page.getByRole("textbox", { name: "title" }).fill("**the launch**")
    await page.getByRole("textbox", { name: "author.name" }).fill("Ada")
    await page.getByRole("button", { name: "Send test" }).click()
    const test = page.getByRole("region", { name: "Send a test" })
    await test.getByRole("region", { name: "Answer to the test" }).locator("strong").getByText("the launch").waitFor()
    await test
      .getByRole("status")
      .getByText(/Success.*after/)
      .waitFor()
    await page.context().close()
  })

  it("is sent with empty values only when the user confirms it", async () => {
    const webhook = await createReview(ui)
    const runs = async () => (await ui.call("GET", `/api/webhooks/${webhook.id}/runs`)).data
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}?tab=test`)
    await page.getByRole("textbox", { name: "title" }).fill("A change")
    await page.getByRole("button", { name: "Send test" }).click()
    await page.getByText("No value for author.name.").waitFor()
    await eventually(() =>
      page.getByRole("textbox", { name: "author.name" }).evaluate("document.activeElement.value")
    ).toBe("")
    expect(await runs()).toEqual([])
    // Filled in, it is no longer asked; emptied, it is asked again.
    await page.getByRole("textbox", { name: "author.name" }).fill("Ada")
    await page.getByText("No value for author.name.").waitFor({ state: "detached" })
    await page.getByRole("textbox", { name: "author.name" }).fill("")
    await page.getByRole("button", { name: "Send test" }).click()
    await page.getByRole("button", { name: "Send without it" }).click()
    await page.getByRole("region", { name: "Answer to the test" }).waitFor()
    expect(await runs()).toMatchObject([{ variables: { title: "A change", "author.name": "" } }])
    // A repeat of it sends what was sent.
    await page.getByRole("link", { name: "Open the run" }).click()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("button", { name: "Send again" }).click()
    await page.getByRole("region", { name: "Answer to the test" }).waitFor()
    await page.context().close()
  })

  it("shows the status and the reason of a refusal, as a caller gets it", async () => {
    const webhook = await createReview(ui)
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { enabled: false })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}?tab=test`)
    await page.getByRole("textbox", { name: "title" }).fill("x")
    await page.getByRole("textbox", { name: "author.name" }).fill("y")
    await page.getByRole("button", { name: "Send test" }).click()
    await eventually(() => page.getByRole("alert").textContent()).toMatch(/^404 There is nothing at this address\./)
    await page.context().close()
  })
})

describe("a message", () => {
  it("leaves in its field what is typed while it is sent", async () => {
    const page = await ui.newPage({ signedIn: true })
    const gate = new Gate()
    await page.route("**/messages", async (route) => {
      await gate.opened
      await route.continue()
    })
    await page.goto("/teams/demo")
    const field = page.getByLabel("Message", { exact: true })
    await field.fill("Hello")
    await field.press("Control+Enter")
    await field.fill("And one more thing")
    gate.open()
    await page.getByText("Message queued").waitFor()
    expect(await field.inputValue()).toBe("And one more thing")
    await field.press("Control+Enter")
    await eventually(() => field.inputValue()).toBe("")
    await page.context().close()
  })
})
