/** The browser that the web UI is tested in. */
import { type Browser as PlaywrightBrowser, chromium as playwright } from "playwright-core"

/** Debian's. */
export const chromium = "/usr/bin/chromium"

export type Browser = PlaywrightBrowser

export const startBrowser = (): Promise<Browser> =>
  playwright.launch({
    executablePath: chromium,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      // No requests of the browser's own.
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ]
  })
