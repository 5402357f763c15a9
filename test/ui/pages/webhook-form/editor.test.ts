import type { Locator, Page, Route } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { teamNameAccepts } from "../../../../src/domain/TeamName.ts"
import {
  accepts,
  settingGroups,
  textOf,
  type Value,
  type WebhookSetting
} from "../../../../src/domain/webhook/WebhookSettingKinds.ts"
import { webhookSettings } from "../../../../src/domain/webhook/WebhookSettings.ts"
import { Gate } from "../../../support/Gate.ts"
import { axe } from "../../Axe.ts"
import { adminKey, createReview, eventually, settingField, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let webhook: { readonly id: string }

beforeAll(async () => {
  ui = await startTestUi()
  webhook = await createReview(ui)
})
afterAll(() => ui?.close())

/** A value of the setting. */
const valid = (setting: WebhookSetting): Value => {
  switch (setting.kind) {
    case "whole number":
      return 7
    case "text":
      return "7/min"
    case "choice":
      return setting.words[1]!
    case "expression":
      return "length(payload.text) > `7`"
    case "template":
      return "{{text}}"
    case "window":
      return { key: "alert.name", within: 30 }
    case "switch":
      return true
    case "json":
      return { type: "object" }
    case "networks":
      return ["10.0.0.0/8", "::1"]
    case "retries":
      return { attempts: 3, backoff_seconds: 60 }
  }
}

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

/** What is typed and refused; nothing, where only values can be chosen. */
const invalid = (setting: WebhookSetting): string => {
  switch (setting.kind) {
    case "whole number":
      return String(setting.max + 1)
    case "text":
    case "window":
    case "json":
    case "networks":
    case "retries":
      return "7"
    case "expression":
    case "template":
      return "x".repeat(5_000)
    case "choice":
    case "switch":
      return ""
  }
}

const enter = async (field: Locator, text: string): Promise<void> => {
  const isList = (await field.evaluate(({ tagName }) => tagName)) === "SELECT"
  await (isList ? field.selectOption(text) : field.fill(text))
}

describe("unsaved changes", () => {
  it("are not lost without confirmation, which is no longer needed once they are saved", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    await page.getByLabel("Name", { exact: true }).fill("Review, renamed")
    await page.getByRole("link", { name: "Teams", exact: true }).click()
    await page.getByRole("alertdialog", { name: "Leave without saving?" }).waitFor()
    await page.getByRole("button", { name: "Stay" }).click()
    await page.goBack()
    await page.getByRole("button", { name: "Stay" }).click()
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Review, renamed")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Review, renamed" }).waitFor()
    await page.getByRole("link", { name: "Edit" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Review")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Review", exact: true }).waitFor()
    await page.getByRole("link", { name: "Edit" }).click()
    await page.getByLabel("Name", { exact: true }).fill("discarded")
    await page.getByRole("link", { name: "Cancel" }).click()
    await page.getByRole("button", { name: "Leave", exact: true }).click()
    await page.getByRole("heading", { name: "Review", exact: true }).waitFor()
    await page.context().close()
  })

  it("of any field count, but no change that was made elsewhere meanwhile", async () => {
    await ui.call("POST", "/api/teams", { team: "other" })
    const page = await ui.newPage({ signedIn: true })
    const asked = page.getByRole("alertdialog", { name: "Leave without saving?" })
    const leave = () => page.getByRole("link", { name: "Teams", exact: true }).click()
    const changes: ReadonlyArray<() => Promise<void>> = [
      async () => {
        await page.getByRole("button", { name: / Team$/ }).click()
        await page.getByRole("option", { name: /^other/ }).click()
      },
      () => page.getByLabel("Prompt template").fill("Another one"),
      ...Object.values(webhookSettings).map(
        (setting) => async () => enter(await fieldOf(page, setting), textOf(valid(setting)))
      )
    ]
    const open = page.getByLabel("Name", { exact: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    for (const change of changes) {
      await open.waitFor()
      await change()
      await leave()
      await asked.waitFor()
      await page.getByRole("button", { name: "Leave", exact: true }).click()
      await page.getByRole("heading", { name: "Teams" }).waitFor()
      await page.goBack()
    }
    await open.waitFor()
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { name: "Renamed elsewhere", timeout_seconds: 60 })
    await page.getByRole("link", { name: "← Renamed elsewhere" }).waitFor()
    await leave()
    await page.getByRole("heading", { name: "Teams" }).waitFor()
    expect(await asked.count()).toBe(0)
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { name: "Review", timeout_seconds: null })
    await page.context().close()
  })
})

describe("verification", () => {
  it("is chosen by the service that calls, with a secret that is not shown again, and can be replaced", async () => {
    const page = await ui.newPage({ signedIn: true })
    const { id } = (await ui.call("POST", "/api/webhooks", { name: "Signed", team: "demo", prompt_template: "x" }))
      .webhook
    const save = () => page.getByRole("button", { name: "Save" }).click()
    await page.goto(`/webhooks/${id}/edit`)
    await (await settingField(page, "Verification")).selectOption("GitHub")
    await save()
    await page.getByText("Enter the secret.").waitFor()
    await page.getByLabel("Secret", { exact: true }).fill("a secret of GitHub's webhook")
    expect(await axe(page)).toEqual([])
    await save()
    await page.getByRole("heading", { name: "Signed" }).waitFor()
    expect(await ui.call("GET", `/api/webhooks/${id}`)).toMatchObject({
      verification: { preset: "github" },
      secret_hint: "…hook"
    })
    await page.getByRole("link", { name: "Edit" }).click()
    expect(await page.getByLabel("Secret", { exact: true }).inputValue()).toBe("")
    await page.getByLabel("Secret", { exact: true }).fill("another secret of GitHub's")
    await page.getByText("Also accept the old secret").click()
    await save()
    await page.getByRole("tab", { name: "Settings" }).click()
    await page.getByRole("button", { name: "End it now" }).click()
    await page.getByText("The old secret no longer works.").waitFor()
    const ended = await ui.call("GET", `/api/webhooks/${id}`)
    expect([ended.secret_hint, ended.old_secret_hint]).toEqual(["…ub's", undefined])
    await page.context().close()
  })
})

describe("a short secret", () => {
  it("is warned of on the webhook's page, until there is a longer one", async () => {
    const page = await ui.newPage({ signedIn: true })
    const draft = { name: "Guessable", team: "demo", prompt_template: "x", verification: { preset: "github" } }
    const { webhook } = await ui.call("POST", "/api/webhooks", { ...draft, secret: "s3cret" })
    await page.goto(`/webhooks/${webhook.id}`)
    const warning = page.getByText("The secret has fewer than 16 characters")
    await warning.waitFor()
    expect(await axe(page)).toEqual([])
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { secret: "a secret of GitHub's webhook" })
    await warning.waitFor({ state: "detached" })
    await page.context().close()
  })
})

describe("a webhook that is edited in two places", () => {
  const open = async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    await page.getByLabel("Name", { exact: true }).waitFor()
    return page
  }
  const stored = () => ui.call("GET", `/api/webhooks/${webhook.id}`)
  const save = (page: Page) => page.getByRole("button", { name: "Save" }).click()

  it("keeps both changes when they are to different fields", async () => {
    const page = await open()
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { timeout_seconds: 77 })
    await page.getByLabel("Name", { exact: true }).fill("Review, of mine")
    await save(page)
    await page.getByRole("heading", { name: "Review, of mine" }).waitFor()
    expect(await stored()).toMatchObject({ name: "Review, of mine", timeout_seconds: 77 })
    await page.context().close()
  })

  it("asks which change stays when both are to the same field", async () => {
    for (const [choice, name] of [
      ["Yours", "Mine"],
      ["Saved by someone else", "Theirs"]
    ] as const) {
      await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { name: "Review", max_concurrent: 3 })
      const page = await open()
      await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { name: "Theirs" })
      await page.getByLabel("Name", { exact: true }).fill("Mine")
      await (await settingField(page, "Concurrency limit")).fill("4")
      await save(page)
      const dialog = page.getByRole("alertdialog", { name: "Edit conflict" })
      await dialog.getByText("Theirs", { exact: true }).waitFor()
      expect((await stored()).name).toBe("Theirs")
      if (choice === "Yours") expect(await axe(page)).toEqual([])
      await dialog.getByRole("radio", { name: choice }).check()
      await dialog.getByRole("button", { name: "Save" }).click()
      await page.getByRole("heading", { level: 1, name }).waitFor()
      expect(await stored()).toMatchObject({ name, max_concurrent: 4 })
      await page.context().close()
    }
  })

  it("does not send what was not changed here", async () => {
    const page = await open()
    const sent: Array<unknown> = []
    page.on("request", (request) => request.method() === "PATCH" && sent.push(request.postDataJSON()))
    await (await settingField(page, "Concurrency limit")).fill("")
    await save(page)
    await page.getByRole("heading", { level: 1, name: "Theirs" }).waitFor()
    expect(sent).toEqual([{ max_concurrent: null }])
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { name: "Review", timeout_seconds: null })
    await page.context().close()
  })
})

describe("a session that ends while a form is saved", () => {
  it("is renewed, and the form is saved after that by itself", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    await page.getByLabel("Name", { exact: true }).fill("Saved after all")
    // With this very request: what the page asks for in the background would be refused before.
    const endWithEdit = async (route: Route) => {
      if (route.request().method() === "PATCH") await ui.call("DELETE", "/api/sessions")
      await route.continue()
    }
    await page.route(`**/api/webhooks/${webhook.id}`, endWithEdit)
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor()
    await page.unroute(`**/api/webhooks/${webhook.id}`, endWithEdit)
    expect(await page.getByRole("alert").count()).toBe(0)
    await page.getByLabel("Admin key").fill(adminKey)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("heading", { level: 1, name: "Saved after all" }).waitFor()
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { name: "Review" })
    await page.context().close()
  })
})

describe("the back button", () => {
  it("does not return to a form that has been saved", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks")
    await page.getByRole("link", { name: "Review" }).click()
    await page.getByRole("link", { name: "Edit" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Renamed")
    // A form that was changed back and forth.
    await page.getByLabel("Name", { exact: true }).fill("Review")
    await page.getByLabel("Name", { exact: true }).fill("Renamed")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Renamed" }).waitFor()
    await page.goBack()
    await page.getByRole("heading", { name: "Renamed" }).waitFor()
    expect(page.url()).toBe(`${ui.server.url}/webhooks/${webhook.id}`)
    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { name: "Review" })

    await page.goto("/webhooks")
    await page.getByRole("link", { name: "New webhook" }).click()
    await page.getByLabel("Name", { exact: true }).fill("New")
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^demo/ }).click()
    await page.getByLabel("Prompt template").fill("Hello")
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.getByRole("heading", { name: "Save your token" }).waitFor()
    await page.goBack()
    await page.getByRole("button", { name: "Yes, leave" }).click()
    await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor()
    await page.context().close()
  })
})

describe("the team", () => {
  it("can be chosen as soon as the teams are there", async () => {
    const page = await ui.newPage({ signedIn: true })
    const gate = new Gate()
    await page.route("**/api/teams", async (route) => {
      await gate.opened
      await route.continue()
    })
    await page.goto("/webhooks/new")
    const team = page.getByRole("button", { name: / Team$/ })
    await team.waitFor()
    expect(await team.isDisabled()).toBe(true)
    gate.open()
    await team.click()
    await page.getByRole("option", { name: /^demo/ }).waitFor()
    await page.context().close()
  })
})

describe("a new team", () => {
  it("has a name by the server's rule, which the form explains", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    await page.getByRole("button", { name: "New team" }).click()
    const dialog = page.getByRole("dialog", { name: "New team" })
    await dialog.getByLabel("Name").fill("My Team")
    await dialog.getByRole("button", { name: "Create team" }).click()
    await dialog.getByText(teamNameAccepts.slice(1)).waitFor()
    await dialog.getByLabel("Name").fill("my-team")
    await dialog.getByRole("button", { name: "Create team" }).click()
    await page.getByRole("button", { name: /^my-team.* Team$/ }).waitFor()
    await page.context().close()
  })
})

describe("a webhook's optional settings", () => {
  const settings: ReadonlyArray<readonly [name: string, setting: WebhookSetting]> = Object.entries(webhookSettings)

  it("have a field each, with the default in it, that rejects what the API would", async () => {
    const server = await ui.call("GET", "/api/server")
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    const typed = settings.map(([, setting]) => setting).filter((setting) => invalid(setting) !== "")
    for (const setting of typed) {
      const field = await fieldOf(page, setting)
      expect(await field.getAttribute("placeholder")).toBe(
        String(setting.serverDefault === undefined ? setting.default : server[setting.serverDefault])
      )
      await field.fill(invalid(setting))
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
    await eventually(() => facts.getByText("(default)").count()).toBe(settings.length)
    expect(await save((setting) => textOf(valid(setting)))).toMatchObject(
      Object.fromEntries(settings.map(([name, setting]) => [name, valid(setting)]))
    )
    for (const [, setting] of settings) await facts.getByText(shown(setting), { exact: true }).first().waitFor()
    await eventually(() => facts.getByText("(default)").count()).toBe(0)
    const cleared = await save(() => "")
    for (const [name] of settings) expect(cleared).not.toHaveProperty(name)
    await eventually(() => facts.getByText("(default)").count()).toBe(settings.length)
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
    await limits.getByText("Not set: Timeout, Concurrency limit, Queue limit, Rate limit").waitFor()
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

describe("a template for whole requests", () => {
  it("is previewed with a request that is pasted, in both languages, and names what is missing", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    const template = page.getByLabel("Prompt template")
    const preview = page.getByRole("region", { name: "Preview" })
    await (await settingField(page, "Input")).selectOption("payload")
    await template.fill("{{payload.alerts.0.status}} {{headers.x-kind?}}{{payload.none}}")
    await preview.getByLabel("payload", { exact: true }).fill('{"alerts":[{"status":"firing"},{"status":"resolved"}]}')
    await preview.getByText("Without a value: payload.none.").waitFor()
    await template.fill("{{payload.alerts.0.status}}{{headers.x-kind?}}!")
    await preview.getByText("firing!", { exact: true }).waitFor()
    await page.getByLabel("Template language").selectOption("liquid")
    await template.fill("{% for alert in payload.alerts %}{{ alert.status | upcase }};{% endfor %}")
    await preview.getByText("FIRING;RESOLVED;", { exact: true }).waitFor()
    await template.fill("{% for alert in payload.alerts %}")
    await page.getByText(/Line 1, column 1: .* not closed/).waitFor()
  })

  it("is written by clicking into a received request, which previews it, tries the filter and is sent as a test", async () => {
    const { webhook, trigger_url } = await ui.call("POST", "/api/webhooks", {
      ...{ name: "Received", team: "demo", prompt_template: "Kind:  of it", input: "payload", store_requests: "all" },
      accept_if: "payload.alerts[0].status == 'firing'"
    })
    const send = (body: string, type = "application/json") =>
      fetch(`${trigger_url}?env=live`, { method: "POST", headers: { "content-type": type, "x-kind": "alert" }, body })
    await send('{"alerts":[{"status":"resolved"}]}')
    await send('{"alerts":[{"status":"firing","labels":{"app/name":"api"}}]}')
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}/edit`)
    const preview = page.getByRole("region", { name: "Preview" })
    const requests = preview.getByLabel("Use a received request")
    await requests.selectOption(await requests.getByText("ignored").getAttribute("value"))
    await preview.getByText("Such a request is ignored").waitFor()
    await preview.getByText("payload.alerts[0].status == 'firing' does not hold.").waitFor()
    await preview.getByText("payload.alerts is a list of 1").waitFor()
    // What the filter says now, before it is saved, also of the stored requests.
    const stored = preview.getByRole("list", { name: "What the filter says of stored requests" })
    await eventually(() => stored.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringContaining("accepted"),
      expect.stringContaining("ignored")
    ])
    const filter = await settingField(page, "Filter")
    await filter.fill("payload.alerts[0].status == firing")
    await preview.getByText("firing is not part of a request").waitFor()
    await filter.fill("payload.alerts[0].status == 'resolved'")
    await eventually(() => stored.getByRole("listitem").allInnerTexts()).toEqual([
      expect.stringContaining("ignored"),
      expect.stringContaining("accepted")
    ])
    await preview.getByText("Such a request is accepted").waitFor()
    await filter.fill("payload.alerts[0].status == 'firing'")
    await requests.selectOption(await requests.getByText("accepted").getAttribute("value"))
    await preview.getByText("Such a request is accepted").waitFor()

    const template = page.getByLabel("Prompt template")
    const tree = preview.getByRole("group", { name: "The request's values" })
    const toggle = (name: string) => tree.getByRole("button", { name: `Members of ${name}`, exact: true }).click()
    await toggle("alerts")
    await toggle("0")
    await toggle("labels")
    await template.press("Home")
    for (const _ of "Kind: ") await template.press("ArrowRight")
    await tree.getByRole("button", { name: 'status "firing"' }).click()
    await preview.getByText("Kind: firing of it", { exact: true }).waitFor()
    expect(await template.inputValue()).toBe("Kind: {{payload.alerts.0.status}} of it")
    await tree.getByRole("button", { name: 'app/name "api"' }).click()
    await preview.getByText("Kind: firingapi of it", { exact: true }).waitFor()
    expect(await axe(page)).toEqual([])
    await page.getByLabel("Template language").selectOption("liquid")
    await template.fill("")
    await tree.getByRole("button", { name: 'app/name "api"' }).click()
    await tree.getByRole("button", { name: 'env "live"' }).click()
    await preview.getByText("apilive", { exact: true }).waitFor()
    expect(await template.inputValue()).toBe('{{ payload.alerts[0].labels["app/name"] }}{{ query.env }}')
    await page.emulateMedia({ colorScheme: "dark" })
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await axe(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole("button", { name: "Save" }).click()

    await page.getByRole("tab", { name: "Test" }).click()
    const tested = page.getByRole("region", { name: "Send a test" }).getByLabel("Use a received request")
    await tested.selectOption(await tested.getByText("accepted").first().getAttribute("value"))
    await eventually(() => page.getByLabel("payload", { exact: true }).inputValue()).toContain("firing")
    await page.getByRole("button", { name: "Send test" }).click()
    await page.getByText("apilive").first().waitFor()
    await page.context().close()
  })
})
