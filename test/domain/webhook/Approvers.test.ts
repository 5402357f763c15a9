/** Whose runs need approval, and who may approve them. */
import { describe, expect, it } from "@effect/vitest"
import { roleNames } from "../../../src/domain/access/Roles.ts"
import { type Actor, approverPattern, needsApproval, refusalOf } from "../../../src/domain/webhook/Approvers.ts"

const key = (name: string, role: Actor["role"] = "operator"): Actor => ({
  ...{ id: `id of ${name}`, name: `key ${name}`, entries: [`key:${name}`] },
  ...(role && { role })
})
const member = (id: string, workspace: string, isOwn: boolean): Actor => ({
  ...{ id: `slack:${id}`, name: id, entries: [...(isOwn ? ["slack"] : []), `slack:${workspace}/${id}`] }
})
const [ann, guest] = [member("UANN", "T1", true), member("UANN", "T2", false)]

const may = (approvers: ReadonlyArray<string> | undefined, actor: Actor, askers: ReadonlyArray<string> = []) =>
  refusalOf({ ...(approvers && { approvers }) }, actor, { asked_by: askers.join("\n") }) === undefined

describe("who may approve a run", () => {
  it("are operators and members of the Slack app's workspace by default, but no guests of another one", () => {
    expect(roleNames.filter((role) => may(undefined, key("k", role)))).toEqual(["operator", "editor", "admin"])
    expect([may(undefined, ann), may(undefined, guest), may(undefined, { ...ann, entries: [] })]).toEqual([
      true,
      false,
      false
    ])
  })

  it("are those whom the webhook names, and nobody else", () => {
    expect(roleNames.filter((role) => may(["role:admin"], key("k", role)))).toEqual(["admin"])
    expect(may(["role:admin"], ann)).toBe(false)
    expect(["release", "released", "k"].filter((name) => may(["key:release"], key(name)))).toEqual(["release"])
    expect(may(["key:release"], key("k", "admin"))).toBe(false)
    expect([may(["slack:T2/UANN"], ann), may(["slack:T2/UANN"], guest)]).toEqual([false, true])
    expect(may(["slack"], guest)).toBe(false)
    expect(may(["role:constructor"], key("k", "admin"))).toBe(false)
  })

  it("is never who asked for it, unless the webhook says so", () => {
    for (const approvers of [undefined, ["slack"], ["slack:T1/UANN"]]) {
      expect(may(approvers, ann, ["slack:UBOB"])).toBe(true)
      expect(may(approvers, ann, ["slack:UBOB", "slack:UANN"])).toBe(false)
      expect(may(["self", ...(approvers ?? [])], ann, ["slack:UANN"])).toBe(true)
    }
    expect(may(["self"], guest, ["slack:UANN"])).toBe(false)
  })
})

describe("what needs approval", () => {
  const required = { approval: "required" }

  it("is all that is not an act of an operator who may approve it", () => {
    expect(needsApproval({}, undefined)).toBe(false)
    expect(needsApproval(required, undefined)).toBe(true)
    expect(roleNames.filter((role) => !needsApproval(required, key("k", role)))).toEqual([
      "operator",
      "editor",
      "admin"
    ])
    expect(needsApproval({ ...required, approvers: ["key:release"] }, key("k", "admin"))).toBe(true)
    expect(needsApproval({ ...required, approvers: ["key:release"] }, key("release"))).toBe(false)
    expect(needsApproval({ ...required, approvers: ["key:release"] }, key("release", "caller"))).toBe(true)
    expect(needsApproval({ ...required, approvers: ["slack:T1/UANN", "self"] }, ann)).toBe(true)
  })

  it("is written so that only known forms are saved", () => {
    const pattern = new RegExp(approverPattern)
    const good = ["self", "slack", "slack:T0123/U0456", "role:operator", "key:x", "key:CI of Ann", "person:a|1@b"]
    const bad = [
      "",
      "ann",
      "slack:U0456",
      "slack:T1/",
      "slack:t1/u1",
      "role:boss",
      "key:",
      "key: x",
      "key:a,b",
      "role:"
    ]
    expect(good.filter((entry) => !pattern.test(entry))).toEqual([])
    expect(bad.filter((entry) => pattern.test(entry))).toEqual([])
  })
})
