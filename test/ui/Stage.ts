/** A server and a browser for the tests of one file, and the words in which they speak of pages. */
import { Effect, Exit, Scope } from "effect"
import type { BrowserContext, Page } from "playwright-core"
import { expect, vi } from "vitest"
import { newFolder, type Server, serve } from "../cli/Program.ts"
import { type Browser, startBrowser } from "../support/Chromium.ts"

export const adminKey = "an-admin-key-for-the-tests-of-the-ui"

// Browser, server and database share two processors with other tests.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 })

/** How long a page may take to show something; shorter than the 30 s after which it asks of itself what it was not told. */
const patience = 20_000

/** `expect.poll`, as patient as all waiting for pages. */
export const eventually = <A>(look: () => A | Promise<A>) => expect.poll(look, { timeout: patience })

export interface Stage {
  readonly server: Server
  readonly browser: Browser
  /** Runs it for as long as the stage stands. */
  readonly run: <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Promise<A>
  /** A window that nobody has signed in from. */
  readonly window: (options?: WindowOptions) => Promise<Page>
  /** A window that is signed in. */
  readonly signedIn: (options?: WindowOptions) => Promise<Page>
  /** The management API, with the admin key; a whole address names another server. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<any>
  readonly close: () => Promise<void>
}

export interface WindowOptions {
  readonly width?: number
  readonly dark?: boolean
}

/** What a page said that it must never say: errors, and everything the content security policy stopped. */
const complaints = new WeakMap<BrowserContext, Array<string>>()
const strangers = new WeakMap<BrowserContext, Array<string>>()

/** Errors and violations of the policy since the window was opened. */
export const complaintsOf = (page: Page): ReadonlyArray<string> => complaints.get(page.context())!
/** Requests that went elsewhere than to the server. */
export const strangersOf = (page: Page): ReadonlyArray<string> => strangers.get(page.context())!

export const startStage = async (
  settings: Effect.Effect<Record<string, string>, never, Scope.Scope> = Effect.succeed({})
): Promise<Stage> => {
  const scope = Effect.runSync(Scope.make())
  const run = <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Effect.runPromise(Scope.extend(effect, scope))
  const folder = await run(newFolder)
  const variables = await run(settings)
  const [server, browser] = await Promise.all([
    run(serve({ DATA_DIR: folder, ADMIN_API_KEY: adminKey, ...variables })),
    startBrowser()
  ])

  const window = async ({ width = 1440, dark = false }: WindowOptions = {}) => {
    const context = await browser.newContext({
      baseURL: server.url,
      viewport: { width, height: width < 600 ? 844 : 900 },
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
      locale: "en-GB"
    })
    context.setDefaultTimeout(patience)
    const [said, asked]: [Array<string>, Array<string>] = [[], []]
    complaints.set(context, said)
    strangers.set(context, asked)
    context.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:")) asked.push(request.url())
    })
    context.on("weberror", (error) => said.push(String(error.error())))
    context.on("console", (message) => {
      // A refused request is told of as well, which is no fault of the page.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) said.push(message.text())
    })
    return context.newPage()
  }

  return {
    server,
    browser,
    run,
    window,
    signedIn: async (options) => {
      const page = await window(options)
      await page.goto("/")
      await signIn(page)
      return page
    },
    call: async (method, path, body) => {
      const response = await fetch(new URL(path, server.url), {
        method,
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return text === "" ? undefined : JSON.parse(text)
    },
    close: async () => {
      await browser.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

export const signIn = async (page: Page): Promise<void> => {
  await page.getByLabel("Admin key").fill(adminKey)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("link", { name: "Webhooks" }).first().waitFor()
}
