import { Effect, Layer, Logger, Redacted } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { LeaderAmqp } from "../../../../src/amqp.ts"
import { Leader, TeamName } from "../../../../src/leader/index.ts"
import { freshVhost } from "../../../support/fresh.ts"
import { Gate } from "../../../support/Gate.ts"
import { until } from "../../../support/Until.ts"
import { axe } from "../../Axe.ts"
import { errorsOf, eventually, startTestUi, type TestUi } from "../../TestUi.ts"

const team = "release"

let ui: TestUi
let webhook_id: string
let page: Page

/** Asks about every release, and says in which session it got a message. */
const agent = Leader.layer({
  team: TeamName.make(team),
  handler: ({ prompt, thread }) =>
    Effect.succeed({
      response: prompt.startsWith("Release") ? "All tests pass. **Ship it?**" : `${prompt}, in ${thread?.session_id}`,
      report: {
        session_id: `s-${prompt.length}`,
        usage: { cost_usd: 0.25, output_tokens: 10 },
        ...(prompt.startsWith("Release") && { asks: ["Ship it", "Wait until tomorrow"] }),
        ...(prompt === "Ship it" && { links: [{ title: "Release 7", url: "https://git.example.com/7" }] })
      }
    })
})

beforeAll(async () => {
  let url = ""
  ui = await startTestUi(
    Effect.map(freshVhost, (AMQP_URL) => {
      url = AMQP_URL
      return { AMQP_URL }
    })
  )
  await ui.call("POST", "/api/teams", { team })
  const bus = LeaderAmqp.layer({ url: Redacted.make(url), queueType: "classic" })
  await ui.run(Layer.build(agent.pipe(Layer.provide(bus), Layer.provide(Logger.layer([])))))
  await until(`${team} runs`, async () => (await ui.call("GET", `/api/teams/${team}`)).running)
  const draft = { name: "Release", team, prompt_template: "Release {{version}}" }
  webhook_id = (await ui.call("POST", "/api/webhooks", draft)).webhook.id
  page = await ui.newPage({ signedIn: true })
})
afterAll(() => ui?.close())

const release = async (): Promise<string> =>
  (await ui.call("POST", `/api/webhooks/${webhook_id}/runs?wait=true`, { variables: { version: "7" } })).run_id

const say = async (message: string, thread: string): Promise<string> =>
  (await ui.call("POST", `/api/teams/${team}/messages?wait=true`, { message, thread })).message_id

const threadOf = async (run_id: string): Promise<{ id: string; key: string }> =>
  (await ui.call("GET", `/api/runs/${run_id}`)).thread

const conversation = () => page.getByRole("list", { name: "Conversation, oldest first" })
const turns = () => conversation().getByRole("listitem").filter({ hasText: "Open the run" })
const box = () => page.getByRole("region", { name: "Next message" })

describe("a question", () => {
  it("is counted in the navigation, shown in lists until it has a reply, and replied to where it is shown", async () => {
    const run_id = await release()
    await page.goto("/runs")
    const asking = page.getByRole("list", { name: "Runs, newest first" }).getByText("Asks", { exact: true })
    await eventually(() => asking.count()).toBe(1)
    const count = page.getByRole("link", { name: "Questions and approvals: 1" })
    await count.click()
    expect(new URL(page.url()).search).toBe("?status=asks")
    expect(await page.getByLabel("Status").inputValue()).toBe("asks")
    await page
      .getByRole("list", { name: "Runs, newest first" })
      .getByRole("link", { name: /Release 7/ })
      .waitFor()
    expect(await axe(page)).toEqual([])
    await page.goto(`/teams/${team}`)
    await page.getByRole("list", { name: "Newest first" }).getByRole("button", { name: "Ship it" }).click()
    await conversation().getByText("Ship it, in s-9").waitFor()
    expect(new URL(page.url()).pathname).toBe(`/threads/${run_id}`)
    await eventually(() => count.count()).toBe(0)
    await page.goto("/runs?status=asks")
    await page.getByText("No runs match.").waitFor()
  })
})

describe("a question of a run without a thread", () => {
  it("is answered on the run's page with a suggested reply, in the agent's session, and the conversation follows", async () => {
    const run_id = await release()
    await page.goto(`/runs/${run_id}`)
    const reply = page.getByRole("region", { name: "Reply" })
    await reply.getByRole("heading", { name: "The agent asks a question" }).waitFor()
    const suggestions = reply.getByRole("group", { name: "Suggested replies" }).getByRole("button")
    expect(await suggestions.allTextContents()).toEqual(["Ship it", "Wait until tomorrow"])
    expect(await axe(page)).toEqual([])
    await suggestions.first().click()
    await page.getByRole("heading", { level: 1, name: "Replies to a run" }).waitFor()
    await conversation().getByText("Ship it, in s-9").waitFor()
    expect(await turns().count()).toBe(2)
    await turns().first().getByText("All tests pass.").waitFor()
    const link = conversation().getByRole("link", { name: "Release 7" })
    expect(await link.getAttribute("href")).toBe("https://git.example.com/7")
    expect(new URL(page.url()).pathname).toBe(`/threads/${run_id}`)

    await page.goto(`/runs/${run_id}`)
    const asked = page.getByRole("region", { name: "Question" })
    await asked.getByText("Suggested replies: Ship it, Wait until tomorrow").waitFor()
    await asked.getByRole("link", { name: "Open the conversation" }).click()
    await conversation().waitFor()
  })
})

describe("the page of a thread", () => {
  it("shows the whole conversation, takes the next message, and offers the replies to the last question only", async () => {
    await say("Release 1", "shop#7")
    const { id } = await threadOf(await say("Why?", "shop#7"))
    await page.goto(`/threads/${id}`)
    await page.getByRole("heading", { level: 1, name: "shop#7" }).waitFor()
    await eventually(() => turns().count()).toBe(2)
    expect(await page.getByRole("button", { name: "Ship it" }).count()).toBe(0)
    await box().getByRole("textbox", { name: "Message" }).fill("Release 2")
    await box().getByRole("textbox", { name: "Message" }).press("Control+Enter")
    await box().getByRole("button", { name: "Wait until tomorrow" }).click()
    await conversation().getByText("Wait until tomorrow, in s-9").waitFor()
    const prompts = await turns().locator(".turn-text p").allTextContents()
    expect(prompts).toEqual(["Release 1", "Why?", "Release 2", "Wait until tomorrow"])
    await eventually(() => page.getByRole("button", { name: "Ship it" }).count()).toBe(0)
    await box().getByRole("status").getByText("The run has ended.").waitFor()
    expect(errorsOf(page)).toEqual([])
  })

  it("shows a run that comes from elsewhere, and texts that are too long for a list as a whole", async () => {
    const { id } = await threadOf(await say("first", "shop#8"))
    await page.goto(`/threads/${id}`)
    await eventually(() => turns().count()).toBe(1)
    const long = `${"one line of many\n".repeat(100)}the end`
    await say(long, "shop#8")
    await eventually(() => turns().count()).toBe(2)
    const last = turns().last()
    expect(await last.locator(".turn-prompt").getByText("the end").count()).toBe(0)
    await last.getByRole("button", { name: "Show all of it" }).click()
    await last.locator(".turn-prompt").getByText("the end").waitFor()
    await last.locator(".turn-answer").getByText("the end, in s-5").waitFor()
  })

  /** The id of a thread with 23 runs. */
  const longThread = async (key: string): Promise<string> => {
    for (let n = 0; n < 22; n++) await say(`message ${n}`, key)
    return (await threadOf(await say("the last one", key))).id
  }

  it("shows earlier runs in pages", async () => {
    const id = await longThread("shop#9")
    await page.goto(`/threads/${id}`)
    await eventually(() => turns().count()).toBe(20)
    await page.getByRole("button", { name: "Show earlier runs" }).click()
    await eventually(() => turns().count()).toBe(23)
    await turns().first().locator(".turn-prompt").getByText("message 0").waitFor()
    expect(await page.getByRole("button", { name: "Show earlier runs" }).count()).toBe(0)
  })

  it("shows earlier runs also if the list is read again while they load", async () => {
    const id = await longThread("shop#11")
    const isEarlier = (url: URL) => url.pathname === "/api/runs" && (url.searchParams.get("cursor") ?? "") !== ""
    const gate = new Gate()
    await page.route(isEarlier, async (route) => {
      await gate.opened
      await route.continue()
    })
    await page.goto(`/threads/${id}`)
    await eventually(() => turns().count()).toBe(20)
    const asked = page.waitForRequest((request) => isEarlier(new URL(request.url())))
    await page.getByRole("button", { name: "Show earlier runs" }).click()
    await asked
    const changed = page.waitForResponse((response) => new URL(response.url()).pathname === `/api/threads/${id}`)
    await say("meanwhile", "shop#11")
    await changed
    gate.open()
    await eventually(() => turns().count()).toBe(24)
    await page.unrouteAll({ behavior: "ignoreErrors" })
  })

  it("resets it after a question, and a message then begins another one, which is shown", async () => {
    const { id } = await threadOf(await say("Release 3", "shop#10"))
    await page.goto(`/threads/${id}`)
    await box().getByRole("button", { name: "Ship it" }).waitFor()
    await page.getByRole("button", { name: "Reset" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Reset conversation" }).click()
    await box().getByText("This conversation has ended.").waitFor()
    expect(await page.getByRole("button", { name: "Reset" }).count()).toBe(0)
    expect(await page.getByRole("button", { name: "Ship it" }).count()).toBe(0)
    expect(await axe(page)).toEqual([])
    await box().getByRole("textbox", { name: "Message" }).fill("Anew")
    await box().getByRole("button", { name: "Send" }).click()
    await conversation().getByText("Anew, in undefined").waitFor()
    expect(await turns().count()).toBe(1)
    expect(new URL(page.url()).pathname).not.toBe(`/threads/${id}`)
  })
})

describe("the conversations of a team", () => {
  it("are listed from the team's page and found by their key, and lead to all their runs", async () => {
    await say("hello", "list#1")
    const { id } = await threadOf(await say("hello", "list#2"))
    await page.goto(`/teams/${team}`)
    await page.getByRole("link", { name: "Conversations" }).click()
    const list = page.getByRole("list", { name: "Conversations, newest run first" })
    const names = () => list.locator("strong").allTextContents()
    await eventually(async () => (await names()).slice(0, 2)).toEqual(["list#2", "list#1"])
    await page.getByRole("searchbox", { name: "Key" }).fill("list#2")
    await page.keyboard.press("Enter")
    await eventually(names).toEqual(["list#2"])
    await list.getByRole("link").click()
    await page.getByRole("link", { name: "All runs as a list" }).click()
    await page.getByRole("list", { name: "Runs, newest first" }).getByText("hello").waitFor()
    expect(new URL(page.url()).search).toBe(`?thread=${id}`)
    expect(await page.getByRole("list", { name: "Runs, newest first" }).getByRole("listitem").count()).toBe(1)
    await page.getByText("Conversation list#2").waitFor()
    await page.getByText(/0\.25, 10 output tokens, reported by 1 of 1 run$/).waitFor()
    await page.getByRole("button", { name: "Runs of all conversations" }).click()
    await eventually(() => new URL(page.url()).search).toBe("")
    await page.goto(`/teams/${team}/threads?key=nothing`)
    await page.getByText("No conversation has this key.").waitFor()
  })
})

describe("a message and a replay", () => {
  it("name their thread", async () => {
    await page.goto(`/teams/${team}`)
    const form = page.getByRole("region", { name: "Send a message" })
    await form.getByRole("textbox", { name: "Message" }).fill("hi")
    await form.getByRole("textbox", { name: "Conversation (optional)" }).fill("named#1")
    await form.getByRole("button", { name: "Send" }).click()
    const keyOf = async () =>
      (await ui.call("GET", `/api/teams/${team}/threads?limit=1`)).data.map(({ key }: { key: string }) => key)
    await eventually(keyOf).toEqual(["named#1"])

    const replayed = async (run_id: string, fill: string) => {
      await page.goto(`/runs/${run_id}`)
      await page.getByRole("button", { name: "Replay", exact: true }).click()
      const replay = page.getByRole("region", { name: "Replay", exact: true })
      await replay.getByRole("textbox", { name: "Conversation (optional)" }).fill(fill)
      await replay.getByRole("button", { name: "Send again" }).click()
      const href = await replay.getByRole("link", { name: "Open the run" }).getAttribute("href")
      return (await threadOf(href!.split("/").at(-1)!))?.key
    }
    const message = await say("hi", "named#2")
    expect(await replayed(message, "named#3")).toBe("named#3")
    expect(await replayed(message, "")).toBeUndefined()
    expect(await replayed(message, "named#2")).toBe("named#2")
    expect(await replayed(await release(), "named#4")).toBe("named#4")
  })

  it("of a run in a thread leads to the conversation", async () => {
    await page.goto(`/runs/${await say("hello", "named#5")}`)
    await page.getByRole("complementary", { name: "Facts" }).getByRole("link", { name: "named#5" }).waitFor()
    await page.getByRole("link", { name: "Conversation", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "named#5" }).waitFor()
  })
})
