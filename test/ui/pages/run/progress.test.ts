/** What the pages show of an agent's work before it has answered. */
import { renameSync, writeFileSync } from "node:fs"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { newFolder } from "../../../cli/Program.ts"
import { axe } from "../../Axe.ts"
import { errorsOf, eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

/** Reports each file's text as soon as it is there, and answers with the last one. */
const agent = (file: string) => `
const { existsSync, readFileSync } = require("node:fs")
let step = 0
setInterval(() => {
  for (; existsSync("${file}" + step); step++) {
    const line = readFileSync("${file}" + step, "utf8")
    console.log(line)
    if ("response" in JSON.parse(line)) process.exit()
  }
}, 50)`

let file: string
let step = 0
const report = (line: object) => {
  writeFileSync(`${file}next`, JSON.stringify(line))
  renameSync(`${file}next`, `${file}${step++}`)
}

beforeAll(async () => {
  const scoped = Effect.map(newFolder, (folder) => {
    file = `${folder}-step-`
    writeFileSync(`${folder}-agent.cjs`, agent(file))
    return { LEADERS: `ops=--output json-lines ${process.execPath} ${folder}-agent.cjs` }
  })
  ui = await startTestUi(scoped)
})
afterAll(() => ui?.close())

/** Sends a message to the team, and waits until it works on it. */
const startRun = async (): Promise<string> => {
  const { message_id } = await ui.call("POST", "/api/teams/ops/messages", { message: "Fix it", thread: "t" })
  await eventually(async () => (await ui.call("GET", `/api/runs/${message_id}`)).status).toBe("running")
  return message_id
}

const outputOf = (page: Page) => page.getByRole("region", { name: "Live output" })

describe("the page of a run that has not ended", () => {
  it("shows the text as it grows and the last activity, until the answer replaces them", async () => {
    const run_id = await startRun()
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/runs/${run_id}`)
    const output = outputOf(page)
    await output.getByText("The agent has not reported what it does.").waitFor()
    const { height } = (await output.boundingBox())!

    report({ type: "progress", text: "I look. ", activity: "Reading <b>files</b>" })
    await output.getByText("Reading <b>files</b>").waitFor()
    report({ type: "progress", text: "I see.\n".repeat(60), activity: "Running the tests" })
    await output.getByText("Running the tests").waitFor()
    const area = output.getByRole("region", { name: "Output so far" })
    const text = area.locator("> pre")
    expect((await output.boundingBox())!.height).toBe(height)
    await eventually(() => text.textContent()).toMatch(/^I look\.\s+(I see\.\n){60}$/)
    expect(await area.evaluate((area) => area.scrollHeight - area.clientHeight - area.scrollTop)).toBeLessThan(2)
    report({ type: "progress", step: { id: "a", kind: "tool", tool: "Bash", title: "Count <i>", detail: "wc <i>" } })
    report({
      type: "progress",
      steps: [{ id: "a", status: "failed", result_bytes: 2_000 }],
      activity: "Running the tests"
    })
    const steps = output.getByRole("list", { name: "Steps" })
    await steps.getByText(/failed, 2KB/).waitFor()
    // What was said before a step is a step, and is shown once.
    await steps.getByText("I look.").first().waitFor()
    expect(await text.textContent()).toBe("")
    expect((await output.boundingBox())!.height).toBe(height)
    expect(await steps.getByText("wc <i>").isVisible()).toBe(false)
    await steps.getByText("Bash Count <i>").click()
    await steps.getByText("wc <i>").waitFor()
    await eventually(() => output.getByRole("status").textContent()).toBe("Running the tests")
    // Only the activity is announced.
    expect(await output.getByRole("status").textContent()).toBe("Running the tests")
    expect(await axe(page)).toEqual([])

    const thread = (await ui.call("GET", `/api/runs/${run_id}`)).thread.id
    const narrow = await ui.newPage({ signedIn: true, width: 320, dark: true })
    await narrow.goto("/runs")
    await narrow.getByRole("list", { name: "Runs, newest first" }).getByText("Running the tests").waitFor()
    await narrow.goto(`/threads/${thread}`)
    await outputOf(narrow).getByText("Running the tests").waitFor()
    expect(await axe(narrow)).toEqual([])
    expect(await narrow.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    if (process.env.SCREENSHOTS !== undefined) {
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/run.png` })
      await narrow.screenshot({ path: `${process.env.SCREENSHOTS}/thread.png`, fullPage: true })
    }

    report({ response: "Fixed." })
    for (const each of [page, narrow]) {
      await each.getByText("Fixed.").waitFor()
      expect(await outputOf(each).count()).toBe(0)
      expect(errorsOf(each)).toEqual([])
    }
    await page.getByText("What the agent did").click()
    await page
      .getByRole("list", { name: "Steps" })
      .getByText(/failed, 2KB/)
      .waitFor()
    expect(await axe(page)).toEqual([])
    if (process.env.SCREENSHOTS !== undefined) await page.screenshot({ path: `${process.env.SCREENSHOTS}/steps.png` })
  })
})
