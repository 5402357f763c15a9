import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { failing, hello, start, unusedId } from "../Server.ts"

const retries = { max_retries: 1, backoff_seconds: 60 }

const ended = (server: Effect.Success<ReturnType<typeof start>>, id: string) =>
  repeatUntil(server.admin("GET", `/api/runs/${id}`), ({ json }) => json.finished_at !== undefined)

describe("POST /api/runs/:run_id/replay", () => {
  it.live("repeats a run once for each key, and links both", function* () {
    const { admin, http, team, webhook } = yield* start()
    const hook = yield* webhook(yield* team("ops"))
    const { json: first } = yield* http("POST", `${hook.path}?wait=true`, { body: hello })
    const replay = (body: object, key?: string) =>
      admin("POST", `/api/runs/${first.run_id}/replay`, {
        body,
        ...(key !== undefined && { headers: { "idempotency-key": key } })
      })
    const clicks = yield* Effect.all([replay({}, "click"), replay({}, "click")], { concurrency: 2 })
    expect(clicks.map(({ status }) => status)).toEqual([202, 202])
    expect(clicks[0]!.json).toEqual({ status: "accepted", run_id: clicks[1]!.json.run_id })
    const other = yield* replay({ variables: { text: "other" } })
    expect((yield* admin("GET", `/api/runs/${other.json.run_id}`)).json).toMatchObject({
      replay_of: first.run_id,
      variables: { text: "other" },
      mode: "async"
    })
    const list = yield* admin("GET", `/api/runs/${first.run_id}/replays`)
    expect(list.json.data.map((run: any) => run.run_id)).toEqual([other.json.run_id, clicks[0]!.json.run_id])
    expect((yield* replay({ prompt: "same" }, "click")).json.code).toBe("idempotency_key_reused")
    const { json: audit } = yield* admin("GET", `/api/audit?object=${first.run_id}&action=run.replayed`)
    expect(audit.data[0]).toMatchObject({ actor: "admin_key", after: { run_id: other.json.run_id } })
  })

  it.live("needs no body, and says where the new run is, as all requests that start one", function* () {
    const { admin, http, team, webhook } = yield* start()
    const hook = yield* webhook(yield* team("ops"))
    const { json: first } = yield* http("POST", `${hook.path}?wait=true`, { body: hello })
    const started = [
      yield* admin("POST", `/api/runs/${first.run_id}/replay`),
      yield* admin("POST", `/api/runs/${first.run_id}/replay?wait=true`),
      yield* admin("POST", `/api/webhooks/${hook.id}/runs`, { body: hello }),
      yield* admin("POST", "/api/teams/ops/messages", { body: { message: "hi" } })
    ]
    for (const { headers, json } of started) {
      const location = headers.get("location")!
      expect(location).toBe(`/api/runs/${json.run_id ?? json.message_id}`)
      expect((yield* admin("GET", location)).status).toBe(200)
    }
    expect((yield* admin("POST", `/api/webhooks/${hook.id}/duplicate`)).status).toBe(201)
    expect((yield* admin("POST", "/api/teams")).json.code).toBe("invalid_body")
  })

  it.live("with wait, answers as a trigger does that waits", function* () {
    const { admin, http, team, webhook } = yield* start()
    const hook = yield* webhook(yield* team("ops"))
    const { json: first } = yield* http("POST", hook.path, { body: hello })
    const replay = (wait: string, headers = {}, run_id = first.run_id) =>
      admin("POST", `/api/runs/${run_id}/replay?wait=${wait}`, { body: {}, headers })
    const clicks = yield* Effect.all(
      [replay("true", { "idempotency-key": "click" }), replay("true", { "idempotency-key": "click" })],
      { concurrency: 2 }
    )
    expect(clicks.map(({ status }) => status)).toEqual([200, 200])
    const { run_id } = clicks[0]!.json
    expect(clicks[1]!.json).toEqual(clicks[0]!.json)
    const { json: run } = yield* admin("GET", `/api/runs/${run_id}`)
    expect(run).toMatchObject({ replay_of: first.run_id, mode: "wait", status: "success" })
    expect(clicks[0]!.json).toEqual({ status: "success", response: run.conversation.response, run_id })
    expect((yield* replay("false", { "idempotency-key": "click" })).json.code).toBe("idempotency_key_reused")
    expect((yield* replay("yes")).json.code).toBe("invalid_wait")
    expect((yield* replay("true", {}, unusedId)).status).toBe(404)

    yield* team("broken", failing)
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { team: "broken", retries } })
    const failed = yield* replay("true")
    expect([failed.status, failed.json.status, failed.json.error.code]).toEqual([502, "error", "agent_error"])
    expect((yield* admin("GET", `/api/runs/${failed.json.run_id}`)).json).not.toHaveProperty("retry_at")
    const { json: audit } = yield* admin("GET", `/api/audit?object=${first.run_id}&action=run.replayed`)
    expect(audit.data[0]).toMatchObject({ after: { run_id: failed.json.run_id } })
  })

  it.live("says why it does not", function* () {
    const { admin, http, team, webhook } = yield* start()
    const hook = yield* webhook(yield* team("ops"))
    const { json } = yield* http("POST", `${hook.path}?wait=true`, { body: hello })
    const code = (body: object, id = json.run_id) =>
      Effect.map(admin("POST", `/api/runs/${id}/replay`, { body }), ({ json, status }) => [status, json.code])
    expect(yield* code({ variables: {} })).toEqual([422, "missing_variables"])
    expect(yield* code({ prompt: "same", variables: {} })).toEqual([422, "invalid"])
    expect(yield* code({ wait: true })).toEqual([422, "invalid"])
    expect(yield* code({}, unusedId)).toEqual([404, "not_found"])
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { enabled: false } })
    expect(yield* code({})).toEqual([409, "webhook_disabled"])
    expect(yield* code({ message: "hello" })).toEqual([422, "invalid"])
  })

  it.live("sends a chat message again, with the same or another text, once for each key", function* () {
    const server = yield* start()
    const { admin, team } = server
    yield* team("ops")
    const { json: first } = yield* admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "hello" } })
    const replay = (body: object, query = "", headers = {}) =>
      admin("POST", `/api/runs/${first.message_id}/replay${query}`, { body, headers })
    const click = { "idempotency-key": "click" }
    const clicks = yield* Effect.all([replay({}, "", click), replay({}, "", click)], { concurrency: 2 })
    const { run_id } = clicks[0]!.json
    expect(clicks.map(({ json, status }) => [status, json])).toEqual(
      clicks.map(() => [202, { status: "accepted", run_id }])
    )
    expect((yield* ended(server, run_id)).json).toMatchObject({
      ...{ source: "chat", team: "ops", replay_of: first.message_id },
      conversation: { prompt: "hello", response: "echo: hello" }
    })
    expect((yield* replay({ message: "bye" }, "", click)).json.code).toBe("idempotency_key_reused")
    const other = yield* replay({ message: "bye" }, "?wait=true")
    expect([other.status, other.json.response]).toEqual([200, "echo: bye"])
    const list = yield* admin("GET", `/api/runs/${first.message_id}/replays`)
    expect(list.json.data.map((run: any) => run.run_id)).toEqual([other.json.run_id, run_id])

    for (const [body, pointer] of [
      [{ variables: { text: "x" } }, "/variables"],
      [{ prompt: "same", message: "x" }, "/message"],
      [{ message: "" }, "/message"]
    ] as const) {
      const refused = yield* replay(body)
      expect([refused.status, refused.json.errors[0].pointer]).toEqual([422, pointer])
    }
    expect((yield* replay({ message: "x".repeat(300_000) })).json.code).toBe("prompt_too_large")

    yield* team("broken", failing)
    const failed = yield* admin("POST", "/api/teams/broken/messages?wait=true", { body: { message: "hello" } })
    const all = () => admin("POST", "/api/runs/replay", { body: { team: "broken" }, headers: click })
    const { json: once } = yield* all()
    expect(once).toMatchObject({ matched: 1, replayed: [{ replay_of: failed.json.run_id }], refused: [] })
    yield* ended(server, once.replayed[0].run_id)
    expect((yield* all()).json).toEqual(once)
  })
})

describe("POST /api/runs/replay", () => {
  it.live(
    "repeats the failed runs of a webhook or a team, counts them first, and each once for each key",
    function* () {
      const server = yield* start()
      const { admin, http, team, webhook } = server
      yield* team("ops", failing)
      const hooks = [yield* webhook("ops"), yield* webhook("ops")]
      const runs = yield* Effect.forEach([0, 0, 1], (n) => http("POST", hooks[n]!.path, { body: hello }))
      const ids = runs.map(({ json }) => json.run_id as string)
      for (const id of ids) yield* ended(server, id)
      const replay = (body: object, key?: string) =>
        Effect.map(
          admin("POST", "/api/runs/replay", {
            body,
            ...(key !== undefined && { headers: { "idempotency-key": key } })
          }),
          ({ json }) => json
        )
      const webhook_id = hooks[0]!.id
      expect(yield* replay({ webhook_id, dry_run: true })).toEqual({
        matched: 2,
        more: false,
        replayed: [],
        refused: []
      })
      expect((yield* replay({ team: "ops", dry_run: true })).matched).toBe(3)
      expect((yield* replay({ webhook_id, status: ["success"], dry_run: true })).matched).toBe(0)

      const once = yield* replay({ webhook_id }, "click")
      expect(once).toMatchObject({ matched: 2, refused: [] })
      expect(once.replayed.map((run: any) => run.replay_of)).toEqual(ids.slice(0, 2))
      for (const { run_id } of once.replayed) yield* ended(server, run_id)
      expect(yield* replay({ webhook_id }, "click")).toEqual(once)

      const again = once.replayed.map((run: any) => run.run_id)
      expect((yield* replay({ team: "ops", dry_run: true })).matched).toBe(3)
      const chosen = yield* replay({ run_ids: [again[1], unusedId, ids[0]] })
      expect(chosen).toMatchObject({ matched: 3, refused: [{ replay_of: unusedId, code: "not_found" }] })
      expect(chosen.replayed.map((run: any) => run.replay_of)).toEqual([again[1], ids[0]])
      const { json: audit } = yield* admin("GET", "/api/audit?action=runs.replayed")
      expect(audit.data.map(({ object, after }: any) => [object, after])).toEqual([
        [undefined, { replayed: 2, refused: 1 }],
        [webhook_id, { replayed: 2, refused: 0 }],
        [webhook_id, { replayed: 2, refused: 0 }]
      ])
    }
  )

  it.live("repeats each matching run once when several requests come at the same time, with any keys", function* () {
    const server = yield* start()
    const { admin, http, team, webhook } = server
    yield* team("ops", failing)
    const { id: webhook_id, path } = yield* webhook("ops")
    const runs = yield* Effect.forEach(new Array(20).fill(0), () => http("POST", path, { body: hello }))
    for (const { json } of runs) yield* ended(server, json.run_id)
    const keys = [{}, {}, { "idempotency-key": "one" }, { "idempotency-key": "another" }]
    const answers = yield* Effect.forEach(
      keys,
      (headers) => admin("POST", "/api/runs/replay", { body: { webhook_id, prompt: "same" }, headers }),
      { concurrency: "unbounded" }
    )
    const replayed = answers.flatMap(({ json }) => json.replayed.map((run: any) => run.replay_of))
    expect(replayed.toSorted()).toEqual(runs.map(({ json }) => json.run_id).toSorted())
    for (const { json } of answers) {
      expect(json.replayed.length + json.refused.length).toBe(json.matched)
      expect(json.refused.filter(({ code }: any) => code !== "already_replayed")).toEqual([])
    }
  })

  it.live("takes either runs, or a webhook, or a team", function* () {
    const { admin } = yield* start()
    const answer = (body: object) =>
      Effect.map(admin("POST", "/api/runs/replay", { body }), ({ json, status }) => [status, json.code])
    expect(yield* answer({})).toEqual([422, "invalid"])
    expect(yield* answer({ team: "ops", run_ids: [unusedId] })).toEqual([422, "invalid"])
    expect(yield* answer({ run_ids: [unusedId], status: ["error"] })).toEqual([422, "invalid"])
    expect(yield* answer({ run_ids: [] })).toEqual([422, "invalid"])
    expect(yield* answer({ run_ids: Array.from({ length: 1_001 }, () => unusedId) })).toEqual([422, "invalid"])
    expect(yield* answer({ team: "ops", status: ["queued"] })).toEqual([422, "invalid"])
    expect(yield* answer({ team: "ops" })).toEqual([404, "not_found"])
    expect(yield* answer({ webhook_id: unusedId })).toEqual([404, "not_found"])
  })
})
