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
import { axe } from "../../Axe.ts"
import { createReview, eventually, settingField, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let webhook: { readonly id: string }

beforeAll(async () => {
  ui = await startTestUi()
  webhook = await createReview(ui)
})

afterAll(() => ui?.close())

/** The fields of the settings that have several, with a valid value of each, and how all of them are shown. */
const composed: {
  readonly [Kind in WebhookSetting["kind"]]?: {
    readonly parts: Readonly<Record<string, string>>
    readonly shown: string
    readonly accepts: string
  }
} = {
  retries: {
    parts: { "Maximum retries": "3", "First delay": "60" },
    shown: "3, the first after 1 min",
    accepts: "Enter 1 to 10 retries and a first delay of at most 24 h."
  },
  window: {
    parts: {
      ...{ "Same value of": "alert.name", Within: "30" },
      ...{ "Until none comes for (optional)": "10", "Requests in the prompt": "all" }
    },
    shown: "alert.name within 30 s, until none comes for 10 s, all in the prompt",
    accepts: "Enter the name of a value and a time of at most 1 h. The second time must not be longer."
  },
  singleton: {
    parts: { Key: "{{text}} of {{name}}", "What a new request does": "supersede" },
    shown: "{{text}} of {{name}}: supersede",
    accepts: "Enter a key of at most 1000 characters, and choose what a new request does."
  }
}

/** The setting's field, or the first of several, once its group is open. */
const fieldOf = (page: Page, { kind, label }: WebhookSetting): Promise<Locator> =>
  settingField(page, Object.keys(composed[kind]?.parts ?? {})[0] ?? label)

const isDuration = (setting: WebhookSetting): boolean => setting.kind === "whole number" && setting.unit !== undefined

/** How it is shown. */
const shown = (setting: WebhookSetting): string =>
  setting.kind === "switch"
    ? "on"
    : (composed[setting.kind]?.shown ?? (isDuration(setting) ? "7 s" : textOf(valid(setting))))

/** Any other value is typed, and may be wrong. */
const isSelected = ({ kind }: WebhookSetting): boolean => kind === "choice" || kind === "switch"

const enterIn = async (field: Locator, text: string): Promise<void> => {
  const isList = (await field.evaluate(({ tagName }) => tagName)) === "SELECT"
  await (isList ? field.selectOption(text) : field.fill(text))
}

/** Enters the valid value, or none. */
const enter = async (page: Page, setting: WebhookSetting, isValid: boolean): Promise<void> => {
  const field = await fieldOf(page, setting)
  const { parts } = composed[setting.kind] ?? {}
  if (parts === undefined) return enterIn(field, isValid ? textOf(valid(setting)) : "")
  const group = page.getByRole("group", { name: setting.label, exact: true })
  for (const [label, text] of Object.entries(parts)) {
    await enterIn(group.getByLabel(label, { exact: true }), isValid ? text : "")
  }
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
      if (!(setting.kind in composed)) {
        expect(await field.getAttribute("placeholder")).toBe(
          String(setting.serverDefault === undefined ? setting.default : server[setting.serverDefault])
        )
      }
      await field.fill(invalid(setting)[0])
    }
    await page.getByRole("button", { name: "Save" }).click()
    for (const setting of typed) {
      const says = composed[setting.kind]?.accepts ?? `M${accepts(setting).slice(1).replaceAll("`", "")}.`
      await page.getByText(says, { exact: true }).first().waitFor()
    }
    await page.context().close()
  })

  it("are stored, shown on the webhook's page, and back at the server's default once the field is empty", async () => {
    const page = await ui.newPage({ signedIn: true })
    const facts = page.getByRole("region", { name: "Settings" })
    const save = async (isValid: boolean) => {
      await page.getByRole("link", { name: "Edit" }).click()
      for (const [, setting] of settings) await enter(page, setting, isValid)
      await page.getByRole("button", { name: "Save" }).click()
      await page.getByRole("tab", { name: "Settings" }).click()
      await facts.waitFor()
      return ui.call("GET", `/api/webhooks/${webhook.id}`)
    }
    await page.goto(`/webhooks/${webhook.id}?tab=settings`)
    const allDefaults = facts.getByText(`${webhookSettingNames.length} defaults`, { exact: true })
    await allDefaults.waitFor()
    expect(await save(true)).toMatchObject(
      Object.fromEntries(settings.map(([name, setting]) => [name, valid(setting)]))
    )
    for (const [, setting] of settings) await facts.getByText(shown(setting), { exact: true }).first().waitFor()
    await facts.getByText("2 defaults", { exact: true }).waitFor()
    const cleared = await save(false)
    for (const [name] of settings) expect(cleared).not.toHaveProperty(name)
    await allDefaults.waitFor()
    await page.context().close()
  })
})

describe("the groups of settings", () => {
  const group = (page: Page, title: string) =>
    page.locator("details").filter({ has: page.getByRole("heading", { name: title, exact: true }) })

  const isOpen = async (page: Page, title: string) => (await group(page, title).getAttribute("open")) !== null

  it("are folded while nothing in them is set, say what can be, and open with the keyboard", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    const limits = group(page, "Limits")
    await limits.getByText("Not set: Timeout, Maximum work, Concurrency limit, Queue limit").waitFor()
    for (const title of Object.values(settingGroups)) expect([title, await isOpen(page, title)]).toEqual([title, false])
    await limits.locator("summary").focus()
    await page.keyboard.press("Enter")
    await page.getByLabel("Timeout", { exact: true }).waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.type("90")
    await limits.getByText("Timeout: 1 min 30 s").waitFor()
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await page.getByLabel("Timeout", { exact: true }).waitFor({ state: "hidden" })
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
    await (await settingField(page, "Maximum retries")).fill("many")
    await fold(failures)
    await save()
    await focused("Maximum retries")
    await fold(failures)
    await save()
    await focused("Maximum retries")
    await page.getByLabel("Maximum retries").fill("")
    // What only the server finds wrong.
    await (await settingField(page, "Filter")).fill("a ==")
    await group(page, requests).getByText("Filter: a == · JSON Schema", { exact: true }).waitFor()
    await fold(requests)
    await save()
    await page.getByLabel("Filter").and(page.locator("[aria-invalid=true]")).waitFor()
    await page.context().close()
  })

  it("show what is sought, or only what is set, and still every setting that is wrong", async () => {
    const { webhook } = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Sought", team: "demo", prompt_template: "x", timeout_seconds: 5_400 },
      retries: { max_retries: 3, backoff_seconds: 60 }
    })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    const headings = () => page.locator("details h2").allTextContents()
    const labels = () => page.locator(".setting label:visible").allTextContents()
    const find = page.getByRole("searchbox", { name: "Find a setting" })
    await find.fill("rate LIMIT")
    await eventually(labels).toEqual(["Rate limit"])
    expect(await headings()).toEqual([settingGroups.limits])
    await find.press("Enter")
    await find.fill("signature")
    await eventually(headings).toEqual([settingGroups.callers])
    await page.getByLabel("Verification", { exact: true }).waitFor()
    await find.fill("nothing of this name")
    await page.getByText("No setting matches.", { exact: true }).waitFor()
    await find.fill("")

    const onlySet = page.getByText("Only what is set", { exact: true })
    await onlySet.click()
    await eventually(headings).toEqual([settingGroups.limits, settingGroups.failures])
    await page.getByLabel("Unit of Timeout").selectOption("hours")
    expect(await page.getByLabel("Timeout", { exact: true }).inputValue()).toBe("90")
    await page.getByLabel("Timeout", { exact: true }).fill("")
    await page.getByLabel("Timeout", { exact: true }).fill("2")
    expect(await page.getByLabel("First delay", { exact: true }).inputValue()).toBe("1")
    await onlySet.click()
    await (await settingField(page, "Runs per day")).fill("none")
    await find.fill("timeout")
    await page.getByLabel("Runs per day").waitFor({ state: "detached" })
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByLabel("Runs per day").and(page.locator("[aria-invalid=true]:focus")).waitFor()
    await page.getByLabel("Runs per day").fill("")
    expect(await axe(page)).toEqual([])
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { level: 1, name: "Sought" }).waitFor()
    expect(await ui.call("GET", `/api/webhooks/${webhook.id}`)).toMatchObject({
      timeout_seconds: 7_200,
      retries: { max_retries: 3, backoff_seconds: 60 }
    })
    await page.context().close()
  })
})
