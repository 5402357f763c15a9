import { get, type IncomingMessage } from "node:http"
import { Context, Effect, Exit, Layer } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { AuditEventId } from "../../../src/domain/Id.ts"
import { jsonLines, RunExport } from "../../../src/http/manage/export/RunExport.ts"
import { type AuditExportQuery, AuditStore } from "../../../src/repo/access/AuditStore.ts"
import { layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { shared } from "../../support/Shared.ts"
import { repeatUntil } from "../../support/Until.ts"
import { call, refusal } from "../Client.ts"
import { adminKey, changed, hello, type Leader, listening, listeningPort, services, start } from "../Server.ts"

/** Answers every prompt with a text that has 1 MiB, and 2 MiB in a file. */
const verbose: Leader = ({ reply }) => reply({ _tag: "Answered", response: '"'.repeat(1024 ** 2) })

/** The beginning of a response, of which nobody reads more, until the scope closes. */
const unread = (url: string, headers: Record<string, string> = { authorization: `Bearer ${adminKey}` }) =>
  Effect.acquireRelease(
    Effect.callback<IncomingMessage>((resume) => {
      get(url, { headers }, (response) => resume(Effect.succeed(response)))
    }),
    (response) => Effect.sync(() => response.destroy())
  )

/** The rest of it. */
const read = (response: IncomingMessage) =>
  Effect.promise(async () => {
    let text = ""
    for await (const chunk of response.setEncoding("utf8")) text += chunk
    return text
  })

/** A repo with very many audit events. */
const repoOfManyEvents = changed(layerRepo, (context) => {
  const store = Context.get(context, AuditStore)
  const idOf = (n: number) => AuditEventId.make(`00000000-0000-7000-8000-${String(n).padStart(12, "0")}`)
  const auditExport = ({ after, limit }: AuditExportQuery) =>
    Effect.map(store.auditExport({ limit: 1 }), ([event]) => {
      const last = Number(after?.slice(-12) ?? 0)
      return last > 100_000 ? [] : Array.from({ length: limit }, (_, n) => ({ ...event!, id: idOf(last + n + 1) }))
    })
  return Context.add(context, AuditStore, { ...store, auditExport })
})

/** A server with these, and 20 runs with long answers. */
const withMany = shared(
  Effect.gen(function* () {
    const server = yield* start({ repo: repoOfManyEvents })
    const { path } = yield* server.webhook(yield* server.team("ops", verbose))
    for (let n = 0; n < 20; n++) yield* server.http("POST", `${path}?wait=true`, { body: hello })
    return server
  })
)

describe("exporting runs", () => {
  it.live("gives all that a filter finds, whole, as CSV without formulas and as JSON Lines", function* () {
    const { admin, http, team, webhook } = yield* start()
    yield* team("ops")
    const { id, path } = yield* webhook("ops", "{{text}}", { name: "=HYPERLINK(1)" })
    const texts = ["=1+1", 'He said: "no", then\r\nleft', "x".repeat(5_000), ...Array(30).fill("more")]
    for (const text of texts) yield* http("POST", `${path}?wait=true`, { body: { variables: { text } } })
    yield* admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "not asked for" } })

    const lines = yield* admin("GET", `/api/runs/export.jsonl?webhook_id=${id}`)
    expect(lines.headers.get("content-disposition")).toBe('attachment; filename="runs.jsonl"')
    const runs = lines.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(runs.map(({ variables }) => variables.text)).toEqual(texts.toReversed())
    expect(runs.at(-1)).toEqual((yield* admin("GET", `/api/runs/${runs.at(-1).run_id}`)).json)
    expect(lines.text.endsWith("}\n")).toBe(true)

    const file = yield* admin("GET", "/api/runs/export.csv?source=webhook")
    expect(file.headers.get("content-disposition")).toBe('attachment; filename="runs.csv"')
    const columns = [
      "run_id status source webhook_id webhook webhook_version team mode title agent thread replay_of",
      "retry_of chained_from chain_depth attempt max_attempts retry_at retried_by accepted_at held_for",
      "held_until joined sent_at started_at finished_at stop_at released_at unconfirmed rests",
      "triggered_by asked_by callback_url cancelled_by decided_by superseded_by delivery_failed",
      "duration_ms error_code error_message last_step timeout_seconds input_tokens cached_input_tokens",
      "output_tokens cost_usd model session_id session_lost history_given links denied workspace asks files",
      "variables prompt response"
    ]
    expect(file.text.split("\r\n")[0]!.split(",")).toEqual(columns.join(" ").split(" "))
    expect(file.text.split("\r\n").slice(-2)).toEqual([
      expect.stringMatching(
        `^${runs.at(-1).run_id},success,webhook,${id},'=HYPERLINK\\(1\\),1,ops,wait,.*,'=1\\+1,echo: =1\\+1$`
      ),
      ""
    ])
    expect(file.text).toContain(',"He said: ""no"", then\r\nleft","echo: He said: ""no"", then\r\nleft"\r\n')
    expect((yield* admin("GET", "/api/runs/export.csv?team=nobody")).text.split("\r\n")).toHaveLength(2)
    expect((yield* admin("GET", "/api/runs/export.jsonl?team=nobody")).text).toBe("")
  })

  it.live(
    "closes the connection when it cannot be completed, so that nobody takes the part for the whole",
    function* () {
      const { admin, faults, http, origin, team, webhook } = yield* start()
      yield* team("ops")
      const { path } = yield* webhook("ops")
      for (let n = 0; n < 26; n++) {
        yield* http("POST", `${path}?wait=true`, { body: { variables: { text: "x".repeat(250_000) } } })
      }
      const headers = { authorization: `Bearer ${adminKey}` }
      const response = yield* Effect.promise(() => fetch(`${origin}/api/runs/export.jsonl`, { headers }))
      // What is written already is not read yet, so the next page waits.
      faults.add("bug")
      const failed = yield* Effect.promise(() =>
        response.text().then(
          () => false,
          () => true
        )
      )
      expect(failed).toBe(true)
      faults.clear()
      expect((yield* admin("GET", "/api/runs/export.jsonl")).text.split("\n")).toHaveLength(27)
    }
  )

  it.live("reads no more runs than their client takes", function* () {
    const { admin, http, origin, team, webhook } = yield* start()
    yield* team("ops", verbose)
    const { id, path } = yield* webhook("ops")
    for (let n = 0; n < 25; n++) yield* http("POST", `${path}?wait=true`, { body: { variables: { text: "x" } } })
    const response = yield* unread(`${origin}/api/runs/export.jsonl`)
    yield* admin("DELETE", `/api/webhooks/${id}`)
    // The sockets' own buffers hold a few MiB.
    const runs = (yield* read(response)).trimEnd().split("\n")
    expect(runs.length).toBeGreaterThan(0)
    expect(runs.length).toBeLessThan(15)
    for (const run of runs) expect(JSON.parse(run).conversation.response).toHaveLength(1024 ** 2)
  })

  it.live("gives answers of any characters", function* () {
    const { admin, http, team, webhook } = yield* start()
    // A control character makes six of JSON.
    const answer = `"${"\u0001".repeat(200_000)}${"😀".repeat(200_000)}`
    yield* team("ops", ({ reply }) => reply({ _tag: "Answered", response: answer }))
    const { path } = yield* webhook("ops")
    yield* http("POST", `${path}?wait=true`, { body: { variables: { text: "x" } } })
    const { text } = yield* admin("GET", "/api/runs/export.jsonl")
    expect(JSON.parse(text).conversation.response === answer).toBe(true)
    const csv = (yield* admin("GET", "/api/runs/export.csv")).text
    expect(csv.endsWith(`,x,"${answer.replaceAll('"', '""')}"\r\n`)).toBe(true)
  })

  it.live("are refused beyond four at a time, and written again when one has ended", function* () {
    const { admin, origin } = yield* withMany
    const url = `${origin}/api/runs/export.csv`
    for (let n = 0; n < 5; n++) expect((yield* admin("HEAD", "/api/runs/export.csv")).status).toBe(200)
    const [one] = yield* Effect.replicateEffect(unread(url), 4)
    const refused = yield* admin("GET", "/api/runs/export.jsonl")
    expect(refusal(refused)).toStrictEqual([429, "too_many_exports"])
    expect(refused.headers.get("retry-after")).toBe("10")
    one!.destroy()
    yield* repeatUntil(admin("HEAD", "/api/runs/export.jsonl"), ({ status }) => status === 200)
  })

  it.live("disconnects a client that takes nothing for long", function* () {
    const { repo } = yield* withMany
    const handler = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.flatMap(RunExport, ({ respond }) => respond(request, {}, jsonLines, Effect.void))
    ).pipe(Effect.catchTag("TooManyExports", () => Effect.succeed(HttpServerResponse.empty({ status: 429 }))))
    const context = yield* Layer.build(
      HttpServer.serve(handler).pipe(
        Layer.provide(RunExport.layerWith({ atOnce: 1, patience: "1 seconds" })),
        Layer.provideMerge(listening),
        Layer.provide(services({ repo }))
      )
    )
    const origin = `http://127.0.0.1:${yield* Effect.provide(listeningPort, context)}`
    const response = yield* unread(origin)
    yield* repeatUntil(call(origin)("HEAD", "/"), ({ status }) => status === 200)
    expect(Exit.isFailure(yield* Effect.exit(read(response)))).toBe(true)
  })
})

describe("exporting audit events", () => {
  it.live("counts with the exports of runs", function* () {
    const { admin, origin, team } = yield* start({ repo: repoOfManyEvents })
    yield* team("ops", "no leader")
    const url = `${origin}/api/audit/export.csv`
    const [one] = yield* Effect.replicateEffect(unread(url), 4)
    for (const path of ["/api/audit/export.jsonl", "/api/runs/export.jsonl"]) {
      expect(refusal(yield* admin("GET", path)), path).toStrictEqual([429, "too_many_exports"])
    }
    one!.destroy()
    // A connection that the server is about to close may be used once more.
    const tried = Effect.exit(admin("HEAD", "/api/audit/export.jsonl"))
    yield* repeatUntil(tried, (exit) => Exit.isSuccess(exit) && exit.value.status === 200)
  })
})

describe("an export", () => {
  it.live("is broken off when the key is revoked or the session ends", function* () {
    const { admin, http, origin } = yield* withMany
    for (const kind of ["runs", "audit"]) {
      const url = `${origin}/api/${kind}/export.jsonl`
      const { api_key, key } = (yield* admin("POST", "/api/keys", { body: { name: kind, role: "admin" } })).json
      const byKey = yield* unread(url, { authorization: `Bearer ${key}` })
      const signedIn = yield* http("POST", "/api/session", { body: { key: adminKey } })
      const bySession = yield* unread(url, { cookie: signedIn.headers.get("set-cookie")!.split(";")[0]! })
      const byAdmin = yield* unread(url)
      expect((yield* admin("DELETE", `/api/keys/${api_key.id}`)).status).toBeLessThan(300)
      expect((yield* admin("DELETE", "/api/sessions")).status).toBe(204)
      expect(Exit.isFailure(yield* Effect.exit(read(byKey))), kind).toBe(true)
      expect(Exit.isFailure(yield* Effect.exit(read(bySession))), kind).toBe(true)
      expect((yield* read(byAdmin)).endsWith("}\n"), kind).toBe(true)
    }
  })
})
