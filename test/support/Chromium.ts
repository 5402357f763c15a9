/** The browser for tests of the web UI. */
import { existsSync } from "node:fs"
import { type Browser as PlaywrightBrowser, chromium as playwright } from "playwright-core"

/** Debian's. The one without windows takes a third less CPU time for the same pages. */
const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]

/** The installed one. */
export const chromium = (): string | undefined => programs.find((program) => existsSync(program))

export type Browser = PlaywrightBrowser

let running: Promise<Browser> | undefined

/**
 * The browser of all files of this worker, since starting one takes seconds. A test has its own context in it
 * (`newContext`), which shares nothing with others. The browser ends with the worker.
 */
export const sharedBrowser = async (): Promise<Browser> => {
  if (running !== undefined && (await running).isConnected()) return running
  running = start()
  // The next file tries again.
  running.catch(() => {
    running = undefined
  })
  return running
}

// Only the last such list counts, so this repeats the features that Playwright turns off, as far as a page notices, and
// adds the address bar's popups. These are invisible here, but are pages that each window loads, and that cost as much
// as ours.
const disabledFeatures = [
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AimEnabled"],
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable"],
  ...["HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding"],
  ...["PreconnectToSearch", "ThirdPartyStoragePartitioning"]
]

const start = (): Promise<Browser> =>
  playwright.launch({
    executablePath: chromium()!,
    // A worker ends at a signal, like one without a browser.
    handleSIGHUP: false,
    handleSIGINT: false,
    handleSIGTERM: false,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      // No requests by the browser itself.
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // No process for graphics, which are computed in any case.
      "--in-process-gpu",
      `--disable-features=${disabledFeatures.join()}`
    ]
  })
