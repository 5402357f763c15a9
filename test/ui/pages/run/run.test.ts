import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Json from "../../../../src/domain/Json.ts"
import { createReview, eventually, runReview, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let page: Page
let run_id: string
let chat_id: string

beforeAll(async () => {
  ui = await startTestUi()
  run_id = await runReview(ui, (await createReview(ui)).id)
  chat_id = (await ui.call("POST", "/api/teams/demo/messages?wait=true", { message: "Hello" })).message_id
  page = await ui.newPage({ signedIn: true })
})
afterAll(() => ui?.close())

/** Opens a run's page, with some of the run's fields as they would be had it gone otherwise. */
const open = async (id: string, fields: Record<string, unknown>) => {
  const run = await ui.call("GET", `/api/runs/${id}`)
  await page.unrouteAll()
  await page.route(`**/api/runs/${id}`, (route) => route.fulfill({ json: { ...run, ...fields } }))
  await page.goto(`/runs/${id}`)
}

describe("a run whose agent had no session of its conversation", () => {
  it("says so, and whether the agent got the earlier messages", async () => {
    await open(run_id, { session_lost: true })
    await page.getByText("no longer had the session of this conversation and started a new one.").waitFor()
    expect(await page.getByText("earlier messages").count()).toBe(0)
    await open(run_id, { session_lost: true, history_given: true })
    await page.getByText("started a new one. It got the earlier messages with the prompt.").waitFor()
    await open(run_id, { history_given: true })
    await page.getByText("The agent got the earlier messages of this conversation with the prompt.").waitFor()
  })
})

describe("a failed run of a webhook with retries", () => {
  const failed = { status: "error", error: { code: "agent_error", message: "No disk" }, conversation: { prompt: "x" } }

  it("says when it is tried again, which can be called off", async () => {
    const fields: Record<string, unknown> = {
      ...failed,
      attempt: 1,
      max_attempts: 4,
      retry_at: "2126-01-02T10:00:00.000Z"
    }
    await open(run_id, fields)
    await page.getByText(/Attempt 1 of 4; next attempt: .*2126/).waitFor()
    await page.getByText("fix the cause, then wait for the next attempt").waitFor()
    await page.getByRole("button", { name: "Cancel retry" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Cancel this retry?" })
    await dialog.getByText("The run has failed and will not be retried.").waitFor()
    await page.route(`**/api/runs/${run_id}/cancel`, async (route) => {
      fields.retry_at = undefined
      await route.fulfill({ json: { ...(await ui.call("GET", `/api/runs/${run_id}`)), ...fields } })
    })
    await dialog.getByRole("button", { name: "Cancel retry" }).click()
    await page.getByText("fix the cause, then replay the run").waitFor()
    expect(await page.getByRole("button", { name: "Cancel retry" }).count()).toBe(0)
    expect(await page.getByText("next attempt").count()).toBe(0)
  })

  it("leads to the attempts before and after it", async () => {
    await open(run_id, { ...failed, attempt: 2, max_attempts: 4, retry_of: chat_id, retried_by: chat_id })
    await page.getByText("Attempt 2 of 4, after one that failed, followed by the next one").waitFor()
    for (const name of ["one that failed", "the next one"]) {
      expect(await page.getByRole("link", { name }).getAttribute("href")).toBe(`/runs/${chat_id}`)
    }
    await page.unrouteAll()
  })
})

describe("a run that further triggers can join", () => {
  it("says until when, and how many have", async () => {
    await open(run_id, { status: "queued", held_for: "window", held_until: "2126-01-02T10:00:00.000Z", joined: 2 })
    await page.locator(".badge").getByText("Collecting").waitFor()
    await page.getByText(/Collecting requests until .*2126.*; 2 more requests combined/).waitFor()
  })

  it("says how many have joined when no more can", async () => {
    await open(run_id, { joined: 1 })
    await page.getByText("1 more request combined").waitFor()
    expect(await page.getByText("Collecting").count()).toBe(0)
    await open(run_id, { joined: 0 })
    await page.getByText("Accepted", { exact: true }).first().waitFor()
    expect(await page.getByText("combined").count()).toBe(0)
    await page.unrouteAll()
  })
})

/** The names of the buttons that stand out. */
const mainButtons = () => page.locator("main .button.primary").allTextContents()

describe("the button that stands out on a run's page", () => {
  const failed = { status: "error", error: { code: "turns_exceeded", message: "no" }, conversation: { prompt: "x" } }

  it("is what one does there: to replay a failed run, to reply to a question, and nothing while it works", async () => {
    await open(run_id, failed)
    await page.getByRole("button", { name: "Replay", exact: true }).waitFor()
    expect(await mainButtons()).toEqual(["Replay"])
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    await page.getByRole("region", { name: "Replay", exact: true }).waitFor()
    expect(await mainButtons()).toEqual(["Send again"])
    await open(run_id, { asks: ["Yes"] })
    await page.getByRole("button", { name: "Reply", exact: true }).waitFor()
    expect(await mainButtons()).toEqual(["Reply"])
    await open(run_id, { status: "running", finished_at: undefined, conversation: { prompt: "x" } })
    await page.getByRole("button", { name: "Cancel run" }).waitFor()
    expect(await mainButtons()).toEqual([])
  })

  it("is followed by advice without backticks, and the step that failed is open", async () => {
    const at = "2026-01-02T10:00:00.000Z"
    const step = (id: string, status: string) => ({
      id,
      kind: "tool",
      at,
      title: `\`npm\` ${id}`,
      detail: `out ${id}`,
      status
    })
    await open(run_id, failed)
    const data = [step("a", "failed"), step("b", "failed"), step("c", "done")]
    await page.route(`**/api/runs/${run_id}/steps`, (route) => route.fulfill({ json: { data } }))
    await page.reload()
    const steps = page.getByRole("list", { name: "Steps" })
    await steps.getByText("out b").waitFor()
    await steps.getByText("npm b").waitFor()
    expect(
      await steps
        .getByText(/out [ac]/)
        .filter({ visible: true })
        .count()
    ).toBe(0)
    await page.locator(".notice code").getByText("max_turns").waitFor()
    await page.unrouteAll()
  })
})

describe("the timeline of a run", () => {
  const times = {
    accepted_at: "2026-01-02T10:00:00.000Z",
    sent_at: "2026-01-02T10:00:20.000Z",
    started_at: "2026-01-02T10:00:50.000Z",
    finished_at: "2026-01-02T10:05:00.000Z"
  }

  /** What the times between the steps were spent on, once the last step is shown. */
  const durations = async (last: string, fields: Record<string, unknown>) => {
    await open(run_id, { ...times, ...fields })
    const timeline = page.getByRole("list", { name: "Timeline" })
    await timeline.getByText(last).waitFor()
    const steps = await timeline.locator("strong").allTextContents()
    return { steps, durations: await timeline.locator("li > .small:not(.muted)").allTextContents() }
  }

  it("says how long each part of an answered run took", async () => {
    expect(await durations("Finished: success", {})).toEqual({
      steps: ["Accepted", "Sent to the team", "Started", "Finished: success"],
      durations: ["20 s waiting to be sent", "30 s waiting for the team", "4 min 10 s working"]
    })
  })

  it("does not claim that a run which was never sent has run", async () => {
    const fields = { status: "timeout", sent_at: undefined, started_at: undefined, conversation: { prompt: "x" } }
    expect(await durations("Finished: timeout", fields)).toEqual({
      steps: ["Accepted", "Finished: timeout"],
      durations: ["5 min waiting to be sent"]
    })
  })

  it("does not claim that a run has started whose leader never said so", async () => {
    const fields = { status: "timeout", started_at: times.sent_at, conversation: { prompt: "x" } }
    expect(await durations("Finished: timeout", fields)).toEqual({
      steps: ["Accepted", "Sent to the team", "Finished: timeout"],
      durations: ["20 s waiting to be sent", "4 min 40 s with the team"]
    })
  })

  it("goes on counting for a run that has not ended", async () => {
    const fields = { status: "running", started_at: undefined, finished_at: undefined }
    const { steps, durations: texts } = await durations("Finished", fields)
    expect(steps).toEqual(["Accepted", "Sent to the team", "Started", "Finished"])
    expect(texts).toEqual(["20 s waiting to be sent", expect.stringMatching(/waiting for the team$/)])
  })
})

describe("the status of a run", () => {
  it("tells what the team works on from what was only sent to it", async () => {
    const running = { status: "running", finished_at: undefined, conversation: { prompt: "x" } }
    const badge = page.getByRole("heading", { level: 1 }).locator(".badge")
    await open(run_id, { ...running, started_at: undefined })
    await badge.getByText("Sent", { exact: true }).waitFor()
    await open(run_id, running)
    await badge.getByText("Working", { exact: true }).waitFor()
    await open(run_id, { status: "cancelled", cancelled_by: "superseded" })
    await page.locator(".badge.neutral").getByText("Superseded", { exact: true }).waitFor()
  })
})

describe("a run's answer", () => {
  const response = Array.from({ length: 450 }, (_, i) => `line ${i + 1}`).join("\n\n")

  it("is folded after 200 lines, and can be copied and downloaded whole from the top of the page", async () => {
    await open(run_id, { conversation: { prompt: "x", response } })
    const answer = page.getByRole("region", { name: "Answer", exact: true })
    await answer.getByText("line 100", { exact: true }).waitFor()
    expect(await answer.getByText("line 102", { exact: true }).count()).toBe(0)
    await answer.getByRole("button", { name: "Show all 899 lines" }).click()
    await answer.getByText("line 450", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Copy the answer" }).first().click()
    await eventually(() => page.evaluate("navigator.clipboard.readText()")).toBe(response)
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click()
    ])
    expect(file.suggestedFilename()).toBe(`answer-${run_id}.md`)
    expect(await readFile(await file.path(), "utf8")).toBe(response)
  })

  it("is found by the run's title in the window's title, or by the first line of its prompt", async () => {
    await open(run_id, { title: "acme/infra#396: Add retries" })
    await eventually(() => page.title()).toBe("acme/infra#396: Add retries · Webhook Trigger")
    await page.getByRole("heading", { level: 1, name: /^acme\/infra#396: Add retries/ }).waitFor()
    await open(run_id, { title: undefined, conversation: { prompt: "\n## Review it\nnow" } })
    await eventually(() => page.title()).toBe("Review it · Webhook Trigger")
  })

  it("comes before what was asked for, which is folded, and the date is said once", async () => {
    await open(run_id, { accepted_at: "2026-01-02T10:00:00.000Z", started_at: "2026-01-02T10:00:01.000Z" })
    const answer = page.getByRole("region", { name: "Answer", exact: true })
    const prompt = page.getByRole("region", { name: "the prompt", exact: true })
    await answer.waitFor()
    expect(await prompt.count()).toBe(0)
    await page.locator("summary").getByRole("heading", { name: "Rendered prompt" }).click()
    await prompt.getByText("Review # A change").waitFor()
    const [above, below] = [await answer.boundingBox(), await prompt.boundingBox()]
    expect(above!.y).toBeLessThan(below!.y)
    const facts = page.getByRole("complementary", { name: "Facts" })
    expect(((await facts.textContent()) ?? "").match(/2 Jan 2026/g)).toHaveLength(1)
  })
})

describe("the advice on a failed run", () => {
  const failed = (code: string) => ({ status: "error", error: { code, message: "no" }, conversation: { prompt: "x" } })

  it("is to repeat a webhook's run where the page can do so", async () => {
    for (const [code, heading] of [
      ["agent_error", "The agent could not finish."],
      ["team_gone", "The team's queue is gone."]
    ] as const) {
      await open(run_id, failed(code))
      await page.getByText(heading, { exact: true }).waitFor()
      await page.getByText("then replay the run.").waitFor()
      await page.getByRole("button", { name: "Replay", exact: true }).click()
      await page.getByRole("region", { name: "Replay", exact: true }).waitFor()
    }
  })

  it("is to describe the answer when it is invalid, below which its text is shown; a valid one is shown as JSON", async () => {
    await open(run_id, { ...failed("answer_invalid"), conversation: { prompt: "x", response: "Looks good." } })
    await page
      .getByText("Describe the expected answer in the prompt, or correct the schema, then replay the run.")
      .waitFor()
    const answer = page.getByRole("region", { name: "Answer", exact: true })
    await answer.getByRole("heading", { name: "Invalid answer" }).waitFor()
    await answer.getByText("Looks good.", { exact: true }).waitFor()
    const conversation = { prompt: "x", response: 'It is:\n```\n{"verdict":"ok"}\n```' }
    await open(run_id, { status: "success", answer: { verdict: "ok" }, conversation })
    await answer.getByText('{\n  "verdict": "ok"\n}').waitFor()
    expect(await answer.getByText("It is:").count()).toBe(0)
    await answer.getByRole("button", { name: "Show raw" }).click()
    await answer.getByText("It is:").waitFor()
  })

  it("is to answer with a link when the answer was too large, below which its beginning is shown", async () => {
    await open(run_id, { ...failed("answer_too_large"), conversation: { prompt: "x", response: "the beginning" } })
    await page.getByText("answer with a link, then replay the run.").waitFor()
    const answer = page.getByRole("region", { name: "Answer", exact: true })
    await answer.getByRole("heading", { name: "Beginning of the answer" }).waitFor()
    await answer.getByText("the beginning", { exact: true }).waitFor()
  })

  it("is to replay a chat message, with the same or another text", async () => {
    await open(chat_id, failed("agent_error"))
    await page.getByText("then replay the message.").waitFor()
    await page.getByRole("button", { name: "Replay", exact: true }).click()
    const form = page.getByRole("region", { name: "Replay", exact: true })
    await form.getByRole("textbox", { name: "Message" }).fill("Hello again")
    await form.getByRole("button", { name: "Send again" }).click()
    await form.getByRole("link", { name: "Open the run" }).click()
    await page.getByRole("region", { name: "Answer", exact: true }).getByText("Hello again").waitFor()
    expect(await page.getByRole("link", { name: "an earlier run" }).getAttribute("href")).toBe(`/runs/${chat_id}`)
  })
})

it("numbers of callers are shown and sent again as they were written", async () => {
  const { id } = await createReview(ui)
  const variables = Json.parse('{"title":820982911946154508,"author":{"name":1.10}}')
  const { run_id } = await ui.call("POST", `/api/webhooks/${id}/runs`, { variables })
  await page.unrouteAll()
  await page.goto(`/webhooks/${id}`)
  await page.getByText("title: 820982911946154508").first().waitFor()
  await page.goto(`/runs/${run_id}`)
  await page.locator("summary").getByRole("heading", { name: "Variables" }).click()
  const list = page.getByRole("region", { name: "Variables" })
  await list.getByText("820982911946154508").waitFor()
  await list.getByText('"name": 1.10').waitFor()
  await page.getByRole("button", { name: "Replay", exact: true }).click()
  const form = page.getByRole("region", { name: "Replay", exact: true })
  await form.getByRole("textbox", { name: "title" }).fill("820982911946154509")
  await form.getByRole("button", { name: "Send again" }).click()
  await form.getByRole("link", { name: "Open the run" }).click()
  await page.getByText("Review 820982911946154509 by 1.10").first().waitFor()
})
