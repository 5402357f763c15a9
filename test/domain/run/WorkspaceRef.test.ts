/** Whether a webhook's `workspace_ref` names one commit. */
import { describe, expect, it } from "@effect/vitest"
import { commitBeside, isCommit, riskOfRef } from "../../../src/domain/run/WorkspaceRef.ts"
import { recipes } from "../../../src/recipes/Recipes.ts"

const sha = "5f0c2a9be1d47f36a1b2c3d4e5f60718293a4b5c"

describe("a webhook's workspace_ref", () => {
  it("is one commit by its full hash alone", () => {
    const refs = [sha, sha.toUpperCase(), "a".repeat(64), sha.slice(1), `${sha}^`, "main", `refs/heads/${sha}`]
    expect(refs.map(isCommit)).toEqual([true, true, true, false, false, false, false])
  })

  it("is the commit that the request has beside the branch", () => {
    const of = (template: string, payload: object) => commitBeside(template, { payload })
    const pull_request = { head: { ref: "main", sha }, base: { ref: "main", sha: "b".repeat(40) } }
    expect(of("{{payload.pull_request.head.ref}}", { pull_request })).toBe(sha)
    expect(of("refs/heads/{{ payload.pull_request.head.ref? }}", { pull_request })).toBe(sha)
    expect(of("{{payload.pull_request.base.ref}}", { pull_request })).toBe("b".repeat(40))
    expect(of("{{payload.ref}}", { ref: "refs/heads/main", after: sha })).toBe(sha)
    expect(of("{{payload.object_attributes.source_branch}}", { object_attributes: { last_commit: { id: sha } } })).toBe(
      sha
    )
    expect(of("{{payload.object_attributes.ref}}", { object_attributes: { sha } })).toBe(sha)
    expect(of("{{payload.workflow_run.head_branch}}", { workflow_run: { head_sha: sha } })).toBe(sha)
    expect(
      of("{{payload.pullrequest.source.branch.name}}", { pullrequest: { source: { commit: { hash: sha } } } })
    ).toBe(sha)
    expect(of("{{payload.pull_request.head.ref}}", { pull_request: { head: { sha: "main" } } })).toBeUndefined()
    expect([of("main", { pull_request }), of("{{payload.number}}", { number: 7 })]).toEqual([undefined, undefined])
    expect(of("{{payload.a}}{{payload.pull_request.head.ref}}", { pull_request })).toBeUndefined()
  })

  it("has a risk if it names a branch that can be a fork's, or with an approval anything but a commit", () => {
    const commits = [
      "{{payload.pull_request.head.sha}}",
      "{{payload.after?}}",
      "{{payload.checkout_sha}}",
      sha,
      "{{commit}}"
    ]
    const branches = ["{{payload.pull_request.head.ref}}", "{{payload.object_attributes.source_branch}}"]
    const others = ["main", "{{payload.ref}}", "refs/pull/{{payload.number}}/head", "{{payload.pull_request.base.ref}}"]
    const risks = (isApproved: boolean) =>
      [...commits, ...branches, ...others].filter((template) => riskOfRef(template, isApproved) !== undefined)
    expect(risks(false)).toEqual(branches)
    expect(risks(true)).toEqual([...branches, ...others])
    expect(riskOfRef(branches[0]!, false)).toContain("`{{payload.pull_request.head.sha}}`")
    const ofRecipes = Object.values(recipes).flatMap(({ settings }) => settings.workspace_ref ?? [])
    expect(ofRecipes.length).toBeGreaterThan(1)
    expect(ofRecipes.filter((template) => riskOfRef(template, true) !== undefined)).toEqual([])
  })
})
