import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { receiver } from "../../../support/Receiver.ts"
import { axe } from "../../Axe.ts"
import { errorsOf, eventually, reviewDraft, runReview, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi(Effect.succeed({ CALLBACK_ALLOW: "127.0.0.1" }))
})
afterAll(() => ui?.close())

const newWebhook = async (name: string): Promise<string> =>
  (await ui.call("POST", "/api/webhooks", { ...reviewDraft, name })).webhook.id

const openTab = async (id: string) => {
  const page = await ui.newPage({ signedIn: true })
  await page.goto(`/webhooks/${id}?tab=destinations`)
  return { page, card: page.getByRole("list", { name: "Destinations, oldest first" }).getByRole("listitem") }
}

describe("the destinations of a webhook", () => {
  it("are added with a secret that is shown once, tested and edited", async () => {
    const { received, url } = await ui.run(receiver(200))
    const id = await newWebhook("Adding destinations")
    const { card, page } = await openTab(id)
    await page.getByRole("button", { name: "Add destination" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("URL").fill("https://10.0.0.1/")
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await dialog.getByText(/^must have a public address/).waitFor()
    expect(await axe(page)).toEqual([])
    await dialog.getByLabel("URL").fill(url)
    await dialog.getByLabel("Description").fill("CI")
    await dialog.getByLabel("cancelled").uncheck()
    expect(await dialog.getByLabel("started").isChecked()).toBe(false)
    await dialog.getByLabel("Headers").fill("X-Key: s3cret")
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole("button", { name: "Done" }).click()
    expect(await page.getByText(/^whsec_/).count()).toBe(0)
    await card.getByText("Succeeded, Failed, Timed out", { exact: true }).waitFor()
    await card.getByRole("button", { name: /^Send a test/ }).click()
    await card.getByText(/The test event was delivered: status 200/).waitFor()
    expect(received[0]!.headers["x-key"]).toBe("s3cret")

    await card.getByRole("button", { name: /^Edit/ }).click()
    await eventually(() => dialog.getByLabel("Description").inputValue()).toBe("CI")
    await dialog.getByText("Stored: X-Key.").waitFor()
    await dialog.getByLabel("Description").fill("")
    await dialog.getByLabel("Body").selectOption("template")
    await dialog.getByLabel("Template").fill("{{ run.status")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText(/^line 1/).waitFor()
    await dialog.getByLabel("Template").fill("now {{ run.status }}")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    await card.getByRole("button", { name: /^Send a test/ }).click()
    await eventually(() => received.map(({ body, headers }) => [body, headers["x-key"]]).at(-1)).toEqual([
      "now success",
      "s3cret"
    ])

    await card.getByRole("button", { name: /^Edit/ }).click()
    await dialog.getByLabel("URL").fill(`${url}moved`)
    await dialog.getByText(/Another URL needs them again\.$/).waitFor()
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("must be entered again for another URL").first().waitFor()
    await dialog.getByLabel("Headers").fill("X-Key: s3cret")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    const [stored] = (await ui.call("GET", `/api/webhooks/${id}/destinations`)).data
    expect(stored.url).toBe(`${url}moved`)
    expect(stored.description).toBeUndefined()
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("can be e-mails where the server has a mail server, and callbacks that a run shows", async () => {
    const { port } = await ui.run(receiver(200))
    const { token, webhook } = await ui.call("POST", "/api/webhooks", { ...reviewDraft, name: "Calling back" })
    const { card, page } = await openTab(webhook.id)
    await page.getByRole("button", { name: "Add destination" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Kind").selectOption("E-mail")
    await dialog.getByLabel("Recipients").fill("ops@example.com")
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await dialog.getByText("needs a mail server (SMTP_URL)").waitFor()
    await dialog.getByLabel("Kind").selectOption("Callback (signed event to a caller's own URL)")
    await dialog.getByLabel("Allowed URL prefix").fill(`http://127.0.0.1:${port}`)
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await dialog.getByText(`must be written as http://127.0.0.1:${port}/`).first().waitFor()
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await axe(page)).toEqual([])
    }
    await dialog.getByLabel("Allowed URL prefix").fill(`http://127.0.0.1:${port}/`)
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole("button", { name: "Done" }).click()
    await card.getByText(`http://127.0.0.1:${port}/`, { exact: true }).waitFor()

    const callback = `http://127.0.0.1:${port}/${"long".repeat(50)}`
    const variables = { title: "a", author: { name: "b" } }
    const path = `/webhook/trigger/${token}?wait=true&callback_url=${encodeURIComponent(callback)}`
    const { run_id } = await ui.call("POST", path, { variables })
    await page.goto(`/runs/${run_id}`)
    await page.getByText(callback).waitFor()
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
      expect(await axe(page)).toEqual([])
    }
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("of a service ask for its fields alone, and keep its token and secret URL when they are edited", async () => {
    const { port, received, url } = await ui.run(receiver(200))
    const id = await newWebhook("Destinations by name")
    const { card, page } = await openTab(id)
    await page.getByRole("button", { name: "Add destination" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Kind").selectOption("GitHub comment")
    expect(await dialog.getByLabel("Headers").count()).toBe(0)
    await dialog.getByLabel("API URL").fill(`http://127.0.0.1:${port}`)
    expect(await dialog.getByRole("button", { name: "Add destination" }).isDisabled()).toBe(true)
    await dialog.getByLabel("Token").fill("github_pat_s3cret0123")
    await dialog.getByLabel("Issue or pull request").fill("acme/{{ values.nothing")
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await dialog.getByText(/^line 1/).waitFor()
    await dialog.getByLabel("started (reaction 👀)").check()
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await axe(page)).toEqual([])
    }
    await dialog.getByLabel("Issue or pull request").fill("acme/shop#7")
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await card.getByText("GitHub comment: acme/shop#7").waitFor()
    await card.getByText("Started, Succeeded, Failed, Timed out, Cancelled", { exact: true }).waitFor()
    expect(await card.getByRole("button", { name: /^Replace secret/ }).count()).toBe(0)

    await card.getByRole("button", { name: /^Edit/ }).click()
    await dialog.getByText("Leave it empty to keep …0123").waitFor()
    await dialog.getByLabel("Message").selectOption("Only the status")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    await card.getByRole("button", { name: /^Send a test/ }).click()
    await eventually(() => received[0]?.headers.authorization).toBe("Bearer github_pat_s3cret0123")
    await card.getByRole("button", { name: /^Delete/ }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()

    await page.getByRole("button", { name: "Add destination" }).click()
    await dialog.getByLabel("Kind").selectOption("Discord channel")
    await dialog.getByLabel("Webhook URL").fill(url)
    await dialog.getByRole("button", { name: "Add destination" }).click()
    await card.getByText(`http://127.0.0.1:${port}/…`, { exact: true }).waitFor()
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("say why they were switched off, and get again what failed: one, or all in a period", async () => {
    const { received, url } = await ui.run(receiver(410, 410, 200))
    const id = await newWebhook("Resending")
    const path = `/api/webhooks/${id}/destinations`
    const { destination } = await ui.call("POST", path, { url })
    await ui.call("POST", path, { url: "https://ci.example.com/", enabled: false })
    await runReview(ui, id)
    const { card, page } = await openTab(id)
    await card.getByText("It was switched off because it answered 410 Gone.").waitFor()
    const entries = page.getByRole("list", { name: "Deliveries, newest first" }).getByRole("listitem")
    const state = (name: string) => entries.filter({ hasText: name })
    await state("Failed").getByText("1 attempt").waitFor()
    await page.goto(`/webhooks/${id}?tab=runs`)
    await page.getByText("Delivery failed").first().waitFor()
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await axe(page)).toEqual([])
    }
    await page.getByRole("link", { name: /Delivery failed/ }).click()
    await page.getByRole("heading", { name: /Delivery failed/ }).waitFor()
    await page.goto(`/webhooks/${id}?tab=destinations`)

    await card.getByRole("button", { name: `Switch on ${url}` }).click()
    await card.getByRole("button", { name: `Switch off ${url}` }).waitFor()
    await state("Failed")
      .getByRole("button", { name: /^Resend/ })
      .click()
    await state("Failed").getByText("2 attempts").waitFor()
    await eventually(() => received.length).toBe(2)
    await page.reload()
    await card.getByRole("button", { name: `Switch on ${url}` }).click()
    await card.getByRole("button", { name: `Resend failed deliveries of ${url}` }).click()
    await page.getByRole("dialog").getByLabel("Failed in").selectOption("the last hour")
    await page.getByRole("dialog").getByRole("button", { name: "Resend" }).click()
    await page.getByText("Sending 1 delivery again").waitFor()
    await state("Delivered").getByText("3 attempts").waitFor()
    await page.getByText("Attempts", { exact: true }).click()
    await page
      .getByText(/answered 410/)
      .first()
      .waitFor()

    await page.getByLabel("State").selectOption("Failed")
    await page.getByText("Nothing was sent yet.").waitFor()
    await page.getByLabel("State").selectOption("Delivered")
    await state("Delivered").waitFor()
    await page.getByLabel("Destination", { exact: true }).selectOption("https://ci.example.com/")
    await page.getByText("Nothing was sent yet.").waitFor()
    await page.getByLabel("Destination", { exact: true }).selectOption(destination.url)
    await state("Delivered").waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await axe(page)).toEqual([])

    const hoursFromNow = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    const show = (pages: RegExp, fields: object) =>
      page.route(pages, async (route) => {
        const answer = await (await route.fetch()).json()
        const data = answer.data.map((each: object) => ({ ...each, ...fields }))
        await route.fulfill({ json: { ...answer, data } })
      })
    await show(/\/deliveries/, { status: "pending", next_attempt_at: hoursFromNow(5.5) })
    await show(/\/destinations/, { failing_since: hoursFromNow(-5), paused_until: hoursFromNow(-1) })
    await page.reload()
    await state("Pending").getByText("3 attempts, next attempt in 5 hr").waitFor()
    await page
      .getByRole("button", { name: /^Resend [^f]/ })
      .first()
      .waitFor()
    await card.getByText("Failing since").first().waitFor()
    expect(await card.getByText("next attempt").count()).toBe(0)
    await page.unrouteAll({ behavior: "ignoreErrors" })
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })
})
