/** The webhook filter of the runs, with more webhooks than anybody scrolls through. */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axeAtBothWidths } from "../Axe.ts"
import { errorsOf, eventually, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let wanted: string

beforeAll(async () => {
  ui = await startTestUi()
  const create = (name: string) =>
    ui
      .call("POST", "/api/webhooks", { name, team: "demo", prompt_template: "{{text}}" })
      .then(({ webhook }) => webhook.id)
  for (let i = 0; i < 300; i++) await create(`deploy service ${i}`)
  wanted = await create("Überprüfung: שלום review with a name that is longer than the field")
})
afterAll(() => ui?.close())

const field = (page: Page) => page.getByRole("combobox", { name: "Webhook" })
const options = (page: Page) => page.getByRole("listbox", { name: "Webhook" }).getByRole("option")
const webhookOf = (page: Page) => new URL(page.url()).searchParams.get("webhook")

describe("the webhook filter", () => {
  const opened = async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/runs")
    await eventually(() => field(page).inputValue()).toBe("All webhooks")
    return page
  }

  it("finds a webhook by a part of its name, with the keyboard alone", async () => {
    const page = await opened()
    await field(page).focus()
    // Typing replaces the name that is shown.
    await page.keyboard.type("REVIEW")
    await eventually(() => options(page).count()).toBe(1)
    expect(await field(page).getAttribute("aria-expanded")).toBe("true")
    await page.keyboard.press("ArrowDown")
    const id = await options(page).getAttribute("id")
    await eventually(() => field(page).getAttribute("aria-activedescendant")).toBe(id)
    expect(await axeAtBothWidths(page)).toEqual([])
    await page.keyboard.press("Enter")
    await eventually(() => webhookOf(page)).toBe(wanted)
    expect(await field(page).getAttribute("aria-expanded")).toBe("false")
    expect(await field(page).inputValue()).toContain("review with a name")
    // As after a reload, or from a link.
    await page.reload()
    await eventually(() => field(page).inputValue()).toContain("review with a name")
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("offers all of them to the mouse, and all webhooks again", async () => {
    const page = await opened()
    await field(page).click()
    await eventually(() => options(page).count()).toBe(303)
    const list = page.getByRole("listbox", { name: "Webhook" })
    expect(await axeAtBothWidths(page)).toEqual([])
    expect((await list.boundingBox())!.height).toBeLessThan(400)
    await list.getByRole("option", { name: "deploy service 17", exact: true }).click()
    await eventually(() => webhookOf(page)).not.toBe(null)
    expect(await field(page).inputValue()).toBe("deploy service 17")
    await page.getByRole("button", { name: "Show the list" }).click()
    await list.getByRole("option", { name: "All webhooks" }).click()
    await eventually(() => webhookOf(page)).toBe(null)
    expect(await field(page).inputValue()).toBe("All webhooks")
    await page.context().close()
  })

  it("keeps the choice when the text is left or Escape is pressed, and drops it when the field is emptied", async () => {
    const page = await opened()
    await page.goto(`/runs?webhook=${wanted}`)
    await eventually(() => field(page).inputValue()).toContain("review")
    await field(page).fill("nothing like it")
    await page.getByText("No match.").waitFor()
    expect(await axeAtBothWidths(page)).toEqual([])
    await page.keyboard.press("Escape")
    await eventually(() => field(page).inputValue()).toContain("review")
    await field(page).fill("service 2")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Tab")
    await eventually(() => field(page).inputValue()).toContain("review")
    expect(webhookOf(page)).toBe(wanted)
    await field(page).fill("")
    await page.keyboard.press("Tab")
    await eventually(() => webhookOf(page)).toBe(null)
    await eventually(() => field(page).inputValue()).toBe("All webhooks")
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})
