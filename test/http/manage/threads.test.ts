import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { pointers, refusal } from "../Client.ts"
import { hello, silent, start } from "../Server.ts"

describe("threads", () => {
  it.live("are named by a webhook's `thread_key`, and shown with the run and in a preview", function* () {
    const { admin, http, team } = yield* start()
    yield* team("ops")
    const draft = { name: "Review", team: "ops", prompt_template: "Review it", input: "payload" }
    const create = (thread_key: string) => admin("POST", "/api/webhooks", { body: { ...draft, thread_key } })
    const { trigger_url, webhook } = (yield* create("{{payload.repo}}#{{payload.number}}")).json
    expect(webhook.thread_key).toBe("{{payload.repo}}#{{payload.number}}")
    const trigger = (body: unknown) => http("POST", new URL(trigger_url).pathname, { body })
    const threadOf = (body: unknown) =>
      Effect.gen(function* () {
        const { run_id } = (yield* trigger(body)).json
        return (yield* admin("GET", `/api/runs/${run_id}`)).json.thread
      })
    const thread = yield* threadOf({ repo: "shop", number: 7 })
    expect(thread).toEqual({ id: expect.any(String), key: "shop#7" })
    // Although a run stores of a request only what the prompt's template names.
    expect(yield* threadOf({ repo: "shop", number: 7, other: true })).toEqual(thread)
    expect(yield* threadOf({ repo: "shop" })).toBeUndefined()
    expect(yield* threadOf({ repo: "x".repeat(498), number: 1 })).toMatchObject({ key: `${"x".repeat(498)}#1` })
    expect(refusal(yield* trigger({ repo: "x".repeat(499), number: 1 }))).toStrictEqual([422, "thread_key_too_long"])

    const preview = (payload: unknown) => admin("POST", `/api/webhooks/${webhook.id}/preview`, { body: { payload } })
    expect((yield* preview({ repo: "shop", number: 7 })).json).toEqual({
      prompt: "Review it",
      missing: [],
      thread_key: "shop#7"
    })
    expect((yield* preview({ repo: "shop" })).json).toEqual({ prompt: "Review it", missing: [] })
    const edited = yield* admin("PATCH", `/api/webhooks/${webhook.id}`, { body: { thread_key: null } })
    expect(edited.json).not.toHaveProperty("thread_key")
    expect(yield* threadOf({ repo: "shop", number: 7 })).toBeUndefined()
  })

  it.live(
    "have a key that is checked like the template, also when its language, input or verification changes",
    function* () {
      const { admin, team } = yield* start()
      yield* team("ops")
      const draft = { name: "Review", team: "ops", prompt_template: "Review it" }
      const create = (more: object) => admin("POST", "/api/webhooks", { body: { ...draft, ...more } })
      for (const more of [
        { thread_key: "{{" },
        { thread_key: "" },
        { thread_key: "x".repeat(1_001) },
        { thread_key: "{{ a | nope }}", template_language: "liquid" },
        { thread_key: "{{headers.authorization}}", input: "payload" }
      ]) {
        const refused = yield* create(more)
        expect([refusal(refused), pointers(refused)]).toStrictEqual([[422, "invalid"], ["/thread_key"]])
      }
      const { webhook: simple } = (yield* create({ thread_key: "{% {{a}}" })).json
      const edited = yield* admin("PATCH", `/api/webhooks/${simple.id}`, { body: { template_language: "liquid" } })
      expect([refusal(edited), pointers(edited)]).toStrictEqual([[422, "invalid"], ["/thread_key"]])
    }
  )

  it.live("are named by messages and replays, which are told apart by their idempotency key", function* () {
    const { admin, team } = yield* start()
    yield* team("ops", silent)
    const send = (body: object, key?: string) =>
      admin("POST", "/api/teams/ops/messages", { body, headers: key === undefined ? {} : { "idempotency-key": key } })
    const threadOf = (id: string) => Effect.map(admin("GET", `/api/runs/${id}`), ({ json }) => json.thread)
    const { message_id: first } = (yield* send({ message: "hello", thread: " shop#7 " }, "one")).json
    const { message_id: second } = (yield* send({ message: "hello", thread: "shop#7" })).json
    expect(yield* threadOf(first)).toMatchObject({ key: "shop#7" })
    expect(yield* threadOf(second)).toEqual(yield* threadOf(first))
    expect((yield* send({ message: "hello", thread: "shop#7" }, "one")).json.message_id).toBe(first)
    expect(refusal(yield* send({ message: "hello" }, "one"))).toStrictEqual([422, "idempotency_key_reused"])
    expect(yield* threadOf((yield* send({ message: "hello" })).json.message_id)).toBeUndefined()
    for (const thread of ["", "  ", "x".repeat(501), "\0", 1, null]) {
      const refused = yield* send({ message: "hello", thread })
      expect([refusal(refused), pointers(refused)]).toStrictEqual([[422, "invalid"], ["/thread"]])
    }

    const replay = (body: object, headers = {}) => admin("POST", `/api/runs/${first}/replay`, { body, headers })
    const click = { "idempotency-key": "click" }
    const { run_id } = (yield* replay({ thread: "shop#8" }, click)).json
    expect(yield* threadOf(run_id)).toMatchObject({ key: "shop#8" })
    expect((yield* replay({ thread: "shop#8" }, click)).json.run_id).toBe(run_id)
    expect(refusal(yield* replay({}, click))).toStrictEqual([422, "idempotency_key_reused"])
    expect(yield* threadOf((yield* replay({})).json.run_id)).toEqual(yield* threadOf(first))
    expect(yield* threadOf((yield* replay({ thread: null })).json.run_id)).toBeUndefined()
    expect(pointers(yield* replay({ thread: " " }))).toStrictEqual(["/thread"])
  })

  it.live("are listed by team, shown with their runs, and reset with an audit event", function* () {
    const { admin, team } = yield* start()
    yield* team("ops")
    const send = (thread: string) =>
      admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "hello", thread } })
    const { message_id: first } = (yield* send("shop#7")).json
    const { message_id: second } = (yield* send("shop#7")).json
    yield* send("shop#8")
    const list = (query = "") => Effect.map(admin("GET", `/api/teams/ops/threads${query}`), ({ json }) => json)
    const keys = (page: any) => page.data.map(({ key }: { key: string }) => key)
    expect(keys(yield* list())).toEqual(["shop#8", "shop#7"])
    const page = yield* list("?limit=1")
    expect(keys(yield* list(`?limit=1&cursor=${page.next_cursor}`))).toEqual(["shop#7"])
    const [thread] = (yield* list("?key=shop%237")).data
    const at = `/api/threads/${thread.id}`
    expect((yield* admin("GET", at)).json).toEqual(thread)
    const runs = yield* admin("GET", `/api/runs?thread_id=${thread.id.toUpperCase()}`)
    expect(runs.json.data.map((run: any) => [run.run_id, run.thread.key])).toEqual([
      [second, "shop#7"],
      [first, "shop#7"]
    ])
    const reset = yield* admin("POST", `${at}/reset`)
    expect([reset.status, reset.json]).toEqual([200, { ...thread, ended_at: expect.any(String) }])
    expect((yield* admin("POST", `${at}/reset`)).json).toEqual(reset.json)
    const { json: audit } = yield* admin("GET", `/api/audit?object=${thread.id}`)
    expect(audit.data.map(({ action, after }: any) => [action, after])).toEqual([
      ["thread.reset", { team: "ops", key: "shop#7" }]
    ])
    const next = (yield* send("shop#7")).json.message_id
    expect((yield* admin("GET", `/api/runs/${next}`)).json.thread.id).not.toBe(thread.id)
    expect(refusal(yield* admin("GET", "/api/teams/none/threads"))).toStrictEqual([404, "not_found"])
    expect(refusal(yield* admin("GET", "/api/teams/ops/threads?cursor=x"))).toStrictEqual([400, "invalid_parameter"])
    expect(refusal(yield* admin("GET", "/api/threads/none"))).toStrictEqual([404, "not_found"])
    expect(refusal(yield* admin("POST", "/api/threads/none/reset"))).toStrictEqual([404, "not_found"])
  })

  it.live("are continued, or begun, by the reply to a run, and their agent by its session", function* () {
    const { admin, team, webhook, http } = yield* start()
    yield* team("ops", ({ prompt: { prompt, thread }, reply }) =>
      prompt === "fail"
        ? reply({ _tag: "Failed", message: "no" })
        : reply({
            _tag: "Answered",
            response: `${prompt}, in ${thread?.session_id ?? "no session"}`,
            report: { session_id: `session of ${prompt}`, asks: ["Yes", "No"] }
          })
    )
    const hook = yield* webhook("ops", "Release {{text}}")
    const asking = (yield* http("POST", `${hook.path}?wait=true`, { body: hello })).json
    expect(asking).toMatchObject({ response: "Release hello, in no session", asks: ["Yes", "No"] })
    const reply = (id: string, message: unknown, headers = {}, query = "?wait=true") =>
      admin("POST", `/api/runs/${id}/reply${query}`, { body: { message }, headers })
    const click = { "idempotency-key": "click" }
    const first = yield* reply(asking.run_id, "Yes", click)
    expect(first.json).toMatchObject({ status: "success", response: "Yes, in session of Release hello" })
    expect((yield* reply(asking.run_id, "Yes", click)).json.message_id).toBe(first.json.message_id)
    expect(refusal(yield* reply(asking.run_id, "No", click))).toStrictEqual([422, "idempotency_key_reused"])
    const second = yield* reply(first.json.message_id, "fail")
    expect([second.status, second.json.code]).toEqual([502, "agent_failed"])
    const third = yield* reply(second.json.run_id, "Again")
    expect(third.json.response).toBe("Again, in session of Yes")

    const { json: thread } = yield* admin("GET", `/api/threads/${asking.run_id}`)
    expect(thread).toMatchObject({ team: "ops", key: asking.run_id, session_id: "session of Again" })
    const { json: runs } = yield* admin("GET", `/api/runs?thread_id=${thread.id}`)
    expect(runs.data.map(({ run_id }: any) => run_id).reverse()).toEqual([
      asking.run_id,
      first.json.message_id,
      second.json.run_id,
      third.json.message_id
    ])
    const { json: audit } = yield* admin("GET", `/api/audit?object=${asking.run_id}&action=run.replied`)
    expect(audit.data.map(({ after }: any) => after)).toContainEqual({ run_id: first.json.message_id })

    yield* admin("POST", `/api/threads/${thread.id}/reset`)
    expect(refusal(yield* reply(asking.run_id, "Yes"))).toStrictEqual([409, "thread_ended"])
    for (const message of ["", "\0", 1]) {
      const refused = yield* reply(asking.run_id, message)
      expect([refusal(refused), pointers(refused)]).toStrictEqual([[422, "invalid"], ["/message"]])
    }
    expect(refusal(yield* reply("none", "Yes"))).toStrictEqual([404, "not_found"])
  })

  it.live("are begun by the reply to a run at work, and not to one that waits for approval", function* () {
    const { admin, http, team, webhook } = yield* start()
    yield* team("ops", silent)
    const reply = (id: string) => admin("POST", `/api/runs/${id}/reply`, { body: { message: "Yes" } })
    const { message_id } = (yield* admin("POST", "/api/teams/ops/messages", { body: { message: "hello" } })).json
    const sent = yield* reply(message_id)
    expect(sent.status).toBe(202)
    const { json } = yield* admin("GET", `/api/runs/${sent.json.message_id}`)
    expect(json).toMatchObject({ status: "queued", thread: { id: message_id } })
    const hook = yield* webhook("ops", "{{text}}", { approval: "required" })
    const { run_id } = (yield* http("POST", hook.path, { body: hello })).json
    expect(refusal(yield* reply(run_id))).toStrictEqual([409, "run_unfinished"])
  })
})
