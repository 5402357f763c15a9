import type { Page, Route } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { adminKey, createReview, settingField, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi
let webhook: { readonly id: string }

beforeAll(async () => {
  ui = await startTestUi()
  webhook = await createReview(ui)
})

afterAll(() => ui?.close())

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

  it("of team, template and settings count, but no change that was made elsewhere meanwhile", async () => {
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
      async () => (await settingField(page, "Concurrency limit")).fill("7")
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
    await page.getByLabel("API key or admin key").fill(adminKey)
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
