/** A server whose `PUBLIC_URL` has a path, behind proxies that remove this path from requests, and that do not. */
import { createServer, type Server, request as send } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { adminKey, hello, start } from "../../http/Server.ts"
import { sharedBrowser } from "../../support/Chromium.ts"
import { ada, type OpenIdProvider, startProvider } from "../../support/OpenIdProvider.ts"
import { errorsOf, eventually, foreignRequestsOf, pagesOf } from "../TestUi.ts"

const scope = Effect.runSync(Scope.make())
let provider: OpenIdProvider

/** Answers nothing but what is below the path. */
const startProxy = async (mount: string, rewrites: boolean) => {
  let port = 0
  const proxy: Server = createServer((request, response) => {
    const { headers, method, url = "" } = request
    if (url !== mount && !url.startsWith(`${mount}/`)) {
      response.writeHead(404).end("The proxy has nothing here.")
      return
    }
    const path = rewrites ? url.slice(mount.length) || "/" : url
    const sent = send({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    response.on("close", () => sent.destroy())
    sent.on("error", () => response.destroy())
    request.pipe(sent)
  })
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
  await Effect.runPromise(
    Scope.addFinalizer(
      scope,
      Effect.sync(() => {
        proxy.close()
        proxy.closeAllConnections()
      })
    )
  )
  const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const started = start({ publicUrl: origin + mount, oidc: provider.settings() })
  const server = await Effect.runPromise(Scope.provide(started, scope))
  port = Number(new URL(server.origin).port)
  provider.allow(origin + mount)
  return { origin, server }
}

beforeAll(async () => {
  provider = await Effect.runPromise(Scope.provide(startProvider(), scope))
  provider.people.set(ada.id, ada)
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

for (const [mount, rewrites] of [
  ["/hooks", true],
  ["/hooks", false],
  // Like a page of the server itself.
  ["/webhooks", true],
  ["/webhooks", false]
] as const) {
  describe(`a server at ${mount}, behind a proxy ${rewrites ? "that removes" : "that keeps"} the path`, () => {
    it("shows pages and signs people in below the path, and answers callers there", async () => {
      const { origin, server } = await startProxy(mount, rewrites)
      const pages = pagesOf(await sharedBrowser(), origin)
      const page = await pages.newPage()
      const shown = () => page.url().slice(origin.length)

      await page.goto(`${mount}/runs?status=error`)
      await page.getByRole("link", { name: "Sign in with" }).click()
      await page.getByRole("link", { name: "Continue as Ada Lovelace" }).click()
      await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor()
      expect(shown()).toBe(`${mount}/runs?status=error`)
      const images = () => page.evaluate("[...document.images].map((image) => image.naturalWidth > 0)")
      await eventually(images).toEqual([true])
      await page.getByRole("status").filter({ hasText: "Live" }).waitFor()
      await page.getByRole("link", { name: "Webhooks", exact: true }).click()
      await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor()
      expect(shown()).toBe(`${mount}/webhooks`)
      await page.reload()
      await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor()
      await page.goto(`${mount}/`)
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()

      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByRole("button", { name: "Yes, sign out" }).click()
      await page.getByRole("link", { name: "Sign in with" }).waitFor()
      expect(shown()).toBe(`${mount}/sign-in`)
      await page.goto(`${mount}/sign-in?to=${encodeURIComponent("/webhooks/new")}`)
      await page.getByLabel("API key or admin key").fill(adminKey)
      await page.getByRole("button", { name: "Sign in", exact: true }).click()
      await page.getByRole("heading", { level: 1, name: "New webhook" }).waitFor()
      expect(shown()).toBe(`${mount}/webhooks/new`)
      expect(errorsOf(page).filter((text) => !text.includes(provider.issuer))).toEqual([])
      expect(foreignRequestsOf(page).filter((url) => !url.startsWith(provider.issuer))).toEqual([])

      // Past the proxy.
      const direct = pagesOf(await sharedBrowser(), server.origin)
      const other = await direct.newPage()
      await other.goto("/")
      await other.getByLabel("API key or admin key").waitFor()
      expect(new URL(other.url()).pathname).toBe(`${mount}/`)
      await Promise.all([pages.close(), direct.close()])

      const call = async (method: string, url: string, body?: object) => {
        const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" }
        return fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      }
      await Effect.runPromise(Scope.provide(server.team("ops"), scope))
      const draft = { name: "n", team: "ops", prompt_template: "{{text}}" }
      const { trigger_url, webhook } = (await (
        await call("POST", `${origin}${mount}/api/webhooks`, draft)
      ).json()) as any
      expect(trigger_url).toMatch(new RegExp(`^${origin}${mount}/webhook/trigger/whk_`))
      for (const started of [
        await call("POST", trigger_url, hello),
        await call("POST", `${origin}${mount}/api/webhooks/${webhook.id}/runs`, hello)
      ]) {
        expect(started.status).toBe(202)
        const location = started.headers.get("location")!
        expect(location.startsWith(`${mount}/`)).toBe(true)
        expect((await call("GET", origin + location)).status).toBe(200)
      }
      expect((await fetch(`${origin}${mount}/health/ready`)).status).toBe(200)
    })
  })
}
