import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe, axeAtBothWidths } from "../Axe.ts"
import { chooseFound, errorsOf, eventually, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let webhook: string
let run: string

beforeAll(async () => {
  ui = await startTestUi()
  await ui.call("POST", "/api/teams", { team: "ops" })
  await ui.call("POST", "/api/teams", { team: "other" })
  const draft = { name: "deploy", team: "ops", prompt_template: "x", when_team_stopped: "queue" }
  webhook = (await ui.call("POST", "/api/webhooks", draft)).webhook.id
  await ui.call("POST", "/api/webhooks", { ...draft, name: "theirs", team: "other" })
  run = (await ui.call("POST", `/api/webhooks/${webhook}/runs`, { variables: {} })).run_id
})
afterAll(() => ui?.close())

const signInWith = async (key: string): Promise<Page> => {
  const page = await ui.newPage()
  await page.goto("/")
  await page.getByLabel("API key or admin key").fill(key)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("link", { name: "Webhooks" }).first().waitFor()
  return page
}

/** A page that has opened nothing yet, with a session of this key. */
const pageOf = async (key: string, width = 1440): Promise<Page> => {
  const page = await ui.newPage({ width })
  expect((await page.context().request.post("/api/session", { data: { key } })).status()).toBe(200)
  return page
}

const buttonsOf = async (page: Page, path: string, waitFor: string): Promise<ReadonlyArray<string>> => {
  await page.goto(path)
  await page.getByText(waitFor).first().waitFor()
  const names = await page.locator("main").getByRole("button").allTextContents()
  const links = await page.locator("main a.button").allTextContents()
  return [...names, ...links].map((name) => name.trim())
}

describe("the page of API keys", () => {
  it("creates a key, shows it once, signs in with it, and revokes it", async () => {
    const page = await ui.newSignedInPage()
    await page.goto("/audit")
    await page.getByRole("link", { name: "API keys" }).click()
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor()
    await page.getByText("No API keys yet.").waitFor()
    await page.getByRole("button", { name: "New API key" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("Rosa")
    await dialog.getByLabel("Teams").fill("ops, none")
    expect(await axe(page)).toEqual([])
    await dialog.getByRole("button", { name: "Create key" }).click()
    await dialog.getByText("There is no such team").waitFor()
    await dialog.getByLabel("Teams").fill("ops")
    await dialog.getByRole("button", { name: "Create key" }).click()
    const key = (await page.locator("code.secret").textContent())!
    expect(key).toMatch(/^whp_/)
    const entry = page.getByRole("list", { name: "API keys, oldest first" }).locator("> li")
    await eventually(() => entry.textContent()).toMatch(/Rosa.*viewer.*Teams: ops.*created.*by admin key, never used/)
    expect(await axe(page)).toEqual([])
    await page.getByRole("button", { name: "Done" }).click()

    const theirs = await signInWith(key)
    await theirs.goto("/webhooks")
    await theirs.getByText("deploy").first().waitFor()
    await page.getByRole("button", { name: "Revoke Rosa" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click()
    await eventually(() => entry.textContent()).toContain("Revoked")
    await theirs.goto("/teams")
    await theirs.getByLabel("API key or admin key").waitFor()
    expect(errorsOf(page)).toEqual([])
    for (const each of [page, theirs]) await each.context().close()
  })

  it("limits a key of the role caller to webhooks, which it names, and which cannot sign in", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/keys")
    await page.getByRole("button", { name: "New API key" }).click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.getByRole("combobox", { name: "Webhooks" }).count()).toBe(0)
    await dialog.getByLabel("Name").fill("assistant")
    await dialog.getByLabel("Role").selectOption("caller")
    const field = dialog.getByRole("combobox", { name: "Webhooks" })
    for (const name of ["deploy", "theirs"]) {
      await chooseFound(dialog, "Webhooks", name)
      await dialog.getByRole("button", { name: `Remove ${name}` }).waitFor()
      // What is typed next arrives there.
      expect(await field.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
    }
    await dialog.getByRole("button", { name: "Remove theirs" }).click()
    expect(await dialog.getByRole("list", { name: "Selected webhooks" }).textContent()).toBe("deployRemove")
    expect(await axeAtBothWidths(page)).toEqual([])
    await dialog.getByRole("button", { name: "Create key" }).click()
    const key = (await page.locator("code.secret").textContent())!
    const entry = page.getByRole("listitem").filter({ hasText: "assistant" })
    await eventually(() => entry.textContent()).toMatch(/caller.*All teams\. Webhooks: deploy\. This role starts runs/)
    expect(await axeAtBothWidths(page)).toEqual([])
    expect(errorsOf(page)).toEqual([])
    await page.context().close()

    const theirs = await ui.newPage()
    await theirs.goto("/")
    await theirs.getByLabel("API key or admin key").fill(key)
    await theirs.getByRole("button", { name: "Sign in" }).click()
    await theirs.getByText("This needs the role `viewer`. Your role is `caller`.").waitFor()
    await theirs.context().close()
  })
})

const keyOf = async (role: string, teams?: ReadonlyArray<string>): Promise<string> =>
  (await ui.call("POST", "/api/keys", { name: role, role, ...(teams && { teams }) })).key

describe("the pages of someone with the role", () => {
  it("viewer have no button for what the server would refuse", async () => {
    const page = await pageOf(await keyOf("viewer", ["ops"]))
    expect(await buttonsOf(page, "/webhooks", "deploy")).not.toContain("New webhook")
    expect(await page.getByRole("link", { name: "Audit" }).count()).toBe(0)
    expect(await page.getByText("theirs").count()).toBe(0)
    for (const [path, text] of [
      [`/webhooks/${webhook}`, "Last triggered"],
      [`/webhooks/${webhook}?tab=settings`, "Prompt template"],
      [`/webhooks/${webhook}?tab=destinations`, "No destinations yet."],
      ["/runs", "None selected"],
      [`/runs/${run}`, "Queued"],
      ["/teams/ops", "How to connect a leader"],
      ["/teams", "ops"]
    ] as const) {
      const buttons = await buttonsOf(page, path, text)
      const changes =
        /^(Edit|Duplicate|Delete|Regenerate|Cancel|Replay|Reply|Pause|Resume|Send|Add|New|End|Restore|Resend|Revoke)/
      expect(
        buttons.filter((name) => changes.test(name)),
        path
      ).toEqual([])
    }
    await page.goto(`/webhooks/${webhook}`)
    await page.getByText("Last triggered").waitFor()
    expect(await page.getByRole("switch").count()).toBe(0)
    expect(await page.getByRole("tab", { name: "Test" }).count()).toBe(0)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("operator have those for runs and teams, editor also those for webhooks, and admin all", async () => {
    const operator = await pageOf(await keyOf("operator"), 320)
    expect(await buttonsOf(operator, `/runs/${run}`, "Queued")).toContain("Cancel run")
    expect(await buttonsOf(operator, "/teams/ops", "Send a message")).toEqual(
      expect.arrayContaining(["Pause", "Send", "Cancel queued"])
    )
    expect(await buttonsOf(operator, "/teams/ops", "Send a message")).not.toContain("Delete team")
    expect(await buttonsOf(operator, "/webhooks", "deploy")).not.toContain("New webhook")
    await operator.context().close()

    const editor = await pageOf(await keyOf("editor"))
    expect(await buttonsOf(editor, "/webhooks", "deploy")).toContain("New webhook")
    expect(await buttonsOf(editor, `/webhooks/${webhook}?tab=settings`, "Prompt template")).toEqual(
      expect.arrayContaining(["Edit", "Duplicate", "Regenerate token", "Delete webhook"])
    )
    expect(await buttonsOf(editor, "/teams", "ops")).not.toContain("New team")
    await editor.context().close()

    const auditor = await pageOf(await keyOf("auditor"))
    const settingsOf = (page: Page) => page.getByRole("navigation", { name: "Settings" }).getByRole("link")
    await buttonsOf(auditor, "/audit", "Details")
    expect(await settingsOf(auditor).allTextContents()).toEqual(["Server", "Audit"])
    for (const path of ["/keys", "/sessions", "/webhooks/new", `/webhooks/${webhook}/edit`]) {
      await auditor.goto(path)
      await auditor.getByRole("heading", { level: 1, name: "Not allowed" }).waitFor()
    }
    await auditor.context().close()

    const admin = await pageOf(await keyOf("admin"))
    await buttonsOf(admin, "/audit", "Details")
    expect(await settingsOf(admin).allTextContents()).toEqual(["API keys", "Sessions", "Server", "Audit"])
    expect(await buttonsOf(admin, "/teams/ops", "Send a message")).toEqual(
      expect.arrayContaining(["Delete team", "New leader key"])
    )
    await admin.context().close()
  })
})
