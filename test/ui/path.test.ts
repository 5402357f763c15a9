import { Effect, Layer, Logger, Redacted } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { LeaderAmqp } from "../../src/amqp.ts"
import { Leader, TeamName } from "../../src/leader/index.ts"
import { serve } from "../cli/Program.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { axe } from "./Axe.ts"
import { adminKey, complaintsOf, eventually, type Stage, startStage, strangersOf } from "./Stage.ts"

/** Everything that somebody does with a webhook, from its making to its end, in one go and without a terminal. */
const wholePath = async (stage: Stage, page: Page, team: string) => {
  const trigger = (token: string) =>
    fetch(`${stage.server.url}/webhook/trigger/${token}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ variables: { topic: "the release" } })
    })

  // Create it: the names of the template appear, and the prompt they make.
  await page
    .getByRole("link", { name: /^(New webhook|Create the first webhook)$/ })
    .last()
    .click()
  await page.getByLabel("Name").fill("Release notes")
  await page.getByRole("button", { name: / Team$/ }).click()
  await page.getByRole("option", { name: new RegExp(`^${team}`) }).click()
  await page.getByLabel("Prompt template").fill("Write about {{topic")
  await page.getByText("Line 1, column 13: this `{{` is never closed").waitFor()
  await page.getByLabel("Prompt template").fill("Write about {{topic}}")
  await page.getByRole("list", { name: "Variables in the template" }).getByText("topic").waitFor()
  await page.getByRole("textbox", { name: "topic" }).fill("sample")
  await eventually(() => page.locator("output").textContent()).toBe("Write about sample")
  await page.getByRole("button", { name: "Create webhook" }).click()

  // The token, once.
  await page.getByRole("heading", { name: "The token, this once" }).waitFor()
  const url = (await page.locator(".secret").first().textContent())!
  const token = url.split("/").at(-1)!
  expect(token).toMatch(/^whk_[0-9A-Za-z]{43}$/)
  expect(await page.getByRole("tabpanel").textContent()).toContain(`${url}' \\`)
  await page.getByRole("button", { name: "Copy the trigger URL" }).click()
  await eventually(() => page.evaluate("navigator.clipboard.readText()")).toBe(url)
  await page.getByRole("link", { name: "Webhooks" }).first().click()
  await page.getByRole("alertdialog", { name: "Have you kept the token?" }).waitFor()
  await page.getByRole("button", { name: "Stay here" }).click()
  await page.goBack()
  await page.getByRole("button", { name: "Stay here" }).click()
  expect(await page.locator(".secret").first().textContent()).toBe(url)
  await page.getByRole("link", { name: "I have kept it" }).click()
  await page.getByRole("button", { name: "Yes, leave" }).click()
  await page.getByRole("heading", { name: "Release notes" }).waitFor()
  const address = page.url()
  await page.getByRole("link", { name: "How to call it" }).click()
  await page.getByText("YOUR_TOKEN' \\").waitFor()
  expect(await page.content()).not.toContain(token)
  await page.getByRole("link", { name: "← Release notes" }).click()

  // Send a test, and see the run come and end without a reload.
  await page.evaluate("window.untouched = true")
  await page.getByRole("textbox", { name: "topic" }).fill("**the launch**")
  await page.getByRole("button", { name: "Send the test" }).click()
  await page.getByText("202 Accepted").waitFor()
  const history = page.getByRole("list", { name: "Runs, newest first" })
  await history.getByRole("link", { name: /Success.*the launch/ }).waitFor()
  expect((await trigger(token)).status).toBe(202)
  await history.getByRole("link", { name: /Success.*the release/ }).waitFor()
  expect(await page.evaluate("window.untouched")).toBe(true)
  await page.getByLabel("Answer", { exact: true }).selectOption("wait")
  await page.getByRole("button", { name: "Send the test" }).click()
  await page.getByText("200 OK").waitFor()
  await page.getByRole("region", { name: "Body of the answer" }).getByText("Write about **the launch**").waitFor()

  // The run, and once more with another value.
  await page.getByRole("link", { name: "Open the run" }).click()
  await page.getByText("Finished: success").waitFor()
  await page.getByRole("region", { name: "Answer" }).locator("strong").getByText("the launch").waitFor()
  await page.getByRole("button", { name: "Show raw" }).click()
  await page.getByRole("region", { name: "the answer" }).getByText("Write about **the launch**").waitFor()
  await page.getByRole("textbox", { name: "topic" }).fill("the second launch")
  await page.getByRole("button", { name: "Repeat" }).click()
  await page.getByText("200 OK").waitFor()

  // A new token: the old one is dead.
  await page.goto(address)
  await page.getByRole("button", { name: "Regenerate token" }).click()
  await page.getByRole("button", { name: "Regenerate", exact: true }).click()
  await page.getByRole("heading", { name: "The token, this once" }).waitFor()
  const next = (await page.locator(".secret").nth(1).textContent())!
  expect(next).not.toBe(token)
  expect((await trigger(token)).status).toBe(404)
  expect((await trigger(next)).status).toBe(202)
  await page.getByRole("link", { name: "I have kept it" }).click()
  await page.getByRole("button", { name: "Yes, leave" }).click()

  // Off, and on again, and gone.
  await page.getByRole("switch").press("Space")
  await page.getByText("is off: triggers now get 404").waitFor()
  expect((await trigger(next)).status).toBe(404)
  await page.getByRole("switch").press("Space")
  await page.getByText("Release notes is on").waitFor()
  expect((await trigger(next)).status).toBe(202)
  await page.getByRole("button", { name: "Delete webhook" }).click()
  expect(await page.getByRole("button", { name: "Delete for good" }).isDisabled()).toBe(true)
  await page.getByLabel(/^Type/).fill("Release notes")
  await page.getByRole("button", { name: "Delete for good" }).click()
  await page.getByText("Release notes is deleted").waitFor()
  expect((await trigger(next)).status).toBe(404)
  await eventually(() => page.getByRole("link", { name: "Release notes" }).count()).toBe(0)
  expect(complaintsOf(page)).toEqual([])
  expect(strangersOf(page)).toEqual([])
}

describe("the whole path of a webhook", () => {
  describe("on the embedded default", () => {
    let stage: Stage
    beforeAll(async () => {
      stage = await startStage()
    })
    afterAll(() => stage?.close())

    it("goes from the first sign-in to the deletion", async () => {
      await wholePath(stage, await stage.signedIn(), "demo")
    })
  })

  describe("on PostgreSQL and RabbitMQ", () => {
    let stage: Stage
    let settings: { readonly DATABASE_URL: string; readonly AMQP_URL: string }
    beforeAll(async () => {
      stage = await startStage(
        Effect.gen(function* () {
          settings = { DATABASE_URL: yield* freshDatabase, AMQP_URL: yield* freshVhost }
          return settings
        })
      )
      await stage.call("POST", "/api/teams", { team: "writers" })
      const bus = LeaderAmqp.layer({ url: Redacted.make(settings.AMQP_URL), queueType: "classic" })
      const leader = Leader.layer({ team: TeamName.make("writers"), handler: ({ prompt }) => Effect.succeed(prompt) })
      await stage.run(Layer.build(leader.pipe(Layer.provide(bus), Layer.provide(Logger.remove(Logger.defaultLogger)))))
    })
    afterAll(() => stage?.close())

    it("shows on every replica at once what another one has done", async () => {
      const page = await stage.signedIn()
      await page.getByText("No webhooks yet").waitFor()
      expect(await axe(page)).toEqual([])
      const other = await stage.run(serve({ ...settings, ADMIN_API_KEY: adminKey }))
      const { webhook } = await stage.call("POST", `${other.url}/api/webhooks`, {
        name: "Made elsewhere",
        team: "writers",
        prompt_template: "Hello"
      })
      await page.getByRole("link", { name: "Made elsewhere" }).click()
      await page.getByText("No runs yet.").waitFor()
      await page.getByText("Live", { exact: true }).waitFor()
      await eventually(async () => (await stage.call("GET", "/api/teams/writers")).running).toBe(true)
      await stage.call("POST", `${other.url}/api/webhooks/${webhook.id}/runs`, { variables: {} })
      // Sooner than the page would ask for it.
      await page.getByRole("link", { name: /Success/ }).waitFor()
      await stage.call("DELETE", `${other.url}/api/webhooks/${webhook.id}`)
      // The session is good there too.
      await page.goto(`${other.url}/teams/writers`)
      await page.getByLabel("Message").fill("What is new?")
      await page.getByRole("button", { name: "Send" }).click()
      await page
        .getByRole("region", { name: "Asked lately" })
        .locator(".talk-answer")
        .getByText("What is new?")
        .waitFor()
      await page.context().close()
    })

    it("goes from the first sign-in to the deletion", async () => {
      await eventually(async () => (await stage.call("GET", "/api/teams/writers")).running).toBe(true)
      await wholePath(stage, await stage.signedIn(), "writers")
    })
  })
})
