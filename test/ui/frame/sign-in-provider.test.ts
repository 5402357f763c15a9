/** People sign in to the web UI at an OpenID provider. */
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ada, clientId, clientSecret, type OpenIdProvider, startProvider } from "../../support/OpenIdProvider.ts"
import { axe, axeAtBothWidths } from "../Axe.ts"
import { errorsOf, signIn, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi
let provider: OpenIdProvider

beforeAll(async () => {
  ui = await startTestUi(
    Effect.map(startProvider(), (started) => {
      provider = started
      const { issuer } = provider
      return {
        ...{ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret },
        ...{ OIDC_ROLES: "platform-admins=admin", OIDC_PROVIDER_NAME: "Example" }
      }
    })
  )
  provider.allow(ui.server.url.replace(/\/$/, ""))
  provider.people.set(ada.id, ada)
  provider.people.set("bob-1", { id: "bob-1", name: "Bob", groups: [] })
})
afterAll(() => ui?.close())

/** Without the errors that the policy of the provider's pages causes. */
const own = (page: Page) => errorsOf(page).filter((text) => !text.includes(provider.issuer))

describe("signing in at the provider", () => {
  it("leads from the button to the page that was asked for, names the person, and out again", async () => {
    const page = await ui.newPage()
    await page.goto("/sessions")
    const button = page.getByRole("link", { name: "Sign in with Example" })
    await button.waitFor()
    expect(await axeAtBothWidths(page)).toStrictEqual([])
    await button.click()
    await page.getByRole("link", { name: "Continue as Ada Lovelace" }).click()
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor()
    await page.getByText("Ada Lovelace (ada@example.com), admin").waitFor()
    await page.getByText("Signed in as Ada Lovelace").waitFor()
    expect(await axeAtBothWidths(page)).toStrictEqual([])

    // A sensitive action: in another tab, the person signs in again, and this page goes on.
    await page.goto("/keys")
    await page.getByRole("button", { name: "New API key" }).first().click()
    await page.getByRole("dialog").getByLabel("Name").fill("of Ada")
    await page.getByRole("button", { name: "Create key" }).click()
    const again = page.getByRole("link", { name: "Sign in with Example (new tab)" })
    await again.waitFor()
    expect(await axeAtBothWidths(page)).toStrictEqual([])
    const [tab] = await Promise.all([page.context().waitForEvent("page"), again.click()])
    await tab.getByRole("link", { name: "Continue as Ada Lovelace" }).click()
    await tab.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    await tab.close()
    await page.getByText(/whp_/).first().waitFor()
    const { data: keys } = await ui.call("GET", "/api/keys")
    expect(keys).toContainEqual(expect.objectContaining({ name: "of Ada", created_by: "Ada Lovelace" }))

    await page.goto("/audit")
    await page.getByText("by Ada Lovelace").first().waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("button", { name: "Yes, sign out" }).click()
    await page.getByRole("link", { name: "Sign in with Example" }).waitFor()
    expect(new URL(page.url()).pathname).toBe("/sign-in")
    // At the provider too: it asks who it is.
    await page.getByRole("link", { name: "Sign in with Example" }).click()
    await page.getByRole("link", { name: "Continue as Ada Lovelace" }).waitFor()
    expect(own(page)).toStrictEqual([])
    await page.context().close()
  })

  it("is explained when it fails, beside a key that still works", async () => {
    const page = await ui.newPage()
    await page.goto("/webhooks")
    await page.getByRole("link", { name: "Sign in with Example" }).click()
    await page.getByRole("link", { name: "Continue as Bob" }).click()
    await page.getByText("none of your groups has access to this server").waitFor()
    expect(await axeAtBothWidths(page)).toStrictEqual([])
    provider.isDown = true
    try {
      await page.goto("/sign-in?problem=%3Cscript%3E&to=https://evil.example/")
      await page.getByRole("link", { name: "Sign in with Example" }).waitFor()
      expect(await page.getByRole("alert").count()).toBe(0)
      await page.goto("/sign-in?problem=provider_unavailable&to=/.//evil.example/")
      await signIn(page)
      expect(new URL(page.url()).href).toBe(new URL("/", ui.server.url).href)
      await page.context().clearCookies()
      await page.goto("/sign-in?problem=provider_unavailable&to=/webhooks")
      await page.getByText("The sign-in provider cannot be reached.").waitFor()
      await signIn(page)
      expect(new URL(page.url()).pathname).toBe("/webhooks")
    } finally {
      provider.isDown = false
    }
    expect(own(page)).toStrictEqual([])
    await page.context().close()
  })
})

describe("a session that was begun with a key long ago", () => {
  it("asks for the key again before a key is created and before an export", async () => {
    const page = await ui.newSignedInPage()
    await page.goto("/keys")
    const isOld = { key: true, session: true }
    await page.route("**/api/keys", async (route) => {
      if (route.request().method() !== "POST" || !isOld.key) return route.continue()
      isOld.key = false
      const problem = { title: "Not now", status: 403, code: "fresh_sign_in_required", detail: "Enter it again." }
      await route.fulfill({ status: 403, contentType: "application/problem+json", body: JSON.stringify(problem) })
    })
    // The dialog looks again and again whether somebody has signed in, and closes by itself.
    await page.route("**/api/session", async (route) => {
      if (route.request().method() === "POST") isOld.session = false
      if (route.request().method() !== "GET" || !isOld.session) return route.continue()
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), recent: false } })
    })
    await page.getByRole("button", { name: "New API key" }).first().click()
    await page.getByRole("dialog").getByLabel("Name").fill("after the key")
    await page.getByRole("button", { name: "Create key" }).click()
    const dialog = page.getByRole("dialog", { name: "Confirm access" })
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await page.getByText("Not now. Enter it again.").waitFor()
    isOld.key = true
    await page.getByRole("button", { name: "Create key" }).click()
    await dialog.getByLabel("API key or admin key").fill("an-admin-key-for-the-tests-of-the-ui")
    expect(await axe(page)).toStrictEqual([])
    await dialog.getByRole("button", { name: "Confirm" }).click()
    await page.getByText(/whp_/).first().waitFor()
    await page.unroute("**/api/keys")

    for (const [path, file] of [
      ["/runs", "runs.csv"],
      ["/audit", "audit.csv"]
    ] as const) {
      isOld.session = true
      await page.goto(path)
      await page.getByRole("link", { name: "Export CSV" }).click()
      await dialog.getByLabel("API key or admin key").fill("an-admin-key-for-the-tests-of-the-ui")
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        dialog.getByRole("button", { name: "Confirm" }).click()
      ])
      expect(download.suggestedFilename()).toBe(file)
    }
    expect(errorsOf(page)).toStrictEqual([])
    await page.context().close()
  })
})
