import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { createReview, settingField, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
  await createReview(ui)
})

afterAll(() => ui?.close())

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
