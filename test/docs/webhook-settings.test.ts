import { readdirSync, readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { webhookSettingNames } from "../../src/domain/webhook/WebhookSettings.ts"

const folder = new URL("../../docs/", import.meta.url)

/** Without the decisions, which give reasons and are not for users. */
const pages = readdirSync(folder, { encoding: "utf8", recursive: true })
  .filter((name) => name.endsWith(".md") && !name.includes("decisions/"))
  .map((name) => readFileSync(new URL(name, folder), "utf8"))

it("every setting of a webhook is named by a page", () => {
  const text = pages.join("\n")
  const isNamed = (name: string) => new RegExp(`\`[^\`\\n]*\\b${name}\\b`).test(text)
  expect(webhookSettingNames.filter((name) => !isNamed(name))).toEqual([])
  expect(isNamed("no_such_setting")).toBe(false)
})
