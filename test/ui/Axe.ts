import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Result {
  readonly violations: ReadonlyArray<{
    readonly id: string
    readonly help: string
    readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>
  }>
}

/**
 * The violations that axe finds in a page, by every rule it has, best practices included. It is evaluated through the
 * debugger, to which the page's content security policy does not apply, and once for each document, as it is long.
 */
export const axe = async (page: Page, only?: "colours"): Promise<ReadonlyArray<string>> => {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(`${source}; 0`)
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"]${only ? ', runOnly: ["color-contrast", "link-in-text-block"]' : ""} })`
  )) as Result
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html.slice(0, 200)} ${failureSummary}`)
  )
}

/** What axe finds in a narrow and in a wide window, and whether the page scrolls sideways there. The window stays wide. */
export const axeAtBothWidths = async (page: Page): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const width of [320, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    found.push(...(await axe(page)).map((violation) => `${width}: ${violation}`))
    const over = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))
    if (over > 0) found.push(`${over} pixels wider than the window of ${width}`)
  }
  return found
}
