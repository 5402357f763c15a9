import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Page, Route } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Gate } from "../faults/support/Gate.ts"
import { axe } from "./Axe.ts"
import { complaintsOf, eventually, type Stage, signIn, startStage, strangersOf } from "./Stage.ts"

let stage: Stage
let webhook: { readonly id: string; readonly name: string }
let run_id: string
let chat_id: string

beforeAll(async () => {
  stage = await startStage()
  const draft = { name: "Review", team: "demo", prompt_template: "Review {{title}} by {{author.name}}" }
  webhook = (await stage.call("POST", "/api/webhooks", draft)).webhook
  const variables = {
    title: "# A change\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```",
    author: { name: "Ada" }
  }
  run_id = (await stage.call("POST", `/api/webhooks/${webhook.id}/runs?wait=true`, { variables })).run_id
  chat_id = (await stage.call("POST", "/api/teams/demo/messages?wait=true", { message: "Hello" })).message_id
  await stage.call("POST", "/api/webhooks", { ...draft, name: "Switched off", enabled: false })
  await stage.call("POST", "/api/teams", { team: "idle" })
})
afterAll(() => stage?.close())

/** Every page, by the heading that it shows once it is there. */
const pages = (): ReadonlyArray<readonly [address: string, heading: string | RegExp, settled?: string]> => [
  ["/webhooks", "Webhooks", "Review"],
  ["/webhooks?search=nothing-like-it", "Webhooks", "No webhook matches."],
  ["/webhooks/new", "New webhook", "Try it with sample values"],
  [`/webhooks/${webhook.id}`, "Review", "Slots in use"],
  [`/webhooks/${webhook.id}/edit`, "Edit webhook", "What the team gets"],
  [`/webhooks/${webhook.id}/call`, "How to call it", "Ready-made calls"],
  [`/runs/${run_id}`, /^Run/, "Finished: success"],
  [`/runs/${chat_id}`, /^Chat message/, "Finished: success"],
  ["/teams", "Teams", "idle"],
  ["/teams/demo", "demo", "Asked lately, by webhooks and here"],
  ["/teams/idle", "idle", "Nothing yet."],
  ["/webhooks/00000000-0000-7000-8000-000000000000", "Webhook", "There is nothing at this address."]
]

const open = async (page: Page, [address, heading, settled]: ReturnType<typeof pages>[number]) => {
  await page.goto(address)
  await page.getByRole("heading", { level: 1, name: heading }).waitFor()
  if (settled) await page.getByText(settled).first().waitFor()
}

describe("accessibility, as axe sees it", () => {
  /** Both widths, each in light and dark; the theme changes nothing but colours. */
  const check = async (page: Page, what: string): Promise<ReadonlyArray<string>> => {
    const found: Array<string> = []
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme })
        const ground = colorScheme === "dark" ? "rgb(18, 22, 20)" : "rgb(245, 244, 239)"
        await eventually(() => page.evaluate("getComputedStyle(document.documentElement).backgroundColor")).toBe(ground)
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        const violations = await axe(page, colorScheme === "dark" ? "colours" : undefined)
        found.push(...violations.map((violation) => `${what}, ${colorScheme}, ${width}: ${violation}`))
      }
      const over = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))
      if (over > 0) found.push(`${what} is ${over} pixels wider than the window of ${width}`)
    }
    return found
  }

  it("finds nothing wrong with any page, light and dark, 390 and 1440 pixels wide", { timeout: 180_000 }, async () => {
    const page = await stage.window()
    await page.goto("/")
    await page.getByLabel("Admin key").waitFor()
    const found = [...(await check(page, "signing in"))]
    await signIn(page)
    for (const each of pages()) {
      await open(page, each)
      found.push(...(await check(page, each[0])))
    }
    expect(found).toEqual([])
    expect(complaintsOf(page)).toEqual([])
    expect(strangersOf(page)).toEqual([])
    await page.context().close()
  })

  it("finds nothing wrong with what opens over a page", async () => {
    const page = await stage.signedIn()
    const found: Array<string> = []
    await page.goto("/webhooks/new")
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.getByText("Give it a name.").waitFor()
    await page.getByLabel("Prompt template").fill("{{broken")
    found.push(...(await check(page, "a form with faults")))
    await page.getByRole("button", { name: / Team$/ }).click()
    await page.getByRole("option", { name: /^demo/ }).waitFor()
    found.push(...(await check(page, "the list of teams")))
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "New team" }).click()
    await page.getByRole("dialog", { name: "New team" }).waitFor()
    found.push(...(await check(page, "the dialog for a team")))
    await page.goto(`/webhooks/${webhook.id}`)
    await page.getByText("The same as a table").click()
    await page.getByRole("button", { name: "Send the test" }).click()
    await page.getByText("202 Accepted").waitFor()
    found.push(...(await check(page, "a test and a table")))
    await page.getByRole("button", { name: "Delete webhook" }).click()
    await page.getByRole("alertdialog").waitFor()
    found.push(...(await check(page, "the dialog that deletes")))
    expect(found).toEqual([])
    expect(complaintsOf(page)).toEqual([])
    await page.context().close()
  })
})

describe("the keyboard", () => {
  it("signs in, goes to a webhook, and answers a dialog, without a pointer", async () => {
    const page = await stage.window()
    await page.goto("/")
    // The field has the focus already.
    await eventually(() => page.evaluate("document.activeElement.type")).toBe("password")
    await page.keyboard.type("an-admin-key-for-the-tests-of-the-ui")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Webhooks" }).waitFor()
    await page.keyboard.press("Tab")
    await page.getByRole("link", { name: "Review" }).focus()
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Review" }).waitFor()
    await page.getByRole("button", { name: "Regenerate token" }).press("Enter")
    await page.getByRole("alertdialog", { name: "Regenerate the token?" }).waitFor()
    // The focus goes inside, stays there while the dialog is open, and comes back.
    const inside = () => page.evaluate("document.activeElement.closest('[role=alertdialog]') !== null")
    await eventually(inside).toBe(true)
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press("Tab")
      expect(await inside()).toBe(true)
    }
    await page.keyboard.press("Escape")
    await page.getByRole("alertdialog").waitFor({ state: "detached" })
    await eventually(() => page.evaluate("document.activeElement.textContent")).toBe("Regenerate token")
    await page.context().close()
  })
})

describe("the session", () => {
  it("is asked for at every address, refuses a wrong key, and ends with signing out", async () => {
    const page = await stage.window()
    await page.goto(`/runs/${run_id}`)
    await page.getByLabel("Admin key").fill("not the key")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByText("This is not the admin key.").waitFor()
    await signIn(page)
    // It goes on where it was wanted.
    await page.getByRole("heading", { name: /^Run/ }).waitFor()
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ name: "webhook_trigger_session", httpOnly: true, sameSite: "Strict", path: "/" })
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("Admin key").waitFor()
    expect(await page.context().cookies()).toEqual([])
    await page.context().close()
  })

  it("may end in the middle of work, which is still there after signing in again", async () => {
    const page = await stage.signedIn()
    await page.getByRole("link", { name: "New webhook" }).click()
    await page.getByLabel("Prompt template").fill("A long thought about {{everything}}")
    await page.context().clearCookies()
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor()
    await page.getByLabel("Admin key").fill("an-admin-key-for-the-tests-of-the-ui")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    expect(await page.getByLabel("Prompt template").inputValue()).toBe("A long thought about {{everything}}")
    await page.context().close()
  })
})

describe("a connection", () => {
  it("that is lost is told of, and what comes meanwhile is shown after it is back", async () => {
    const page = await stage.signedIn()
    await page.getByRole("link", { name: "Review" }).waitFor()
    await page.context().setOffline(true)
    await page.getByText("The server cannot be reached. What you see may be out of date").waitFor()
    const { webhook: late } = await stage.call("POST", "/api/webhooks", {
      name: "Made meanwhile",
      team: "demo",
      prompt_template: "x"
    })
    await page.context().setOffline(false)
    await page.getByRole("link", { name: "Made meanwhile" }).waitFor()
    await page.getByText("The server cannot be reached.").waitFor({ state: "detached" })
    await stage.call("DELETE", `/api/webhooks/${late.id}`)
    await page.context().close()
  })

  it("is one for all tabs, and goes over to another when its tab is closed", async () => {
    const first = await stage.signedIn()
    await first.getByText("Live", { exact: true }).waitFor()
    const asked: Array<string> = []
    first.context().on("request", (request) => {
      if (request.url().endsWith("/api/events")) asked.push(request.url())
    })
    const second = await first.context().newPage()
    await second.goto("/webhooks")
    const sees = async (page: Page, enabled: boolean) => {
      await page.getByText("Live", { exact: true }).waitFor()
      await stage.call("PATCH", `/api/webhooks/${webhook.id}`, { enabled })
      const name = `Review is ${enabled ? "on" : "off"}`
      await page.getByRole("switch", { name }).waitFor()
    }
    await sees(second, false)
    expect(asked).toEqual([])
    await first.close()
    await eventually(() => asked.length).toBe(1)
    await sees(second, true)
    await second.context().close()
  })

  it("without server-sent events is enough: changes are asked for", async () => {
    const page = await stage.window()
    await page.route("**/api/events", (route) => route.abort())
    await page.goto("/")
    await signIn(page)
    await page.getByText("Every few seconds").waitFor()
    await stage.call("PATCH", `/api/webhooks/${webhook.id}`, { enabled: false })
    await page.getByRole("switch", { name: "Review is off" }).waitFor()
    await stage.call("PATCH", `/api/webhooks/${webhook.id}`, { enabled: true })
    await page.context().close()
  })
})

describe("a switch", () => {
  it("stays where it was put, although an answer from before comes late", async () => {
    const page = await stage.signedIn()
    await page.goto(`/webhooks/${webhook.id}`)
    const toggle = page.getByRole("switch")
    await toggle.waitFor()
    const [asked, pressed, answered] = [new Gate(), new Gate(), new Gate()]
    const address = `/api/webhooks/${webhook.id}`
    const late = async (route: Route) => {
      const response = await route.fetch()
      asked.open()
      await pressed.opened
      // Nobody may want it any more.
      await route.fulfill({ response }).catch(() => {})
      answered.open()
    }
    await page.route(`**${address}`, late, { times: 1 })
    // Somebody else changes it, so the page reads it.
    await stage.call("PATCH", address, { timeout_seconds: 60 })
    await asked.opened
    await toggle.press("Space")
    await page.getByText("Review is off").waitFor()
    pressed.open()
    await answered.opened
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(await toggle.isChecked()).toBe(false)
    await toggle.press("Space")
    await page.getByText("Review is on").waitFor()
    await page.context().close()
  })
})

describe("what was written", () => {
  it("is not lost by leaving the page unasked, and is not asked about once it is saved", async () => {
    const page = await stage.signedIn()
    await page.goto(`/webhooks/${webhook.id}/edit`)
    await page.getByLabel("Name", { exact: true }).fill("Review, renamed")
    await page.getByRole("link", { name: "Teams", exact: true }).click()
    await page.getByRole("alertdialog", { name: "Leave without saving?" }).waitFor()
    await page.getByRole("button", { name: "Stay here" }).click()
    await page.goBack()
    await page.getByRole("button", { name: "Stay here" }).click()
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Review, renamed")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Review, renamed" }).waitFor()
    await page.getByRole("link", { name: "Edit" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Review")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Review", exact: true }).waitFor()
    await page.getByRole("link", { name: "Edit" }).click()
    await page.getByLabel("Name", { exact: true }).fill("thrown away")
    await page.getByRole("link", { name: "Cancel" }).click()
    await page.getByRole("button", { name: "Leave", exact: true }).click()
    await page.getByRole("heading", { name: "Review", exact: true }).waitFor()
    await page.context().close()
  })
})

describe("a page whose code is gone", () => {
  it("says so, and how to go on, after the server was updated under it", async () => {
    const page = await stage.signedIn()
    await page.route("**/assets/Teams-*.js", (route) => route.fulfill({ status: 404 }))
    await page.getByRole("link", { name: "Teams", exact: true }).click()
    await page.getByText("This page could not be shown.").waitFor()
    await page.unrouteAll()
    await page.getByRole("button", { name: "Load it anew" }).click()
    await page.getByRole("heading", { name: "Teams" }).waitFor()
    await page.context().close()
  })
})

describe("the first load", () => {
  const folder = fileURLToPath(new URL("../../dist/ui/", import.meta.url))

  it("is under 150 KB of compressed JavaScript", () => {
    const index = readFileSync(`${folder}index.html`, "utf8")
    const scripts = [...index.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, path]) => path!)
    expect(scripts.length).toBeGreaterThan(0)
    const bytes = scripts.map((path) => readFileSync(`${folder}${path.slice(1)}.gz`).length).reduce((a, b) => a + b)
    expect(bytes).toBeLessThan(150_000)
  })

  it("is as small over the wire, and asked for once", async () => {
    const page = await stage.window()
    const scripts = new Map<string, Promise<{ readonly responseBodySize: number }>>()
    page.on("requestfinished", (request) => {
      if (request.resourceType() === "script") scripts.set(request.url(), request.sizes())
    })
    await page.goto("/")
    await signIn(page)
    await page.getByRole("link", { name: "Review" }).waitFor()
    const sizes = await Promise.all(scripts.values())
    const first = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
    expect(first).toBeGreaterThan(50_000)
    expect(first).toBeLessThan(150_000)
    const [asset] = scripts.keys()
    const response = await fetch(asset!)
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
    await page.context().close()
  })

  it("brings a page that is asked for anew, with a policy that allows nothing from elsewhere", async () => {
    expect(existsSync(`${folder}index.html`)).toBe(true)
    for (const path of ["/", "/webhooks", `/webhooks/${webhook.id}`, "/teams/demo", `/runs/${run_id}`]) {
      const response = await fetch(stage.server.url + path)
      expect(response.status).toBe(200)
      expect(response.headers.get("cache-control")).toBe("no-cache")
      const policy = response.headers.get("content-security-policy")
      expect(policy).toContain("default-src 'none'")
      expect(policy).not.toContain("unsafe")
      const again = await fetch(stage.server.url + path, {
        headers: { "if-none-match": response.headers.get("etag")! }
      })
      expect(again.status).toBe(304)
      expect(await response.text()).not.toMatch(/<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=/)
    }
  })

  it("answers only the UI's own addresses: what else is unknown stays a problem", async () => {
    for (const path of [
      "/nothing",
      "/api/nothing",
      "/webhook/trigger/whk_x",
      "/webhook",
      "/assets/nothing.js",
      "/webhooks/a/b/c"
    ]) {
      const response = await fetch(stage.server.url + path, { headers: { accept: "text/html" } })
      expect([path, response.status === 404 || response.status === 405]).toEqual([path, true])
      expect(response.headers.get("content-type")).toBe("application/problem+json")
    }
  })
})
