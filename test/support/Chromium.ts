/** The browser that the web UI is tested in. */
import { existsSync } from "node:fs"
import { type Browser as PlaywrightBrowser, chromium as playwright } from "playwright-core"

/** Debian's; the one without windows takes a third less computing for the same pages. */
const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]

/** The one that is installed. */
export const chromium = (): string | undefined => programs.find((program) => existsSync(program))

export type Browser = PlaywrightBrowser

let running: Promise<Browser> | undefined

/**
 * The browser of all files that this worker runs: each start of one takes seconds. A test has a context of its own in it
 * (`newContext`), which shares nothing with others, and the browser ends with the worker.
 */
export const sharedBrowser = async (): Promise<Browser> => {
  if (running !== undefined && (await running).isConnected()) return running
  running = start()
  return running
}

// The last such list counts, so this one repeats what Playwright turns off, as far as a page notices, beside the popups of the
// address bar, which nobody sees here: they are pages, loaded for each window, that cost as much as ours.
const disabledFeatures = [
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AimEnabled"],
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable"],
  ...["HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding"],
  ...["PreconnectToSearch", "ThirdPartyStoragePartitioning"]
]

const start = (): Promise<Browser> =>
  playwright.launch({
    executablePath: chromium()!,
    // A worker ends at a signal as one without a browser does.
    handleSIGHUP: false,
    handleSIGINT: false,
    handleSIGTERM: false,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      // No requests of the browser's own.
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // No process for the graphics, which are computed anyway.
      "--in-process-gpu",
      `--disable-features=${disabledFeatures.join()}`
    ]
  })
