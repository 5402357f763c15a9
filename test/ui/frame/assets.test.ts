import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pages } from "../../../src/api/Pages.ts"
import { signIn, startTestUi, type TestUi } from "../TestUi.ts"

let ui: TestUi

beforeAll(async () => {
  ui = await startTestUi()
})
afterAll(() => ui?.close())

describe("the first load", () => {
  const folder = fileURLToPath(new URL("../../../dist/ui/", import.meta.url))

  it("is under 150 KB of compressed JavaScript", () => {
    const index = readFileSync(`${folder}index.html`, "utf8")
    const scripts = [...index.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path!)
    expect(scripts.length).toBeGreaterThan(0)
    const bytes = scripts.map((path) => readFileSync(`${folder}${path}.gz`).length).reduce((a, b) => a + b)
    expect(bytes).toBeLessThan(150_000)
  })

  it("is as small over the network, and cached from then on", async () => {
    const page = await ui.newPage()
    const scripts = new Map<string, Promise<{ readonly responseBodySize: number }>>()
    page.on("requestfinished", (request) => {
      if (request.resourceType() === "script") scripts.set(request.url(), request.sizes())
    })
    await page.goto("/webhooks")
    await signIn(page)
    await page.getByRole("heading", { name: "Webhooks" }).waitFor()
    const sizes = await Promise.all(scripts.values())
    const total = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
    expect(total).toBeGreaterThan(50_000)
    expect(total).toBeLessThan(150_000)
    const [asset] = scripts.keys()
    const response = await fetch(asset!)
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
    await page.context().close()
  })
})

describe("the typeface", () => {
  it("comes with the document, from this server, with its license in the build", async () => {
    const page = await ui.newPage()
    const fonts: Array<string> = []
    page.on("request", (request) => request.resourceType() === "font" && fonts.push(request.url()))
    await page.goto("/")
    await page.getByLabel("API key or admin key").waitFor()
    await page.evaluate("document.fonts.ready")
    expect(await page.evaluate("[...document.fonts].map(({ family, status }) => [family, status])")).toEqual([
      ["Inter Variable", "loaded"]
    ])
    expect(fonts).toHaveLength(1)
    expect((await fetch(fonts[0]!)).headers.get("content-type")).toBe("font/woff2")
    const license = readFileSync(fileURLToPath(new URL("../../../dist/ui/inter-license.txt", import.meta.url)), "utf8")
    expect(license).toContain("SIL OPEN FONT LICENSE")
    await page.context().close()
  })
})

describe("every page", () => {
  it("is loaded without Effect's schemas, which are larger than all of its code", () => {
    const folder = fileURLToPath(new URL("../../../dist/ui/assets/", import.meta.url))
    const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"))
    expect(scripts.length).toBeGreaterThan(10)
    expect(scripts.filter((name) => readFileSync(join(folder, name), "utf8").includes("effect/annotation/"))).toEqual(
      []
    )
  })
})

describe("the UI's addresses", () => {
  it("all respond with a document that is revalidated, and whose policy allows nothing from other servers", async () => {
    for (const page of Object.values(pages)) {
      const url = ui.server.url + page.replace(/:\w+/g, "anything")
      const response = await fetch(url)
      expect([url, response.status]).toEqual([url, 200])
      expect(response.headers.get("cache-control")).toBe("no-cache")
      const policy = response.headers.get("content-security-policy")
      expect(policy).toContain("default-src 'none'")
      expect(policy).not.toContain("unsafe")
      const again = await fetch(url, { headers: { "if-none-match": response.headers.get("etag")! } })
      expect(again.status).toBe(304)
      expect(await response.text()).not.toMatch(/<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=/)
    }
  })

  it("are sent in an encoding that the browser accepts", async () => {
    for (const [accepted, sent] of [
      ["gzip, deflate, br", "br"],
      ["br;q=0, GZIP;q=0.5", "gzip"],
      ["gzip; q=0.000", null],
      ["identity", null]
    ] as const) {
      const { headers } = await fetch(ui.server.url, { headers: { "accept-encoding": accepted } })
      expect([accepted, headers.get("content-encoding")]).toEqual([accepted, sent])
    }
  })

  it("are revalidated also behind a proxy that makes the tags weak", async () => {
    const { headers } = await fetch(ui.server.url)
    const again = await fetch(ui.server.url, { headers: { "if-none-match": `"other", W/${headers.get("etag")}` } })
    expect(again.status).toBe(304)
  })

  it("are all that it answers: any other unknown address gets a problem", async () => {
    for (const path of ["/api/nothing", "/webhook/trigger/whk_x", "/webhook", "/assets/nothing.js"]) {
      const response = await fetch(ui.server.url + path, { headers: { accept: "text/html" } })
      expect([path, response.status === 404 || response.status === 405]).toEqual([path, true])
      expect(response.headers.get("content-type")).toBe("application/problem+json")
    }
  })
})

describe("an address that no page has", () => {
  const paths = ["/nothing", "/runs/a/b", "/webhooks/a/b/c"]

  it("is 404 with the UI to a browser, which says so and leads on", async () => {
    const page = await ui.newPage({ signedIn: true })
    for (const path of paths) {
      const response = await page.goto(path)
      expect([path, response!.status()]).toEqual([path, 404])
      await page.getByRole("heading", { name: "Page not found" }).waitFor()
    }
    await page.getByRole("link", { name: "Go to the webhooks" }).click()
    await page.getByRole("heading", { name: "Webhooks" }).waitFor()
    await page.context().close()
  })

  it("shows the page that it means, when only a slash at its end is too much", async () => {
    const page = await ui.newPage({ signedIn: true })
    await page.goto("/webhooks/")
    await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor()
    await page.context().close()
  })

  it("is 404 with a problem to a program", async () => {
    for (const path of [...paths, "/webhooks/"]) {
      const response = await fetch(ui.server.url + path)
      expect([path, response.status]).toEqual([path, 404])
      expect(response.headers.get("content-type")).toBe("application/problem+json")
    }
  })
})

describe("a page whose code could not be loaded", () => {
  it("is loaded again by the next click on its link, or when it is opened from another page", async () => {
    const page = await ui.newSignedInPage()
    const [teams, webhooks] = ["Teams", "Webhooks"].map((name) => page.getByRole("link", { name, exact: true }))
    const failed = page.getByText("This page could not be shown.")
    await page.route("**/assets/Teams-*.js", (route) => route.abort())
    await teams!.click()
    await failed.waitFor()
    await webhooks!.click()
    await page.getByRole("heading", { name: "Webhooks" }).waitFor()
    await teams!.click()
    await failed.waitFor()
    await page.unrouteAll()
    await teams!.click()
    await page.getByRole("heading", { name: "Teams" }).waitFor()
    await page.context().close()
  })

  it("is loaded again in its place", async () => {
    const page = await ui.newSignedInPage()
    await page.route("**/assets/Teams-*.js", (route) => route.abort())
    await page.getByRole("link", { name: "Teams", exact: true }).click()
    await page.getByText("This page could not be shown.").waitFor()
    await page.unrouteAll()
    await page.getByRole("button", { name: "Try again" }).click()
    await page.getByRole("heading", { name: "Teams" }).waitFor()
    await page.context().close()
  })
})

describe("a page whose code is gone because the server was updated", () => {
  it("says so, and works again after a reload", async () => {
    const page = await ui.newSignedInPage()
    await page.route("**/assets/Teams-*.js", (route) => route.fulfill({ status: 404 }))
    await page.getByRole("link", { name: "Teams", exact: true }).click()
    await page.getByText("This page could not be shown.").waitFor()
    await page.unrouteAll()
    await page.getByRole("button", { name: "Reload" }).click()
    await page.getByRole("heading", { name: "Teams" }).waitFor()
    await page.context().close()
  })
})
