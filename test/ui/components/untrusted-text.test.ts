import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freshDatabase } from "../../support/fresh.ts"
import { queryPostgres } from "../../support/Postgres.ts"
import { axe } from "../Axe.ts"
import { errorsOf, eventually, foreignRequestsOf, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let page: Page

let url: string
beforeAll(async () => {
  ui = await startTestUi(
    Effect.map(freshDatabase, (DATABASE_URL) => {
      url = DATABASE_URL
      return { DATABASE_URL }
    })
  )
  page = await ui.newPage({ signedIn: true })
})
afterAll(() => ui?.close())

/** A run whose answer is this very text: the demo team repeats its prompt. */
const answered = async (response: string): Promise<string> => {
  const { message_id } = await ui.call("POST", "/api/teams/demo/messages?wait=true", { message: response })
  return message_id
}

const show = async (run_id: string) => {
  await page.goto(`/runs/${run_id}`)
  const answer = page.getByRole("region", { name: "Answer", exact: true })
  await answer.locator(".markdown").waitFor()
  return answer
}

/** No script ran, nothing was fetched from elsewhere, and the policy had nothing to block. */
const expectNoHarm = async () => {
  expect(await page.evaluate("window.harmed")).toBeUndefined()
  expect(foreignRequestsOf(page)).toEqual([])
  expect(errorsOf(page)).toEqual([])
}

describe("a malicious answer", () => {
  it("shows its HTML as the text it is", async () => {
    const attacks = [
      "<script>window.harmed = 1</script>",
      "<img src=x onerror='window.harmed = 1'>",
      "<svg onload='window.harmed = 1'><a xlink:href='javascript:window.harmed=1'>x</a></svg>",
      "<iframe srcdoc='<script>parent.harmed = 1</script>'></iframe>",
      "<form action='https://evil.example'><button>Sign in</button></form>",
      "<style>body { display: none }</style>",
      "<base href='https://evil.example/'>",
      "<meta http-equiv='refresh' content='0; url=https://evil.example/'>"
    ]
    const answer = await show(await answered(attacks.join("\n\n")))
    const text = await answer.textContent()
    for (const attack of attacks) expect(text).toContain(attack)
    expect(await answer.locator("script, img, svg a, iframe, form, style, base, meta").count()).toBe(0)
    await expectNoHarm()
  })

  it("has links to web pages and mail addresses only", async () => {
    const answer = await show(
      await answered(
        [
          "[a](javascript:window.harmed=1)",
          "[b](JaVaScRiPt:window.harmed=1)",
          "[c](\tjavascript:window.harmed=1)",
          "[d](&#106;avascript:window.harmed=1)",
          "[e](data:text/html,<script>window.harmed=1</script>)",
          "[f](vbscript:x)",
          "[g](/webhooks)",
          "[h](//evil.example)",
          "<javascript:window.harmed=1>",
          "[fine](https://example.com/page)",
          "[mail](mailto:ada@example.com)"
        ].join("\n\n")
      )
    )
    const links = await answer
      .getByRole("link")
      .evaluateAll((all) =>
        all.map((link) => [link.getAttribute("href"), link.getAttribute("rel"), link.getAttribute("target")])
      )
    expect(links).toEqual([
      ["https://example.com/page", "noopener noreferrer nofollow", "_blank"],
      ["mailto:ada@example.com", "noopener noreferrer nofollow", "_blank"]
    ])
    await expectNoHarm()
  })

  it("has tables with whole words, aligned as it says, and task lists with boxes", async () => {
    const long = "a sentence of quite a few ordinary words that needs room. "
    const row = `| ${long.repeat(3)} | uninterruptible_and_ordinary | 12 |`
    const table = `| Text | Name | Count |\n|---|:-:|--:|\n${`${row}\n`.repeat(2)}`
    const answer = await show(await answered(`${table}\n- [x] done\n- [ ] open\n\n1. [x] loose\n\n2. plain`))
    const cell = (name: string) => answer.getByRole("row").nth(1).getByRole("cell", { name })
    const alignment = (name: string) =>
      cell(name).evaluate((node: any) => node.ownerDocument.defaultView.getComputedStyle(node).textAlign)
    expect(await alignment("uninterruptible")).toBe("center")
    expect(await alignment("12")).toBe("right")
    await page.setViewportSize({ width: 390, height: 844 })
    // One line: the name was not broken to fit.
    const lines = await cell("uninterruptible").evaluate((node: any) => {
      const range = node.ownerDocument.createRange()
      range.selectNodeContents(node)
      return range.getClientRects().length
    })
    expect(lines).toBe(1)
    await page.setViewportSize({ width: 1440, height: 900 })
    const boxes = answer.getByRole("checkbox")
    expect(await boxes.evaluateAll((all: ReadonlyArray<any>) => all.map((box) => box.checked))).toEqual([
      true,
      false,
      true
    ])
    expect(await answer.getByRole("listitem").allTextContents()).toEqual(["done", "open", "loose", "plain"])
    expect(await axe(page)).toEqual([])
  })

  it("fetches no image from anywhere", async () => {
    const answer = await show(
      await answered("![x](https://evil.example/pixel.png) ![y][1]\n\n[1]: https://evil.example/two.png\n")
    )
    await answer.getByRole("link", { name: "[image: x]" }).waitFor()
    expect(await answer.locator("img").count()).toBe(0)
    await expectNoHarm()
  })

  it("of a megabyte does not block the page", async () => {
    const paragraph = "A line with **bold**, `code` and [a link](https://example.com).\n\n"
    const text = paragraph.repeat(Math.ceil((1024 * 1024) / paragraph.length))
    const run_id = await answered("small")
    // Larger than a prompt may be, and so than what the demo team can answer.
    await queryPostgres(url, `update webhook_trigger.runs set response = '${text}' where id = '${run_id}'`)
    const answer = await show(run_id)
    await answer.getByRole("button", { name: /^Show all .* lines$/ }).click()
    await answer.getByRole("button", { name: /^Show more/ }).click()
    await answer.getByRole("button", { name: "Show raw" }).click()
    await answer.getByRole("button", { name: "Show all" }).click()
    await eventually(async () => (await answer.getByRole("region").textContent())?.length).toBe(text.length)
    await expectNoHarm()
  })

  it("is shown even when it is nested extremely deeply", async () => {
    for (const text of [">".repeat(20_000), `${"[".repeat(20_000)}x`, "*a **b ".repeat(5_000), "- ".repeat(10_000)]) {
      const run_id = await answered(text)
      const answer = await show(run_id)
      await answer.getByRole("button", { name: "Show raw" }).click()
    }
    await expectNoHarm()
  })

  it("whose emphasis never ends is shown at once, as text where it would take too long", async () => {
    for (const text of ["*__a ".repeat(12_000), `${"~a~~\n".repeat(1_300)}\n`.repeat(7), "_a".repeat(30_000)]) {
      const answer = await show(await answered(`Begin **here**.\n\n${text}`))
      await answer.getByText("here", { exact: true }).and(answer.locator("strong")).waitFor()
      if (text.includes("\n")) await answer.getByRole("button", { name: /^Show all .* lines$/ }).click()
      await eventually(async () => Number((await answer.textContent())?.length)).toBeGreaterThan(8_000)
    }
    await expectNoHarm()
  })

  it("cannot change the direction of the text around it", async () => {
    const answer = await show(await answered("Run safe\u202Egnp.exe now"))
    expect(await answer.textContent()).toContain("Run safe[U+202E]gnp.exe now")
  })
})

describe("a malicious name", () => {
  it("is shown as text in the list, on its page, in the title and in the deletion dialog", async () => {
    const name = '<img src=x onerror="window.harmed=1">\u202Etxet'
    const shown = '<img src=x onerror="window.harmed=1">[U+202E]txet'
    const { webhook } = await ui.call("POST", "/api/webhooks", {
      name,
      team: "demo",
      prompt_template: "{{__proto__}} {{constructor}} {{a.b}} {{a}}"
    })
    await page.goto("/webhooks")
    await page.getByRole("link", { name: shown }).click()
    await page.getByRole("heading", { level: 1, name: shown }).waitFor()
    await eventually(() => page.title()).toContain(shown)
    await page.getByRole("tab", { name: "Test" }).click()
    for (const variable of ["__proto__", "constructor", "a.b", "a"]) {
      await page.getByRole("textbox", { name: variable, exact: true }).fill(`<b>${variable}</b>`)
    }
    await page.getByRole("button", { name: "Send test" }).click()
    await page.getByRole("link", { name: "Open the run" }).click()
    await page.getByText("Finished: success").waitFor()
    const { variables } = await ui.call("GET", `/api/runs/${page.url().split("/").at(-1)}`)
    expect(Object.entries(variables)).toEqual(
      ["__proto__", "constructor", "a.b", "a"].map((variable) => [variable, `<b>${variable}</b>`])
    )
    await page.goto(`/webhooks/${webhook.id}?tab=settings`)
    await page.getByRole("button", { name: "Delete webhook" }).click()
    await page.getByLabel(/^Type/).fill(shown)
    await page.getByRole("button", { name: "Delete permanently" }).click()
    await eventually(() => page.url()).toBe(`${ui.server.url}/webhooks`)
    await expectNoHarm()
  })
})
