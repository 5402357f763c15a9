import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { recipes } from "../../../../src/recipes/Recipes.ts"
import { requestOf } from "../../../http/SignedRequests.ts"
import { axe } from "../../Axe.ts"
import { errorsOf, eventually, settingField, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("refused requests", () => {
  it("are shown beside the runs of their webhook, with what they contained if the webhook keeps it", async () => {
    const draft = { name: "Refusing", team: "demo", prompt_template: "Review {{title}}" }
    const { token, webhook } = await ui.call("POST", "/api/webhooks", draft)
    const headers = { "content-type": "application/json" }
    const trigger = (body: string) =>
      fetch(`${ui.server.url}/webhook/trigger/${token}`, { method: "POST", headers, body })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}`)
    const refused = page.getByRole("region", { name: "Rejected requests" })
    await refused.getByText("No rejected requests in the last 24 hours.").waitFor()

    await trigger('{"variables":{}}')
    await page.reload()
    await refused.getByText("missing_variables").waitFor()
    await refused.getByText("Without a value: title.").waitFor()
    await refused.getByText("From 127.0.0.1, 16 bytes").waitFor()
    await refused.getByText("set “Store requests” under Edit").waitFor()

    await page.getByRole("link", { name: "Edit" }).click()
    await (await settingField(page, "Store requests")).selectOption("refused")
    await page.getByRole("button", { name: "Save" }).click()
    await refused.waitFor()
    await trigger('{"variables":{"titel":"a typo"}}')
    await page.reload()
    await refused.getByText("Body", { exact: true }).click()
    const body = refused.getByRole("region", { name: /^Body of request [0-9a-f]{8}$/ })
    await body.getByText('{"variables":{"titel":"a typo"}}').waitFor()
    await trigger('{"variables":{"titel":"another"}}')
    await page.reload()
    await eventually(() => refused.getByText("Body", { exact: true }).count()).toBe(2)
    for (const summary of await refused.getByText("Body", { exact: true }).all()) await summary.click()
    const names = await body.evaluateAll((regions) => regions.map((region) => region.getAttribute("aria-label")))
    expect(new Set(names).size).toBe(2)
    await page.context().close()
  })
})

describe("ignored requests", () => {
  it("are counted and listed with the part of the filter that does not hold, and with their content if it is kept", async () => {
    const draft = {
      name: "Ignoring",
      team: "demo",
      prompt_template: "Deploy {{branch}}",
      accept_if: "branch == 'main'"
    }
    const { token, webhook } = await ui.call("POST", "/api/webhooks", draft)
    const trigger = (branch: string) =>
      fetch(`${ui.server.url}/webhook/trigger/${token}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ variables: { branch } })
      })
    const page = await ui.newPage({ signedIn: true })
    await page.goto(`/webhooks/${webhook.id}`)
    const ignored = page.getByRole("region", { name: "Ignored requests" })
    await ignored.getByText("No ignored requests in the last 24 hours.").waitFor()

    await trigger("a-branch")
    await page.reload()
    await ignored.getByText("1 request was ignored in the last 24 hours.").waitFor()
    await ignored.getByText("`branch == 'main'` does not hold.", { exact: true }).waitFor()
    await ignored.getByText("set “Store requests” to “all” under Edit").waitFor()
    await page.getByText("No rejected requests in the last 24 hours.").waitFor()

    await ui.call("PATCH", `/api/webhooks/${webhook.id}`, { store_requests: "all" })
    await trigger("another")
    await page.reload()
    await ignored.getByText("2 requests were ignored").waitFor()
    await ignored.getByText("`branch == 'main'` does not hold: `branch` is \"another\".", { exact: true }).waitFor()
    await ignored.getByText("Body", { exact: true }).click()
    await ignored.getByRole("region", { name: "Body" }).getByText("another").waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await axe(page)).toEqual([])
    await page.context().close()
  })
})

describe("a webhook for a service", () => {
  it("is filled in from its recipe, and has a checklist until the first request was verified", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new")
    await page.getByRole("link", { name: "GitHub", exact: true }).click()
    await eventually(() => page.getByLabel("Name", { exact: true }).inputValue()).toBe(recipes.github.name)
    await page.getByText("Pull requests: opened, reopened, ready for review, new commits").waitFor()
    await page.getByRole("button", { name: "Customize" }).click()
    // It may not be true any longer.
    await page.getByRole("list", { name: "What the recipe sets" }).waitFor({ state: "detached" })
    await page.locator("output.rendered").getByText("octo-org/hello-world", { exact: true }).first().waitFor()
    await page.getByText("Such a request is accepted.").waitFor()
    await page.getByRole("link", { name: "Alertmanager" }).click()
    await eventually(() => page.getByLabel("Name", { exact: true }).inputValue()).toBe(recipes.alertmanager.name)
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^demo/ }).click()
    await page.getByRole("button", { name: "Create webhook" }).click()

    const setup = page.getByRole("region", { name: "Setup" })
    const secret = await setup.locator("code.secret").innerText()
    const url = await page.getByRole("region", { name: "Trigger URL" }).locator("code.secret").first().innerText()
    const config = setup.getByRole("region", { name: "alertmanager.yml" })
    await config.getByText(`url: ${url}`).waitFor()
    await config.getByText(`credentials: ${secret}`).waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await axe(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole("link", { name: "Done" }).click()
    await page.getByRole("button", { name: "Yes, leave" }).click()

    await setup.getByText("Waiting for the first verified request.").waitFor()
    const send = async (key: string) => {
      const { raw, headers } = requestOf(recipes.alertmanager, key)
      return (await fetch(url, { method: "POST", headers, body: raw })).status
    }
    expect(await send("Another secret")).toBe(401)
    await page.reload()
    await setup.getByText("but was rejected. Its signature or secret is not that of this webhook").waitFor()
    expect(await send(secret)).toBe(202)
    await setup.getByText("The first verified request arrived").waitFor()
    // The service's sample stays with the webhook.
    await page.getByRole("tab", { name: "Test" }).click()
    await eventually(() => page.getByLabel("payload", { exact: true }).inputValue()).toContain("KubePodCrashLooping")
    await page.getByRole("button", { name: "Send test" }).click()
    await page.getByText("Find the likely cause").first().waitFor()
    await setup.getByRole("button", { name: "Close" }).click()
    await setup.waitFor({ state: "detached" })
    await page.reload()
    await page.getByRole("tab", { name: "Runs" }).click()
    await page.getByRole("region", { name: "Rejected requests" }).getByText("not_verified").waitFor()
    expect(await setup.count()).toBe(0)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("sends its answers where the recipe says, with a token that is asked for, and says how to reach localhost", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/new?from=github")
    await page.getByText("GitHub does not reach").waitFor()
    await page.getByText(/^cloudflared tunnel --url http:/).waitFor()
    await page.getByLabel("Name", { exact: true }).fill("Comments")
    await page.getByText("Send each answer back: GitHub comment").click()
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^demo/ }).click()
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.getByText("Enter the token, or leave the destination out.").waitFor()
    await page.getByLabel("Token", { exact: true }).fill("github_pat_of_the_test")
    expect(await axe(page)).toEqual([])
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.getByRole("heading", { level: 1, name: "Save your token" }).waitFor()
    const { data } = await ui.call("GET", "/api/webhooks")
    const created = data.find(({ name }: { readonly name: string }) => name === "Comments")
    const destinations = await ui.call("GET", `/api/webhooks/${created.id}/destinations`)
    expect(destinations.data).toMatchObject([{ kind: "github", target: recipes.github.destination?.target }])
    await page.context().close()
  })
})
