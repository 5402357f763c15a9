import { afterAll, beforeAll, expect, it } from "vitest"
import { recipes } from "../../../../src/recipes/Recipes.ts"
import { requestOf } from "../../../http/SignedRequests.ts"
import { axe } from "../../Axe.ts"
import { errorsOf, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

const listen = async () => {
  const page = await ui.newPage({ signedIn: true })
  await page.goto("/webhooks/new")
  await page.getByRole("link", { name: "A request that comes" }).click()
  await page.getByRole("button", { name: "Listen" }).click()
  await page.getByText("Choose the team that receives the prompt.").waitFor()
  await page.getByRole("button", { name: "Choose a team" }).click()
  await page.getByRole("option", { name: "demo" }).click()
  expect(await axe(page)).toEqual([])
  await page.getByRole("button", { name: "Listen" }).click()
  const url = (await page.getByRole("region", { name: "Trigger URL" }).locator("code").first().innerText()).trim()
  const listening = page.getByRole("region", { name: "Listening" })
  await listening.getByText("Waiting for the first request").waitFor()
  return { page, url, listening }
}

const leave = async (page: Awaited<ReturnType<typeof listen>>["page"]) => {
  await page.getByRole("button", { name: "Yes, leave" }).click()
}

it("a webhook is made from the first request of a service: it starts no run, is recognized, and fills in the form", async () => {
  const { listening, page, url } = await listen()
  const { sample } = recipes.github
  const send = (headers: Record<string, string>, body: string) => fetch(url, { method: "POST", headers, body })
  const raw = JSON.stringify(sample.payload)
  expect(await (await send(sample.headers, raw)).json()).toMatchObject({ status: "ignored" })
  await listening.getByText("From GitHub").waitFor()
  await listening.getByText('"pull_request"').waitFor()
  expect(await axe(page)).toEqual([])
  await listening.getByRole("link", { name: "Make the webhook from it" }).click()
  await leave(page)

  await page.getByRole("list", { name: "What the recipe sets" }).waitFor()
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Review pull requests")
  await page.getByRole("button", { name: "Customize" }).click()
  const preview = page.getByRole("region", { name: "Preview" })
  await preview.getByText("Answer with 404 for a team that is gone").first().waitFor()
  await preview.getByText("Such a request is accepted").waitFor()
  expect(await axe(page)).toEqual([])
  await page.getByRole("button", { name: "Save" }).click()

  await page.getByRole("heading", { name: "Save your secret" }).waitFor()
  const secret = (await page.getByRole("region", { name: "Setup" }).locator("code.secret").innerText()).trim()
  expect((await send(sample.headers, raw)).status).toBe(401)
  const signed = requestOf(recipes.github, secret)
  expect((await send(signed.headers, signed.raw)).status).toBe(202)
  expect(errorsOf(page)).toEqual([])
  await page.context().close()
})

it("a webhook is made from the request of a service that nobody knows, with its values clicked into the template", async () => {
  const { listening, page, url } = await listen()
  const body = JSON.stringify({ order: { id: 4711, title: "Two lamps" } })
  await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
  await listening.getByText("From a service that is not known").waitFor()
  await page.getByRole("link", { name: "Done" }).click()
  await leave(page)
  await listening.getByRole("link", { name: "Make the webhook from it" }).click()

  const template = page.getByLabel("Prompt template")
  await template.fill("")
  const values = page.getByRole("group", { name: "The request's values" })
  await values.getByRole("button", { name: "Members of order" }).click()
  await values.getByRole("button", { name: "id 4711" }).click()
  expect(await template.inputValue()).toBe("{{payload.order.id}}")
  await page.getByLabel("Name", { exact: true }).fill("Orders")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByRole("heading", { name: "Orders" }).waitFor()
  await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
  await page.getByRole("link", { name: "Two lamps" }).first().waitFor()
  expect(await listening.count()).toBe(0)
  expect(errorsOf(page)).toEqual([])
  await page.context().close()
})
