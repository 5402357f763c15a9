import { Effect } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { leadOn } from "../../support/AmqpLeader.ts"
import { freshDatabase, freshVhost } from "../../support/fresh.ts"
import { serve } from "../../support/InProcess.ts"
import { axe } from "../Axe.ts"
import { adminKey, errorsOf, eventually, foreignRequestsOf, startTestUi, type TestUi } from "../TestUi.ts"

/** Everything a user does with a webhook, from its creation to its deletion, without a terminal. */
const lifecycle = async (ui: TestUi, page: Page, team: string) => {
  const trigger = (token: string) =>
    fetch(`${ui.server.url}/webhook/trigger/${token}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ variables: { topic: "the release" } })
    })

  // Create it: the template's variables appear, and the rendered prompt.
  await page
    .getByRole("link", { name: /^(New webhook|Create the first webhook)$/ })
    .last()
    .click()
  await page.getByLabel("Name").fill("Release notes")
  await page.getByRole("button", { name: / Team$/ }).click()
  await page.getByRole("option", { name: new RegExp(`^${team}`) }).click()
  const template = page.getByLabel("Prompt template")
  await template.fill("Write about {{topic")
  await page.getByText("Line 1, column 13: this {{ is never closed").waitFor()
  await page.getByRole("button", { name: "Go to error" }).click()
  await eventually(() => template.evaluate((area: any) => [area.selectionStart, area.selectionEnd])).toEqual([12, 14])
  await template.fill("Write about {{topic}}")
  await page.getByRole("list", { name: "Variables in the template" }).getByText("topic").waitFor()
  await page.getByRole("textbox", { name: "topic" }).fill("sample")
  await eventually(() => page.locator("output").textContent()).toBe("Write about sample")
  await page.getByRole("button", { name: "Create webhook" }).click()

  // The token is shown once.
  await page.getByRole("heading", { name: "Save your token" }).waitFor()
  const url = (await page.locator(".secret").first().textContent())!
  const token = url.split("/").at(-1)!
  expect(token).toMatch(/^whk_[0-9A-Za-z]{49}$/)
  expect(await page.getByRole("tabpanel").textContent()).toContain(`${url}' \\`)
  await page.getByRole("button", { name: "Copy the trigger URL" }).click()
  await eventually(() => page.evaluate("navigator.clipboard.readText()")).toBe(url)
  await page.getByRole("link", { name: "Webhooks" }).first().click()
  await page.getByRole("alertdialog", { name: "Have you saved the token?" }).waitFor()
  await page.getByRole("button", { name: "Stay" }).click()
  await page.goBack()
  await page.getByRole("button", { name: "Stay" }).click()
  expect(await page.locator(".secret").first().textContent()).toBe(url)
  await page.getByRole("link", { name: "Done" }).click()
  await page.getByRole("button", { name: "Yes, leave" }).click()
  await page.getByRole("heading", { name: "Release notes" }).waitFor()
  const address = page.url()
  await page.getByRole("link", { name: "How to call it" }).click()
  await page.getByText("YOUR_TOKEN' \\").waitFor()
  expect(await page.content()).not.toContain(token)
  await page.getByRole("link", { name: "← Release notes" }).click()

  // Send a test: the run appears and ends without a reload.
  await page.evaluate("window.notReloaded = true")
  await page.getByRole("tab", { name: "Test" }).click()
  await page.getByRole("textbox", { name: "topic" }).fill("**the launch**")
  await page.getByRole("button", { name: "Send test" }).click()
  const test = page.getByRole("region", { name: "Send a test" })
  await test.getByRole("status").getByText("Success").waitFor()
  await page.getByRole("tab", { name: "Runs" }).click()
  const history = page.getByRole("list", { name: "Runs, newest first" })
  await history.getByRole("link", { name: /Success.*the launch/ }).waitFor()
  expect((await trigger(token)).status).toBe(202)
  await history.getByRole("link", { name: /Success.*the release/ }).waitFor()
  expect(await page.evaluate("window.notReloaded")).toBe(true)

  // Open the run, and repeat it with another value.
  await history.getByRole("link", { name: /the launch/ }).click()
  await page.getByText("Finished: success").waitFor()
  await page.getByRole("region", { name: "Answer" }).locator("strong").getByText("the launch").waitFor()
  await page.getByRole("button", { name: "Show raw" }).click()
  await page.getByRole("region", { name: "the answer" }).getByText("Write about **the launch**").waitFor()
  await page.getByRole("button", { name: "Replay", exact: true }).click()
  await page.getByRole("textbox", { name: "topic" }).fill("the second launch")
  await page.getByRole("button", { name: "Send again" }).click()
  await page.getByRole("region", { name: "Answer to the test" }).getByText("the second launch").waitFor()

  // Regenerate the token: the old one no longer works.
  await page.goto(`${address}?tab=settings`)
  await page.getByRole("button", { name: "Regenerate token" }).click()
  await page.getByRole("button", { name: "Regenerate", exact: true }).click()
  await page.getByRole("heading", { name: "Save your token" }).waitFor()
  const newToken = (await page.locator(".secret").nth(1).textContent())!
  expect(newToken).not.toBe(token)
  expect((await trigger(token)).status).toBe(404)
  expect((await trigger(newToken)).status).toBe(202)
  await page.getByRole("link", { name: "Done" }).click()
  await page.getByRole("button", { name: "Yes, leave" }).click()

  // Turn it off and on again, and delete it.
  await page.getByRole("switch").press("Space")
  await page.getByText("is off: requests now get 404").waitFor()
  expect((await trigger(newToken)).status).toBe(404)
  await page.getByRole("switch").press("Space")
  await page.getByText("Release notes is on").waitFor()
  expect((await trigger(newToken)).status).toBe(202)
  await page.getByRole("tab", { name: "Settings" }).click()
  await page.getByRole("button", { name: "Delete webhook" }).click()
  expect(await page.getByRole("button", { name: "Delete permanently" }).isDisabled()).toBe(true)
  await page.getByLabel(/^Type/).fill("Release notes")
  await page.getByRole("button", { name: "Delete permanently" }).click()
  await page.getByText("Release notes deleted").waitFor()
  expect((await trigger(newToken)).status).toBe(404)
  await eventually(() => page.getByRole("link", { name: "Release notes" }).count()).toBe(0)
  expect(errorsOf(page)).toEqual([])
  expect(foreignRequestsOf(page)).toEqual([])
}

describe("a webhook's lifecycle", () => {
  describe("on PostgreSQL and RabbitMQ", () => {
    let ui: TestUi
    let settings: { readonly DATABASE_URL: string; readonly AMQP_URL: string }
    beforeAll(async () => {
      ui = await startTestUi(
        Effect.gen(function* () {
          settings = { DATABASE_URL: yield* freshDatabase, AMQP_URL: yield* freshVhost }
          return settings
        })
      )
      await ui.call("POST", "/api/teams", { team: "writers" })
      await ui.run(leadOn(settings.AMQP_URL, "writers", ({ prompt }) => Effect.succeed(prompt)))
    })
    afterAll(() => ui?.close())

    it("is shown live on one replica while another one changes it", async () => {
      const page = await ui.newSignedInPage()
      await page.getByText("No webhooks yet").waitFor()
      expect(await axe(page)).toEqual([])
      const other = await ui.run(serve({ ...settings, ADMIN_API_KEY: adminKey }))
      const { webhook } = await ui.call("POST", `${other.url}/api/webhooks`, {
        name: "Created elsewhere",
        team: "writers",
        prompt_template: "Hello"
      })
      await page.getByRole("link", { name: "Created elsewhere" }).click()
      await page.getByText("No runs yet.").waitFor()
      await page.getByText("Live", { exact: true }).waitFor()
      await eventually(async () => (await ui.call("GET", "/api/teams/writers")).running).toBe(true)
      await ui.call("POST", `${other.url}/api/webhooks/${webhook.id}/runs`, { variables: {} })
      await page.getByRole("link", { name: /Success/ }).waitFor()
      await ui.call("DELETE", `${other.url}/api/webhooks/${webhook.id}`)
      await page.getByText("This has been deleted.").first().waitFor()
      // What its list of runs finds first, the page says once it has found it itself.
      await eventually(() => page.getByRole("switch").count()).toBe(0)
      expect(await page.getByText("This has been deleted.").count()).toBe(1)
      expect(await page.locator("[inert]").getByRole("tab", { name: "Test" }).count()).toBe(1)
      // The session is valid there too.
      await page.goto(`${other.url}/teams/writers`)
      await page.getByLabel("Message", { exact: true }).fill("What is new?")
      await page.getByRole("button", { name: "Send" }).click()
      await page
        .getByRole("region", { name: "Recent runs" })
        .locator(".recent-answer")
        .getByText("What is new?")
        .waitFor()
      await page.context().close()
    })

    it("can be completed in the UI, from signing in to deletion", async () => {
      await eventually(async () => (await ui.call("GET", "/api/teams/writers")).running).toBe(true)
      await lifecycle(ui, await ui.newSignedInPage(), "writers")
    })
  })
})
