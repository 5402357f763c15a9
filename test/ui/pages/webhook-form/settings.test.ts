import type { Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  accepts,
  settingGroups,
  textOf,
  type WebhookSetting
} from "../../../../src/domain/webhook/WebhookSettingKinds.ts"
import { webhookSettingNames, webhookSettings } from "../../../../src/domain/webhook/WebhookSettings.ts"
import { invalid, valid } from "../../../support/SettingSamples.ts"
import { createReview, eventually, settingField, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let webhook: { readonly id: string }

beforeAll(async () => {
  ui = await startTestUi()
  webhook = await createReview(ui)
})

afterAll(() => ui?.close())

/** The setting's field, once its group is open. */
const fieldOf = (page: Page, { kind, label, ...setting }: WebhookSetting): Promise<Locator> =>
  settingField(page, kind === "whole number" && "unit" in setting ? `${label} in ${setting.unit}` : label)

/** How it is shown. */
const shown = (setting: WebhookSetting): string =>
  setting.kind === "switch"
    ? "on"
    : setting.kind === "whole number" && setting.unit !== undefined
      ? "7.0 s"
      : textOf(valid(setting))

/** Any other value is typed, and may be wrong. */
const isSelected = ({ kind }: WebhookSetting): boolean => kind === "choice" || kind === "switch"

const enter = async (field: Locator, text: string): Promise<void> => {
  const isList = (await field.evaluate(({ tagName }) => tagName)) === "SELECT"
  await (isList ? field.selectOption(text) : field.fill(text))
}

describe("a webhook's optional settings", () => {
  const settings: ReadonlyArray<readonly [name: string, setting: WebhookSetting]> = Object.entries(
    webhookSettings
    // `shares` and `attachments` exclude some of the others.
  ).filter(([name, { kind }]) => kind !== "webhook" && name !== "attachments")

  it("have a field each, with the default in it, that rejects what the API would", async () => {
    const server = await ui.call("GET", "/api/server")
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    const typed = settings.map(([, setting]) => setting).filter((setting) => !isSelected(setting))
    for (const setting of typed) {
      const field = await fieldOf(page, setting)
      expect(await field.getAttribute("placeholder")).toBe(
        String(setting.serverDefault === undefined ? setting.default : server[setting.serverDefault])
      )
      await field.fill(invalid(setting)[0])
    }
    await page.getByRole("button", { name: "Save" }).click()
    for (const setting of typed) {
      await page
        .getByText(`M${accepts(setting).slice(1).replaceAll("`", "")}.`, { exact: true })
        .first()
        .waitFor()
    }
    await page.context().close()
  })

  it("are stored, shown on the webhook's page, and back at the server's default once the field is empty", async () => {
    const page = await ui.newPage({ signedIn: true })
    const facts = page.getByRole("region", { name: "Settings" })
    const save = async (typed: (setting: WebhookSetting) => string) => {
      await page.getByRole("link", { name: "Edit" }).click()
      for (const [, setting] of settings) await enter(await fieldOf(page, setting), typed(setting))
      await page.getByRole("button", { name: "Save" }).click()
      await page.getByRole("tab", { name: "Settings" }).click()
      await facts.waitFor()
      return ui.call("GET", `/api/webhooks/${webhook.id}`)
    }
    await page.goto(`/webhooks/${webhook.id}?tab=settings`)
    const allDefaults = facts.getByText(`${webhookSettingNames.length} defaults`, { exact: true })
    await allDefaults.waitFor()
    expect(await save((setting) => textOf(valid(setting)))).toMatchObject(
      Object.fromEntries(settings.map(([name, setting]) => [name, valid(setting)]))
    )
    for (const [, setting] of settings) await facts.getByText(shown(setting), { exact: true }).first().waitFor()
    await facts.getByText("2 defaults", { exact: true }).waitFor()
    const cleared = await save(() => "")
    for (const [name] of settings) expect(cleared).not.toHaveProperty(name)
    await allDefaults.waitFor()
    await page.context().close()
  })
})

describe("the groups of settings", () => {
  const group = (page: Page, title: string) =>
    page.locator("details").filter({ has: page.getByRole("heading", { name: title }) })

  const isOpen = async (page: Page, title: string) => (await group(page, title).getAttribute("open")) !== null

  it("are folded while nothing in them is set, say what can be, and open with the keyboard", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    const limits = group(page, "Limits")
    await limits.getByText("Not set: Timeout, Maximum work, Concurrency limit, Queue limit").waitFor()
    for (const title of Object.values(settingGroups)) expect([title, await isOpen(page, title)]).toEqual([title, false])
    await limits.locator("summary").focus()
    await page.keyboard.press("Enter")
    await page.getByLabel("Timeout in seconds").waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.type("90")
    await limits.getByText("Timeout: 1 min 30 s").waitFor()
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await page.getByLabel("Timeout in seconds").waitFor({ state: "hidden" })
    await limits.getByText("Timeout: 1 min 30 s").waitFor()
    await page.context().close()
  })

  it("are open where something is set, name it, and open where something is wrong", async () => {
    const { webhook } = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Folded", team: "demo", prompt_template: "x", rate: "7/min", schema: { type: "object" } },
      ...{ verification: { preset: "hmac", header: "X-Signature" }, secret: "a secret for the tests" }
    })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    const { callers, failures, limits, requests, template } = settingGroups
    await group(page, limits).getByText("Rate limit: 7/min", { exact: true }).waitFor()
    await group(page, requests).locator("summary").getByText("JSON Schema", { exact: true }).waitFor()
    await group(page, callers).getByText("Verification: HMAC", { exact: true }).waitFor()
    for (const title of [callers, limits, requests]) expect([title, await isOpen(page, title)]).toEqual([title, true])
    for (const title of [failures, template]) expect([title, await isOpen(page, title)]).toEqual([title, false])

    const fold = (title: string) => group(page, title).locator("summary").click()
    const save = () => page.getByRole("button", { name: "Save" }).click()
    const focused = (label: string) =>
      eventually(() => page.getByLabel(label, { exact: true }).and(page.locator(":focus")).count()).toBe(1)
    await (await settingField(page, "Retries")).fill("many")
    await fold(failures)
    await save()
    await focused("Retries")
    await fold(failures)
    await save()
    await focused("Retries")
    await page.getByLabel("Retries").fill("")
    // What only the server finds wrong.
    await (await settingField(page, "Filter")).fill("a ==")
    await group(page, requests).getByText("Filter: a == · JSON Schema", { exact: true }).waitFor()
    await fold(requests)
    await save()
    await page.getByLabel("Filter").and(page.locator("[aria-invalid=true]")).waitFor()
    await page.context().close()
  })
})
