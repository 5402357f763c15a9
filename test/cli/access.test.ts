import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "../support/It.ts"
import { ADMIN_API_KEY, sharedServer } from "./SharedServer.ts"

const { address, json, run } = sharedServer()

describe("the command line", () => {
  it.live("lists and ends sessions of the web UI", function* () {
    const signIn = Effect.promise(() =>
      fetch(`${address()}/api/session`, {
        method: "POST",
        headers: { "content-type": "application/json", "user-agent": "A browser/1.0" },
        body: JSON.stringify({ key: ADMIN_API_KEY })
      })
    )
    expect((yield* run("session", "list")).stdout).toBe("Nobody is signed in.\n")
    yield* Effect.replicateEffect(signIn, 2)
    const [one, two] = (yield* json("session", "list")).data
    expect(one).toMatchObject({ user_agent: "A browser/1.0", client_address: "127.0.0.1", is_current: false })
    const table = yield* run("session", "list")
    expect(table.stdout).toMatch(/^CLIENT +SESSION +SIGNED IN +LAST USED +FROM\n/)
    expect((yield* run("session", "end", one.id.slice(-8))).code).toBe(0)
    expect((yield* json("session", "list")).data).toEqual([two])
    expect((yield* run("session", "end", one.id)).stderr).toContain("No session has the id")
    expect((yield* run("session", "end-all")).code).toBe(2)
    expect((yield* run("session", "end-all", "--yes")).code).toBe(0)
    expect((yield* json("session", "list")).data).toEqual([])
  })

  it.live("creates, lists and revokes API keys, and works with one", function* () {
    yield* run("team", "create", "keyed")
    expect((yield* run("key", "list")).stdout).toContain("No API keys yet")
    const words = ["key", "create", "--name", "ci-deploy", "--role", "viewer"]
    expect((yield* run("key", "create", "--name", "x", "--role", "root")).stderr).toContain(
      "must be one of caller, viewer,"
    )
    expect((yield* run(...words, "--teams", "none")).code).toBe(1)
    const key = (yield* run(...words, "--teams", "keyed", "--expires", "2999-12-31")).stdout.trim()
    expect(key).toMatch(/^whp_/)
    const table = yield* run("key", "list")
    expect(table.stdout).toMatch(
      /^NAME +KEY +ROLE +LIMITS +EXPIRES +LAST USED +ENDS IN\nci-deploy +\S+ +viewer +keyed +2999-/
    )
    const own = yield* run("key", "show", "--admin-key", key)
    expect(own.stdout).toMatch(/^Key +ci-deploy\nRole +viewer: reads.*\nTeams +keyed\nExpires +2999-12-31/)
    expect((yield* json("team", "list", "--admin-key", key)).data).toMatchObject([{ team: "keyed" }])
    const refused = yield* run("team", "pause", "keyed", "--admin-key", key)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("This needs the role `operator`.")])
    const [{ id }] = (yield* json("key", "list")).data
    expect((yield* run("key", "revoke", id)).code).toBe(2)
    const wrong = yield* run("key", "revoke", "ffffffff", "--yes")
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('No valid API key has the id "ffffffff"')])
    expect((yield* run("key", "revoke", id.slice(-8), "--yes")).code).toBe(0)
    expect((yield* run("key", "revoke", id, "--yes")).stderr).toContain("No valid API key has the id")
    expect((yield* run("key", "show", "--admin-key", key)).stderr).toContain("missing or wrong")
    expect((yield* run("key", "list")).stdout).toContain("revoked 2")
    expect((yield* run("team", "delete", "keyed", "--yes")).code).toBe(0)
  })

  it.live("limits a key to webhooks by their names, which then follows and cancels its own runs", function* () {
    yield* run("team", "create", "called")
    for (const name of ["Review", "Deploy"]) {
      const draft = ["--name", name, "--team", "called", "--template", "x", "--when-team-stopped", "queue"]
      expect((yield* run("webhook", "create", ...draft)).code).toBe(0)
    }
    const words = ["key", "create", "--name", "assistant", "--role", "caller"]
    expect((yield* run(...words, "--webhook", "none")).stderr).toContain('No webhook has the id or name "none"')
    const wrongRole = yield* run("key", "create", "--name", "x", "--role", "viewer", "--webhook", "Review")
    expect([wrongRole.code, wrongRole.stderr]).toEqual([
      1,
      expect.stringContaining("--webhook  must be absent unless the role is `caller`")
    ])
    const created = yield* json(...words, "--webhook", "Review", "--webhook", "Deploy")
    const { data: webhooks } = yield* json("webhook", "list")
    const ids = ["Review", "Deploy"].map((name) => webhooks.find((each: any) => each.name === name).id)
    expect(created.api_key.webhooks).toEqual(ids)
    expect((yield* run("key", "list")).stdout).toMatch(/\nassistant +\S+ +caller +2 webhooks +never/)
    const own = yield* run("key", "show", "--admin-key", created.key)
    expect(own.stdout).toContain(`\nWebhooks ${ids.join(", ")}\n`)

    const started = yield* Effect.promise(() =>
      fetch(`${address()}/api/webhooks/${ids[0]}/runs`, {
        method: "POST",
        headers: { authorization: `Bearer ${created.key}`, "content-type": "application/json" },
        body: JSON.stringify({ variables: {} })
      }).then((response) => response.json() as Promise<{ readonly run_id: string }>)
    )
    const withKey = ["--admin-key", created.key]
    expect((yield* json("run", "list", ...withKey)).data).toMatchObject([{ run_id: started.run_id }])
    expect((yield* run("run", "cancel", started.run_id, ...withKey)).code).toBe(0)
    expect((yield* json("run", "show", started.run_id, ...withKey)).status).toBe("cancelled")
    for (const name of ["Review", "Deploy"]) yield* run("webhook", "delete", name, "--yes")
    expect((yield* run("team", "delete", "called", "--yes")).code).toBe(0)
  })

  it.live("exports audit events, oldest first", function* () {
    const file = join(mkdtempSync(join(tmpdir(), "audit-")), "audit")
    for (const name of ["one", "two"]) yield* run("team", "create", `audited-${name}`)
    expect((yield* run("audit", "export", "--action", "team.created", "-o", file)).code).toBe(0)
    const events = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(events.slice(-2).map(({ object }) => object)).toEqual(["audited-one", "audited-two"])
    const filter = ["--action", "team.created", "--object", "audited-one"]
    expect((yield* run("audit", "export", "--format", "csv", ...filter, "-o", file)).code).toBe(0)
    expect(readFileSync(file, "utf8").split("\r\n")).toHaveLength(3)
    for (const name of ["one", "two"]) yield* run("team", "delete", `audited-${name}`, "--yes")
    rmSync(dirname(file), { recursive: true })
  })

  it.live("lists who did what", function* () {
    yield* run("team", "create", "audited")
    const { data, next_cursor } = yield* json("audit", "list", "--limit", "1")
    expect(data[0]).toMatchObject({ action: "team.created", actor: "admin_key", object: "audited" })
    expect(next_cursor).toBe(data[0].id)
    const page = yield* run("audit", "list", "--object", "audited")
    expect(page.stdout).toMatch(
      /^TIME +ACTION +ACTOR +OBJECT +FROM +FIELDS +SESSION\n.* team\.created +admin_key +audited +\d/
    )
    expect((yield* json("audit", "list", "--action", "team.deleted", "--object", "audited")).data).toEqual([])
    expect((yield* run("audit", "list", "--action", "none")).code).toBe(2)
    expect((yield* run("team", "delete", "audited", "--yes")).code).toBe(0)
  })
})
