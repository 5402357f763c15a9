/** A host with pages of its own leaves the web UI at another path, or out. */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { UiPath } from "../../../src/http/request/UiPath.ts"
import * as Routes from "../../../src/http/serve/Routes.ts"
import { adminKey, listening, listeningPort, services } from "../../http/Server.ts"
import { sharedBrowser } from "../../support/Chromium.ts"
import { ada, type OpenIdProvider, startProvider } from "../../support/OpenIdProvider.ts"
import { axeAtBothWidths } from "../Axe.ts"
import { errorsOf, eventually, foreignRequestsOf, pagesOf } from "../TestUi.ts"

const path = "/admin/webhooks"

const hostPages = HttpRouter.addAll(
  (["/", "/runs", "/webhooks", "/sign-in"] as const).map((address) =>
    HttpRouter.route("GET", address, HttpServerResponse.text("the host's own page"))
  )
)

const scope = Effect.runSync(Scope.make())
let provider: OpenIdProvider

/** The URL of a host. */
const startHost = (uiPath: Layer.Layer<never>): Promise<string> =>
  Effect.gen(function* () {
    const host = HttpRouter.serve(Layer.merge(hostPages, Routes.layer), { disableListenLog: true }).pipe(
      Layer.provideMerge(listening),
      Layer.provideMerge(services({ oidc: provider.settings() })),
      Layer.provide(uiPath)
    )
    const port = yield* Effect.provide(listeningPort, yield* Layer.build(host))
    return `http://127.0.0.1:${port}`
  }).pipe(Scope.provide(scope), Effect.runPromise)

beforeAll(async () => {
  provider = await Effect.runPromise(Scope.provide(startProvider(), scope))
  provider.people.set(ada.id, ada)
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const get = async (url: string) => {
  const response = await fetch(url, { redirect: "manual", headers: { accept: "text/html" } })
  return [response.status, await response.text()] as const
}

describe("a host that leaves the UI at a path", () => {
  let origin: string
  beforeAll(async () => {
    origin = await startHost(UiPath.layer(path))
    provider.allow(origin + path)
  })

  it("keeps all other addresses for itself", async () => {
    for (const own of ["/", "/runs", "/webhooks", "/sign-in"]) {
      expect([own, ...(await get(origin + own))]).toEqual([own, 200, "the host's own page"])
    }
    expect((await get(`${origin}/icon.svg`))[0]).toBe(404)
    expect((await get(`${origin}/sign-in/provider`))[0]).toBe(404)
    expect((await fetch(`${origin}${path}/runs`, { method: "POST" })).status).toBe(405)
    expect((await get(`${origin}/docs`))[1]).toContain(`<a href=".${path}/">← Web UI</a>`)
  })

  it("signs a person in there, shows pages by links and by addresses, and signs out", async () => {
    const pages = pagesOf(await sharedBrowser(), origin)
    const page = await pages.newPage()
    const shown = () => page.url().slice(origin.length)

    await page.goto(`${path}/runs?status=error`)
    await page.getByRole("link", { name: "Sign in with" }).click()
    await page.getByRole("link", { name: "Continue as Ada Lovelace" }).click()
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor()
    expect(shown()).toBe(`${path}/runs?status=error`)
    const images = () => page.evaluate("[...document.images].map((image) => image.naturalWidth > 0)")
    await eventually(images).toEqual([true])
    expect(await axeAtBothWidths(page)).toEqual([])

    await page.getByRole("link", { name: "Teams", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor()
    expect(shown()).toBe(`${path}/teams`)
    await page.reload()
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor()
    await page.getByRole("link", { name: "Overview", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    for (const home of [path, `${path}/`]) {
      await page.goto(home)
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    }
    await page.getByRole("status").filter({ hasText: "Live" }).waitFor()

    // What the browser knows of this server is left at the host's pages.
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("button", { name: "Yes, sign out" }).click()
    await page.getByRole("link", { name: "Sign in with" }).waitFor()
    expect(shown()).toBe(`${path}/sign-in`)

    // With a key, to the page that the address of the sign-in page names.
    await page.goto(`${path}/sign-in?to=${encodeURIComponent("/webhooks/new")}`)
    await page.getByLabel("API key or admin key").fill(adminKey)
    await page.getByRole("button", { name: "Sign in", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "New webhook" }).waitFor()
    expect(shown()).toBe(`${path}/webhooks/new`)
    expect(errorsOf(page).filter((text) => !text.includes(provider.issuer))).toEqual([])
    expect(foreignRequestsOf(page).filter((url) => !url.startsWith(provider.issuer))).toEqual([])
    await pages.close()
  })
})

describe("a host without the UI", () => {
  it("has no page, no asset and no sign-in at a provider, and offers none", async () => {
    const origin = await startHost(UiPath.none)
    expect(await get(`${origin}/runs`)).toEqual([200, "the host's own page"])
    expect((await get(`${origin}/docs`))[1]).not.toContain("Web UI")
    for (const absent of ["/teams", "/icon.svg", "/sign-in/provider", "/sign-in/callback"]) {
      expect([absent, (await get(origin + absent))[0]]).toEqual([absent, 404])
    }
    const call = (method: string, address: string, body?: object) =>
      fetch(origin + address, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } })
      })
    expect(await (await call("GET", "/api/session")).json()).toEqual({ signed_in: false })
    // The API, and its sessions for pages of the host, are as before.
    expect((await call("POST", "/api/session", { key: adminKey })).status).toBe(200)
    const teams = await fetch(`${origin}/api/teams`, { headers: { authorization: `Bearer ${adminKey}` } })
    expect(teams.status).toBe(200)
  })
})

describe("the path of the UI", () => {
  it("is refused if it could not be one", () => {
    for (const wrong of ["/a b", "/:a", "//a", "/a//b", "/*", "/a?b", "/.", "/a/../b"] as const) {
      expect(() => Effect.runSync(Effect.scoped(Layer.build(UiPath.layer(wrong)))), wrong).toThrow("/admin/webhooks")
    }
    for (const own of ["/api", "/mcp/ui", "/webhook/", "/health", "/leader", "/metrics", "/docs"] as const) {
      expect(() => Effect.runSync(Effect.scoped(Layer.build(UiPath.layer(own)))), own).toThrow("paths of its own")
    }
    const layer = UiPath.layer("/a/b.c/")
    expect(Context.get(Effect.runSync(Effect.scoped(Layer.build(layer))), UiPath)).toMatchObject({ value: "/a/b.c" })
  })
})
