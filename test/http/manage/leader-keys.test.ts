import { describe, expect, it } from "../../support/It.ts"
import { pointers, refusal, sorted } from "../Client.ts"
import { start, unusedId } from "../Server.ts"

const at = "/api/teams/ops/leader-keys"

describe("leader keys", () => {
  it.live("are shown once, listed without the secret, and revoked", function* () {
    const { admin, team } = yield* start()
    yield* team("ops", "no leader")
    expect((yield* admin("GET", at)).json.data).toStrictEqual([])
    const created = yield* admin("POST", at, { body: { name: " laptop " } })
    expect(created.status).toBe(201)
    const { key, leader_key } = created.json
    expect(key).toMatch(/^whl_[0-9A-Za-z]{49}$/)
    expect(sorted(Object.keys(leader_key))).toStrictEqual(sorted(["id", "team", "name", "hint", "created_at"]))
    expect(leader_key).toMatchObject({ team: "ops", name: "laptop", hint: `…${key.slice(-4)}` })
    const other = (yield* admin("POST", at, { body: { name: "build server" } })).json.leader_key
    const list = yield* admin("GET", at)
    expect(list.json).toStrictEqual({ data: [leader_key, other], next_cursor: null })
    expect(list.text).not.toContain(key)
    const revoked = yield* admin("DELETE", `${at}/${leader_key.id}`)
    expect([revoked.status, revoked.text]).toStrictEqual([204, ""])
    expect(refusal(yield* admin("DELETE", `${at}/${leader_key.id}`))).toStrictEqual([404, "not_found"])
    expect((yield* admin("GET", at)).json.data).toStrictEqual([other])
  })

  it.live("are refused for unknown teams and with wrong names, and are of one team", function* () {
    const { admin, team } = yield* start()
    yield* team("ops", "no leader")
    yield* team("other", "no leader")
    const { id } = (yield* admin("POST", at, { body: { name: "laptop" } })).json.leader_key
    for (const name of ["none", "No_Slug", "%00"]) {
      expect(refusal(yield* admin("GET", `/api/teams/${name}/leader-keys`))).toStrictEqual([404, "not_found"])
      const created = yield* admin("POST", `/api/teams/${name}/leader-keys`, { body: { name: "x" } })
      expect(refusal(created)).toStrictEqual([404, "not_found"])
    }
    for (const name of ["", "  ", "x".repeat(101), 1, null]) {
      const answer = yield* admin("POST", at, { body: { name } })
      expect([refusal(answer), pointers(answer)], String(name)).toStrictEqual([[422, "invalid"], ["/name"]])
    }
    const unknown = yield* admin("POST", at, { body: { name: "x", key: "whl_x" } })
    expect([refusal(unknown), pointers(unknown)]).toStrictEqual([[422, "invalid"], ["/key"]])
    for (const path of [`/api/teams/other/leader-keys/${id}`, `${at}/${unusedId}`, `${at}/x`]) {
      expect(refusal(yield* admin("DELETE", path)), path).toStrictEqual([404, "not_found"])
    }
    expect((yield* admin("GET", at)).json.data.map((key: any) => key.id)).toStrictEqual([id])
  })

  it.live("leave events about their team, without the secret", function* () {
    const { admin, team } = yield* start()
    yield* team("ops", "no leader")
    const { key, leader_key } = (yield* admin("POST", at, { body: { name: "laptop" } })).json
    yield* admin("DELETE", `${at}/${leader_key.id}`)
    const { json, text } = yield* admin("GET", "/api/audit?object=ops")
    const shown = { id: leader_key.id, name: "laptop", hint: leader_key.hint }
    expect(json.data.map(({ action, after, before }: any) => [action, before, after])).toStrictEqual([
      ["team.leader_key_revoked", shown, undefined],
      ["team.leader_key_created", undefined, shown],
      ["team.created", undefined, undefined]
    ])
    expect(text).not.toContain(key)
  })
})
