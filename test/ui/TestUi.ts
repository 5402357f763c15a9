/** A server for the tests of one file, and pages of it. */

import { Effect, Exit, Scope } from "effect"
import type { BrowserContext, Locator, Page } from "playwright-core"
import { expect } from "vitest"
import * as Json from "../../src/domain/Json.ts"
import { type Browser, sharedBrowser } from "../support/Chromium.ts"
import { type Server, serve } from "../support/InProcess.ts"

export const adminKey = "an-admin-key-for-the-tests-of-the-ui"

// Browser, server and database share two processors with other tests.
/** How long a page may take to show something. */
const timeout = 60_000

/**
 * A page that is live polls every 30 s for missed changes. Not in tests: what they see, the page was told. Messages and
 * "Copied" go after 5 and 2.5 s. In tests they stay for longer than a busy machine pauses.
 */
const timersOfTests = `
const { setInterval: repeat, setTimeout: delay } = window
window.setInterval = (act, interval, ...more) => (interval < 30_000 ? repeat(act, interval, ...more) : 0)
window.setTimeout = (act, time, ...more) => delay(act, time === 5_000 || time === 2_500 ? 30_000 : time, ...more)`

/** `expect.poll`, with the timeout of everything that waits for a page. */
export const eventually = <A>(read: () => A | Promise<A>) => expect.poll(read, { timeout })

export interface PageOptions {
  readonly width?: number
  readonly dark?: boolean
  /** The browser's language. */
  readonly locale?: string
  /** The browser's, as in `America/New_York`. */
  readonly timezone?: string
  readonly signedIn?: boolean
}

export interface TestUi {
  readonly server: Server
  /** Runs an effect whose resources are released by `close`. */
  readonly run: <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Promise<A>
  /** A page that has opened nothing yet, without a session unless it is `signedIn`. */
  readonly newPage: (options?: PageOptions) => Promise<Page>
  /** The page of all webhooks, as it is after signing in: for what begins there, as the second load of a page takes time. */
  readonly newSignedInPage: () => Promise<Page>
  /** Calls the management API with the admin key; an absolute URL addresses another server. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<any>
  readonly close: () => Promise<void>
}

const errors = new WeakMap<BrowserContext, Array<string>>()
const foreignRequests = new WeakMap<BrowserContext, Array<string>>()

/** Script errors and violations of the content security policy since the page was opened. */
export const errorsOf = (page: Page): ReadonlyArray<string> => errors.get(page.context())!
/** Requests to anything but the server. */
export const foreignRequestsOf = (page: Page): ReadonlyArray<string> => foreignRequests.get(page.context())!

/** Opens pages of the server at the URL. `close` closes those that are still open. */
export const pagesOf = (browser: Browser, url: string) => {
  const contexts = new Set<BrowserContext>()

  const newPage = async ({
    width = 1440,
    dark = false,
    locale = "en-GB",
    signedIn = false,
    timezone
  }: PageOptions = {}) => {
    const context = await browser.newContext({
      baseURL: url,
      viewport: { width, height: width < 600 ? 844 : 900 },
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
      locale,
      ...(timezone !== undefined && { timezoneId: timezone })
    })
    contexts.add(context)
    context.on("close", () => contexts.delete(context))
    context.setDefaultTimeout(timeout)
    await context.addInitScript(`{${timersOfTests}}`)
    const [errorTexts, foreignUrls]: [Array<string>, Array<string>] = [[], []]
    errors.set(context, errorTexts)
    foreignRequests.set(context, foreignUrls)
    context.on("request", (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith("blob:")) foreignUrls.push(request.url())
    })
    context.on("weberror", (error) => errorTexts.push(String(error.error())))
    context.on("console", (message) => {
      // The browser also reports every refused request, which is no fault of the page.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) errorTexts.push(message.text())
    })
    if (signedIn) {
      const answer = await context.request.post("/api/session", { data: { key: adminKey } })
      expect(answer.status()).toBe(200)
    }
    return context.newPage()
  }
  return { newPage, close: () => Promise.all([...contexts].map((context) => context.close())) }
}

/** Starts a server with the embedded bus, or with the one in `settings`. */
export const startTestUi = async (
  settings: Effect.Effect<Record<string, string>, never, Scope.Scope> = Effect.succeed({})
): Promise<TestUi> => {
  const scope = Effect.runSync(Scope.make())
  const run = <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope))
  const variables = await run(settings)
  const [server, browser] = await Promise.all([run(serve({ ADMIN_API_KEY: adminKey, ...variables })), sharedBrowser()])
  const { newPage, close } = pagesOf(browser, server.url)

  return {
    server,
    run,
    newPage,
    newSignedInPage: async () => {
      const page = await newPage({ signedIn: true })
      await page.goto("/webhooks")
      await page.getByRole("link", { name: "Webhooks" }).first().waitFor()
      return page
    },
    call: async (method, path, body) => {
      const response = await fetch(new URL(path, server.url), {
        method,
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: Json.stringify(body) })
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return text === "" ? undefined : JSON.parse(text)
    },
    close: async () => {
      await close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

/** With the form that a page shows to whoever is not signed in. */
export const signIn = async (page: Page): Promise<void> => {
  await page.getByLabel("API key or admin key").fill(adminKey)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("link", { name: "Webhooks" }).first().waitFor()
}

/** Chooses an option of a field that finds options as one types. */
export const chooseFound = async (where: Page | Locator, label: string, option: string): Promise<void> => {
  await where.getByRole("combobox", { name: label, exact: true }).fill(option)
  await where
    .getByRole("listbox", { name: label, exact: true })
    .getByRole("option", { name: option, exact: true })
    .click()
}

/** A field of the webhook form's settings, once the group that it is in is open. */
export const settingField = async (page: Page, label: string | RegExp): Promise<Locator> => {
  const field = page.getByLabel(label, typeof label === "string" ? { exact: true } : {})
  await field.waitFor({ state: "attached" })
  const group = page.locator("details").filter({ has: field })
  if ((await group.getAttribute("open")) === null) await group.locator("summary").click()
  return field
}

/** A webhook for a code review by the demo team; most tests need one, whatever it does. */
export const reviewDraft = { name: "Review", team: "demo", prompt_template: "Review {{title}} by {{author.name}}" }

export const createReview = async (ui: TestUi): Promise<{ readonly id: string; readonly name: string }> =>
  (await ui.call("POST", "/api/webhooks", reviewDraft)).webhook

/** A run of it that has ended; its answer is the prompt, with some Markdown in it. */
export const runReview = async (ui: TestUi, id: string): Promise<string> => {
  const variables = {
    title: "# A change\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```",
    author: { name: "Ada" }
  }
  return (await ui.call("POST", `/api/webhooks/${id}/runs?wait=true`, { variables })).run_id
}
