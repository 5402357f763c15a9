import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { refusal, sorted } from "../Client.ts"
import { start, unusedId } from "../Server.ts"

describe("webhooks", () => {
  const draft = { name: "Deploy", team: "ops", prompt_template: "Deploy {{app}} to {{env.name}}" }

  it.live("are created with a token that is shown once and works for the trigger", function* () {
    const { admin, http, team, origin } = yield* start()
    yield* team("ops")
    const created = yield* admin("POST", "/api/webhooks", { body: draft })
    expect(created.status).toBe(201)
    expect(sorted(Object.keys(created.json))).toStrictEqual(sorted(["webhook", "token", "trigger_url"]))
    const { webhook, token, trigger_url } = created.json
    expect(token).toMatch(/^whk_[0-9A-Za-z]{49}$/)
    expect(trigger_url).toBe(`${origin}/webhook/trigger/${token}`)
    expect(sorted(Object.keys(webhook))).toStrictEqual(
      sorted([
        ...["id", "name", "team", "prompt_template", "variables", "enabled"],
        ...["version", "token_hint", "created_at", "updated_at"]
      ])
    )
    expect(webhook).toEqual(expect.objectContaining({ ...draft, variables: ["app", "env.name"], enabled: true }))
    expect(webhook.token_hint).toBe(`…${token.slice(-4)}`)
    const shown = yield* admin("GET", `/api/webhooks/${webhook.id}`)
    const listed = yield* admin("GET", "/api/webhooks")
    expect(shown.json).toStrictEqual(webhook)
    expect(listed.json).toStrictEqual({ data: [webhook], next_cursor: null })
    expect(shown.text + listed.text).not.toContain(token)
    const body = { variables: { app: "api", env: { name: "live" } } }
    const run = yield* http("POST", `/webhook/trigger/${token}?wait=true`, { body })
    expect(run.json.response).toBe("echo: Deploy api to live")
    expect((yield* admin("GET", `/api/webhooks/${webhook.id}`)).json).toHaveProperty("last_triggered_at")
  })

  it.live("show the public address in the trigger URL when one is set", function* () {
    const { admin, team } = yield* start({ publicUrl: "https://example.com/hooks/" })
    yield* team("ops")
    const { token, trigger_url } = (yield* admin("POST", "/api/webhooks", { body: draft })).json
    expect(trigger_url).toBe(`https://example.com/hooks/webhook/trigger/${token}`)
  })

  it.live("are edited with If-Match only when nobody has changed them since", function* () {
    const { admin, team } = yield* start()
    yield* team("ops")
    const { webhook, trigger_url } = (yield* admin("POST", "/api/webhooks", { body: draft })).json
    const at = `/api/webhooks/${webhook.id}`
    const tagOf = Effect.map(admin("GET", at), ({ headers }) => headers.get("etag")!)
    const edit = (tag: string, name: string) => admin("PATCH", at, { body: { name }, headers: { "if-match": tag } })
    const first = yield* tagOf
    expect(first).toBe(`"${webhook.version}"`)
    const edited = yield* edit(first, "Second")
    expect([edited.status, edited.json.name]).toStrictEqual([200, "Second"])
    expect(edited.headers.get("etag")).toBe(yield* tagOf)
    const late = yield* edit(first, "Lost")
    expect(refusal(late)).toStrictEqual([412, "edit_conflict"])
    for (const tag of [`W/${yield* tagOf}`, '"x"', "", "7"]) {
      expect(refusal(yield* edit(tag, "Lost")), tag).toStrictEqual([412, "edit_conflict"])
    }
    expect((yield* admin("GET", at)).json.name).toBe("Second")
    // A trigger is no change.
    yield* admin("POST", new URL(trigger_url).pathname, { body: { variables: { app: "a", env: { name: "b" } } } })
    expect((yield* edit(`"0", ${yield* tagOf}`, "Third")).status).toBe(200)
    expect((yield* edit("*", "Fourth")).json.name).toBe("Fourth")
    const stale = yield* admin("DELETE", at, { headers: { "if-match": first } })
    expect(refusal(stale)).toStrictEqual([412, "edit_conflict"])
    expect((yield* admin("GET", at)).status).toBe(200)
    const gone = admin("PATCH", `/api/webhooks/${unusedId}`, { body: {}, headers: { "if-match": first } })
    expect(refusal(yield* gone)).toStrictEqual([404, "not_found"])
  })

  it.live("are edited field by field, and the next trigger uses the new values", function* () {
    const { admin, http, team, webhook } = yield* start()
    yield* team("ops")
    yield* team("other")
    const { id, path } = yield* webhook("ops", "{{a}}", { timeout_seconds: 9, max_concurrent: 3 })
    const edit = (body: object) => admin("PATCH", `/api/webhooks/${id}`, { body })
    const changed = yield* edit({ prompt_template: "new {{b}}", team: "other", name: "N" })
    expect(changed.status).toBe(200)
    expect(changed.json).toEqual(
      expect.objectContaining({
        ...{ prompt_template: "new {{b}}", variables: ["b"], team: "other", name: "N" },
        ...{ timeout_seconds: 9, max_concurrent: 3 }
      })
    )
    const run = yield* http("POST", `${path}?wait=true`, { body: { variables: { b: "!" } } })
    expect(run.json.response).toBe("echo: new !")
    const reset = yield* edit({ timeout_seconds: null, max_concurrent: null })
    expect(reset.json).not.toHaveProperty("timeout_seconds")
    expect(reset.json).not.toHaveProperty("max_concurrent")
    expect((yield* edit({ enabled: false })).json).toMatchObject({ enabled: false })
    expect((yield* http("POST", path, { body: { variables: { b: "!" } } })).status).toBe(404)
    expect((yield* edit({ enabled: true })).json).toMatchObject({ enabled: true })
    expect((yield* http("POST", path, { body: { variables: { b: "!" } } })).status).toBe(202)
  })

  it.live("are deleted with their runs", function* () {
    const { admin, http, team, webhook } = yield* start()
    yield* team("ops")
    const { id, path } = yield* webhook("ops")
    const { run_id } = (yield* http("POST", path, { body: { variables: { text: "x" } } })).json
    expect((yield* admin("DELETE", `/api/webhooks/${id}`)).status).toBe(204)
    for (const gone of [`/api/webhooks/${id}`, `/api/webhooks/${id}/runs`, `/api/runs/${run_id}`]) {
      expect(refusal(yield* admin("GET", gone)), gone).toStrictEqual([404, "not_found"])
    }
  })

  it.live("preview a prompt without running anything", function* () {
    const { admin, team, webhook } = yield* start()
    yield* team("ops")
    const { id } = yield* webhook("ops", "{{a}} {{b}}")
    const preview = (body: object) => admin("POST", `/api/webhooks/${id}/preview`, { body })
    expect((yield* preview({ variables: { a: 1, b: "{{a}}" } })).json).toStrictEqual({
      prompt: "1 {{a}}",
      missing: []
    })
    expect((yield* preview({ variables: {} })).json).toStrictEqual({ missing: ["a", "b"] })
    expect(refusal(yield* preview({}))).toStrictEqual([422, "invalid"])
    expect(refusal(yield* preview({ variables: {}, more: 1 }))).toStrictEqual([422, "invalid"])
    expect(refusal(yield* preview({ variables: { a: "\0" } }))).toStrictEqual([400, "invalid_variables"])
    const large = yield* preview({ variables: { a: "x".repeat(300_000), b: "" } })
    expect(refusal(large)).toStrictEqual([422, "prompt_too_large"])
    expect((yield* admin("GET", `/api/webhooks/${id}/runs`)).json.data).toStrictEqual([])
  })
})
