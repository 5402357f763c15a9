import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { randomFor } from "../../support/Random.ts"
import { createPages, open, type UiPage } from "../Pages.ts"
import { startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let pages: ReadonlyArray<UiPage>

beforeAll(async () => {
  ui = await startTestUi()
  // As long as names can be, of one word and of many.
  const names = {
    webhook: "review_every_branch_".repeat(12),
    setUp: "Alerts of the production cluster, but only those that wake somebody up ".repeat(3).trim(),
    idleTeam: "a-team-that-reviews-what-all-other-teams-have-written-yesterday"
  }
  const { pages: ofUi } = await createPages(ui, names)
  pages = [...ofUi, ["/docs", /HTTP API$/, "Parameters"]]
})
afterAll(() => ui?.close())

/** In each run other widths between the fixed ones, so that none escapes for long. */
const offset = Math.floor(randomFor("widths of windows").between(0, 128))

/** In pixels: the limits, every 128th, and those at which a media query of the page begins or ends to hold. */
const widthsOf = async (page: Page): Promise<ReadonlyArray<number>> => {
  const bounds = (await page.evaluate(`
    [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).flatMap(({ media }) =>
      [...(media?.mediaText ?? "").matchAll(/width: ([\\d.]+)rem/g)].map(([, rem]) => Number(rem) * 16))`)) as number[]
  const steps = [320, 1440, ...Array.from({ length: 8 }, (_, i) => 320 + offset + 128 * i)]
  return [...new Set([...steps, ...bounds, ...bounds.map((width) => width + 1)])].sort((a, b) => a - b)
}

/** The window's widths at which the page scrolls sideways. */
const tooNarrow = async (page: Page, what: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const width of await widthsOf(page)) {
    await page.setViewportSize({ width, height: 900 })
    const over = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))
    if (over > 0) found.push(`${what}: ${over} pixels too wide for ${width}`)
  }
  return found
}

// WCAG 2.2, 1.4.10 Reflow: a laptop's window at 200 % is 640 to 720 pixels wide.
it("shows every page without scrolling sideways, from 320 to 1440 pixels wide", async () => {
  const page = await ui.newPage()
  await page.goto("/")
  await page.getByLabel("API key or admin key").waitFor()
  const found = [...(await tooNarrow(page, "signing in"))]
  const signedIn = await ui.newPage({ signedIn: true })
  for (const each of pages) {
    await open(signedIn, each)
    found.push(...(await tooNarrow(signedIn, each[0])))
  }
  expect(found).toEqual([])
  await page.context().close()
  await signedIn.context().close()
})
