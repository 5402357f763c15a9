import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { axe } from "../../Axe.ts"
import { errorsOf, eventually, startTestUi, type TestUi } from "../../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

const openTeam = async (team: string) => {
  await ui.call("POST", "/api/teams", { team })
  const page = await ui.newPage({ signedIn: true })
  await page.goto(`/teams/${team}`)
  const card = page.getByRole("region", { name: "Leader keys" })
  await card.getByText("No leader keys yet.").waitFor()
  const create = async (name: string) => {
    await card.getByRole("button", { name: "New leader key" }).click()
    const dialog = page.getByRole("dialog", { name: "New leader key" })
    await dialog.getByLabel("Name").fill(name)
    await dialog.getByRole("button", { name: "Create key" }).click()
    await dialog.waitFor({ state: "detached" })
  }
  return {
    page,
    card,
    create,
    entry: card.getByRole("list", { name: "Leader keys, oldest first" }).getByRole("listitem")
  }
}

/** What a leader gets with the key. */
const useKey = async (key: string) => {
  const response = await fetch(new URL("/leader/team", ui.server.url), { headers: { authorization: `Bearer ${key}` } })
  return { status: response.status, body: await response.json() }
}

describe("the leader keys of a team", () => {
  it("are created with a name, shown once, listed with their last use, and revoked after a question", async () => {
    const { page, card, create, entry } = await openTeam("keys")
    await card.getByRole("button", { name: "New leader key" }).click()
    const dialog = page.getByRole("dialog", { name: "New leader key" })
    await dialog.getByRole("button", { name: "Create key" }).click()
    await dialog.getByText("Enter a name.").waitFor()
    expect(await axe(page)).toEqual([])
    await dialog.getByRole("button", { name: "Cancel" }).click()

    await create("  laptop ")
    await card.getByText("Copy it now.").waitFor()
    expect(await axe(page)).toEqual([])
    await card.getByRole("button", { name: "Copy the leader key" }).click()
    await card.getByRole("button", { name: "Copied the leader key" }).waitFor()
    const key = String(await page.evaluate("navigator.clipboard.readText()"))
    expect(key).toMatch(/^whl_[0-9A-Za-z]{49}$/)
    await card.getByText(key, { exact: true }).waitFor()
    await entry.getByText(`Ends in …${key.slice(-4)}, created`).waitFor()
    await entry.getByText("laptop", { exact: true }).waitFor()
    await entry.getByText("never used").waitFor()

    expect(await useKey(key)).toEqual({ status: 200, body: { team: "keys" } })
    // The page looks every 10 s.
    await entry.getByText(/last used (just now|\d+ sec ago)/).waitFor()
    await card.getByRole("button", { name: "Done" }).click()
    await eventually(() => page.getByText(key).count()).toBe(0)
    await page.reload()
    await entry.getByText(/last used/).waitFor()
    expect(await page.content()).not.toContain(key)

    await entry.getByRole("button", { name: /^Revoke laptop/ }).click()
    const question = page.getByRole("alertdialog", { name: "Revoke this leader key?" })
    await question.getByText("laptop", { exact: true }).waitFor()
    expect(await axe(page)).toEqual([])
    await question.getByRole("button", { name: "Cancel" }).click()
    expect((await useKey(key)).status).toBe(200)
    await entry.getByRole("button", { name: /^Revoke laptop/ }).click()
    await question.getByRole("button", { name: "Revoke" }).click()
    await card.getByText("No leader keys yet.").waitFor()
    expect((await useKey(key)).status).toBe(401)
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("stay shown until each is saved, and are not left without a question", async () => {
    const { page, card, create, entry } = await openTeam("unsaved")
    await create("first")
    await create("second")
    await eventually(() => card.getByText("Copy it now.").count()).toBe(2)
    await eventually(() => entry.count()).toBe(2)
    await card.getByRole("button", { name: "Done" }).first().click()
    await eventually(() => card.getByText("Copy it now.").count()).toBe(1)
    const question = page.getByRole("alertdialog", { name: "Have you saved the key?" })
    await page.getByRole("link", { name: "Webhooks" }).first().click()
    await question.getByRole("button", { name: "Stay" }).click()
    await card.getByText("Copy it now.").waitFor()
    await page.goBack()
    await question.getByRole("button", { name: "Yes, leave" }).click()
    await page.waitForURL((url) => url.pathname !== "/teams/unsaved")

    await page.goto("/teams/demo")
    await page.getByRole("link", { name: "Teams", exact: true }).first().click()
    await page.getByRole("link", { name: /^unsaved/ }).click()
    await eventually(() => entry.count()).toBe(2)
    expect(await card.getByText("Copy it now.").count()).toBe(0)
    await create("third")
    await card.getByRole("button", { name: "Done" }).click()
    await eventually(() => card.getByText("Copy it now.").count()).toBe(0)
    await page.goBack()
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor()
    expect(errorsOf(page)).toEqual([])
    await page.context().close()
  })

  it("say how a leader connects with one: over HTTP, to this server's address", async () => {
    const { page } = await openTeam("connecting")
    const ways = page.getByRole("region", { name: "How to connect a leader" })
    await ways.getByRole("tab", { name: "Over HTTP" }).click()
    await ways.getByText(`leader --url ${ui.server.url.replace(/\/$/, "")} --key-file connecting.key -- cat`).waitFor()
    await page.context().close()
  })
})
