/** The OpenAPI document describes the server: it is valid and complete, and every response in it exists. */
import { createHash, randomUUID } from "node:crypto"
import { Validator } from "@seriousme/openapi-schema-validator"
import { Ajv2020 } from "ajv/dist/2020.js"
import { DateTime, Duration, Effect } from "effect"
import type { OpenApi } from "effect/http-api"
import { titles } from "../../../src/api/ProblemTitles.ts"
import { makeAlertRuleId, WebhookId } from "../../../src/domain/Id.ts"
import { operationsIn } from "../../../src/http/operations/OpenApi.ts"
import { AlertStore } from "../../../src/repo/alert/AlertStore.ts"
import { WebhookStore } from "../../../src/repo/manage/WebhookStore.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { type Answer, type Call, sorted } from "../Client.ts"
import { adminKey, failing, silent, start } from "../Server.ts"

const operationsOf = (document: OpenApi.OpenAPISpec) =>
  operationsIn(document).map(({ method, ...rest }) => ({ ...rest, method: method.toUpperCase() }))

const fetched = Effect.gen(function* () {
  const { http } = yield* start()
  const { json, headers } = yield* http("GET", "/openapi.json")
  expect(headers.get("content-type")).toBe("application/json")
  return json as OpenApi.OpenAPISpec
})

/** Every field in a schema, with its path. */
const fieldsIn = (schema: any, at: string): Array<[string, any]> => [
  ...Object.entries<any>(schema.properties ?? {}).flatMap(
    ([name, it]): Array<[string, any]> => [[`${at}.${name}`, it], ...fieldsIn(it, `${at}.${name}`)]
  ),
  ...(schema.items ? fieldsIn(schema.items, `${at}[]`) : [])
]

/** The document with no other fields allowed than those that it names. */
const strictly = (value: any): any => {
  if (Array.isArray(value)) return value.map(strictly)
  if (typeof value !== "object" || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, it]) => [key, strictly(it)]))
  return copy.type === "object" && copy.properties !== undefined ? { additionalProperties: false, ...copy } : copy
}

/** The delivery of an alert to the one alert destination. */
const alertDeliveryOf = (server: Effect.Success<ReturnType<typeof start>>) =>
  Effect.gen(function* () {
    const store = yield* AlertStore
    const [now, id] = [yield* DateTime.now, yield* makeAlertRuleId]
    const facts = {
      condition: "failures_in_a_row",
      threshold: 3,
      enabled: true,
      created_at: now,
      updated_at: now
    } as const
    const rule = yield* store.createRule({ id, ...facts })
    const breach = { rule, subject: "x", name: "x", value: 3 }
    yield* store.recordMeasurement({ now, rules: [rule], breaches: [breach], quiet: Duration.zero }, now)
    return (yield* server.admin("GET", "/api/alerts/deliveries")).json.data[0].id as string
  }).pipe(Effect.provide(server.repo))

describe("/openapi.json", () => {
  it.live("is valid OpenAPI 3.1", function* () {
    const document = yield* fetched
    const result = yield* Effect.promise(() => new Validator().validate(structuredClone(document) as any))
    expect([result.valid, result.errors]).toStrictEqual([true, undefined])
    expect(document.openapi).toMatch(/^3\.1\./)
  })

  it.live("describes every operation, parameter, response and field", function* () {
    const document = yield* fetched
    const bare: Array<string> = []
    const note = (at: string, text: unknown) => {
      if (typeof text !== "string" || text.length < 5) bare.push(at)
    }
    const fields = (schema: any, at: string) => {
      for (const [path, field] of fieldsIn(schema, at)) if (field.$ref === undefined) note(path, field.description)
    }
    for (const { path, method, operation } of operationsOf(document)) {
      note(`${method} ${path} summary`, operation.summary)
      note(`${method} ${path}`, operation.description)
      for (const parameter of operation.parameters) note(`${method} ${path} ${parameter.name}`, parameter.description)
      for (const [status, response] of Object.entries(operation.responses)) {
        note(`${method} ${path} ${status}`, response.description === "Success" ? "" : response.description)
        for (const { schema } of Object.values<any>(response.content ?? {}))
          fields(schema, `${method} ${path} ${status}`)
      }
      for (const { schema } of Object.values<any>(operation.requestBody?.content ?? {}))
        fields(schema, `${method} ${path}`)
    }
    for (const [name, schema] of Object.entries<any>(document.components.schemas)) {
      note(name, schema.description)
      fields(schema, name)
    }
    for (const { name, description } of document.tags) note(name, description)
    expect(bare).toStrictEqual([])
  })

  it.live("declares 400 for every operation with a query parameter, since any may be invalid", function* () {
    const queried = operationsOf(yield* fetched).filter(({ operation }) =>
      operation.parameters.some((parameter) => parameter.in === "query")
    )
    expect(queried.length).toBeGreaterThan(10)
    const without = queried.filter(({ operation }) => !("400" in operation.responses))
    expect(without.map(({ method, path }) => `${method} ${path}`)).toStrictEqual([])
  })

  it.live(
    "requires the key or the session on all of /api, a leader's key on /leader, and a token where a trigger's path has none",
    function* () {
      const document = yield* fetched
      expect(document.components.securitySchemes.key).toMatchObject({ type: "http", scheme: "bearer" })
      expect(document.components.securitySchemes.session).toMatchObject({ type: "apiKey", in: "cookie" })
      expect(document.components.securitySchemes.token).toMatchObject({ type: "http", scheme: "bearer" })
      expect(document.components.securitySchemes.leader_key).toMatchObject({ type: "http", scheme: "bearer" })
      for (const { path, operation } of operationsOf(document)) {
        const inHeader = path.startsWith("/webhook/") && !path.includes("{token}")
        const ofApi = path.startsWith("/api/") ? [{ key: [] }, { session: [] }] : []
        const ofLeader = path.startsWith("/leader/") ? [{ leader_key: [] }] : []
        const expected = [...ofApi, ...ofLeader, ...(inHeader ? [{ token: [] }] : [])]
        expect(operation.security, path).toStrictEqual(expected)
      }
    }
  )

  it.live("says where the server is, which codes there are, and where unknown fields are refused", function* () {
    const document = (yield* fetched) as any
    expect(document.servers).toEqual([{ url: "/" }])
    const { http } = yield* start({ publicUrl: "https://hooks.example.com/x" })
    expect((yield* http("GET", "/openapi.json")).json.servers).toEqual([{ url: "https://hooks.example.com/x" }])
    expect(document.components.schemas.Problem409.properties.code.enum).toEqual(Object.keys(titles))
    const resolved = (schema: any) =>
      schema.$ref ? document.components.schemas[schema.$ref.replace("#/components/schemas/", "")] : schema
    for (const { method, operation, path } of operationsOf(document)) {
      const body = operation.requestBody?.content["application/json"]?.schema
      if (body === undefined) continue
      const refusesUnknown = path.startsWith("/api/") ? false : undefined
      expect(resolved(body).additionalProperties, `${method} ${path}`).toBe(refusesUnknown)
    }
    expect(document.components.schemas.Run.additionalProperties).toBeUndefined()
  })

  it.live("describes both bodies of a trigger, and what verified webhooks ask for", function* () {
    const document = (yield* fetched) as any
    const { description, requestBody } = document.paths["/webhook/trigger/{token}"].post
    const [variables, whole] = requestBody.content["application/json"].schema.anyOf
    expect(variables).toMatchObject({ type: "object", required: ["variables"] })
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    for (const body of [[1], "text", { ref: "refs/heads/main" }]) expect(ajv.validate(whole, body)).toBe(true)
    expect(Object.keys(requestBody.content)).toEqual([
      "application/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "text/plain"
    ])
    expect(description).toContain("`github`: `x-hub-signature-256`")
    expect(description).toContain("`hmac`: the webhook's own `header`")
  })

  it.live("documents exactly the responses that the server sends", function* () {
    const document = yield* fetched
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    // A field that is not documented is found, although a client has to accept one.
    const strict = strictly(document)
    ajv.addSchema({ $id: "document", ...strict }, "document")
    /** Compiled once, because that takes longer than the request. */
    const validators = new Map<string, ReturnType<typeof ajv.compile>>()
    const validatorOf = (schema: string) => {
      const validator = validators.get(schema) ?? ajv.compile(JSON.parse(schema))
      validators.set(schema, validator)
      return validator
    }
    const seen = new Set<string>()
    /** The first request to each operation of the management that was successful. */
    const succeeded = new Map<string, { readonly method: string; readonly path: string; readonly request: Call }>()

    const open = yield* start()
    const narrow = yield* start({
      settings: { maxQueued: 1, maxConcurrent: 1, timeout: Duration.millis(200), maxBody: 2_000 }
    })
    const stopping = yield* start()
    const crowded = yield* start({ streamLimits: { inAll: 0, ofOne: 0 } })
    yield* open.team("ops")
    yield* open.team("idle", "no leader")
    yield* open.team("failing", failing)
    const hook = yield* open.webhook("ops")
    const idle = yield* open.webhook("idle")
    const broken = yield* open.webhook("failing")
    yield* narrow.team("silent", silent)
    const slow = yield* narrow.webhook("silent")
    const elsewhere = yield* open.webhook("ops", "{{text}}", { allow_from: ["192.0.2.1"] })
    const picky = yield* open.webhook("ops", "{{text}}", { accept_if: "text == 'y'" })
    yield* stopping.team("ops")
    const late = yield* stopping.webhook("ops")
    yield* crowded.team("ops")
    const watched = yield* crowded.webhook("ops")
    yield* stopping.shutdown.begin

    /** Compares the response with the documentation of the request's operation. */
    const check = (status: number, method: string, path: string, request: Call, answer: Answer, as = method) => {
      const { pathname } = new URL(path, "http://x")
      const found = operationsOf(strict).find(
        (it) => it.method === as && new RegExp(`^${it.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname)
      )!
      const at = `${found.operation.operationId} ${status}`
      expect(answer.status, `${at}: ${answer.text}`).toBe(status)
      const documented = (found.operation.responses as any)[status]
      expect(documented, `${at} is not documented`).toBeDefined()
      for (const name of Object.keys(documented.headers ?? {})) {
        expect(answer.headers.has(name), `${at}: ${name}`).toBe(true)
      }
      const contents = Object.entries<any>(documented.content ?? {})
      const content = contents.find(([type]) => type === answer.headers.get("content-type")) ?? contents[0]
      const [type, { schema }] = content ?? ["", { schema: undefined }]
      if (type === "") expect(answer.text, at).toBe("")
      else {
        expect(answer.headers.get("content-type"), at).toBe(type)
        const valid = validatorOf(JSON.stringify(schema).replaceAll('"#/components', '"document#/components'))
        expect(
          valid(type.includes("json") && type !== "application/jsonl" ? answer.json : answer.text),
          `${at}: ${ajv.errorsText(valid.errors)} ${answer.text}`
        ).toBe(true)
      }
      seen.add(at)
      const name = `${method} ${found.path}`
      if (status < 300 && path.startsWith("/api/") && !succeeded.has(name))
        succeeded.set(name, { method, path, request })
    }
    /** The same request to a webhook with its token in a header. */
    const inHeader = (path: string, request: Call): ReadonlyArray<readonly [string, Call]> => {
      const [, token, rest] = /^\/webhook\/trigger\/([^/?]+)(.*)$/.exec(path) ?? []
      const authorization = `Bearer ${token}`
      return token === undefined
        ? []
        : [[`/webhook/trigger${rest}`, { ...request, headers: { ...request.headers, authorization } }]]
    }
    const on =
      (send: (typeof open)["http"]) =>
      (status: number, method: string, path: string, request: Call = {}, as?: string) =>
        Effect.forEach([[path, request] as const, ...inHeader(path, request)], ([path, request]) =>
          Effect.map(send(method, path, request), (answer) => check(status, method, path, request, answer, as))
        )
    const caller = on(open.http)
    const admin = on(open.admin)
    const slowCaller = on(narrow.http)
    const slowAdmin = on(narrow.admin)

    const variables = { body: { variables: { text: "x" } } }
    const text = { raw: "{}", headers: { "content-type": "text/plain" } }
    const large = { raw: "x".repeat(1024 * 1024 + 1) }
    const larger = { raw: "x".repeat(8 * 1024 * 1024 + 1) }
    const notJson = { raw: "{" }
    const inPage = { headers: { "sec-fetch-site": "cross-site" } }
    const none = "/01890a5d-ac96-774b-bcce-b302099a8057"

    // The trigger.
    yield* caller(202, "POST", hook.path, variables)
    yield* caller(200, "POST", `${hook.path}?wait=true`, variables)
    yield* caller(200, "POST", picky.path, variables)
    yield* caller(400, "POST", hook.path, notJson)
    yield* caller(401, "POST", elsewhere.path, variables)
    yield* caller(404, "POST", "/webhook/trigger/x", variables)
    yield* caller(405, "GET", hook.path, {}, "POST")
    yield* slowCaller(408, "POST", `${slow.path}?wait=true`, variables)
    yield* slowCaller(504, "POST", `${slow.path}?wait=true`, { ...variables, ...inPage })
    yield* caller(409, "POST", idle.path, variables)
    yield* caller(413, "POST", hook.path, large)
    yield* caller(415, "POST", hook.path, text)
    yield* caller(422, "POST", hook.path, { body: { variables: {} } })
    yield* caller(502, "POST", `${broken.path}?wait=true`, variables)
    yield* on(stopping.http)(503, "POST", late.path, variables)
    const { run_id } = (yield* open.http("POST", `${hook.path}?wait=true`, variables)).json
    const failed = (yield* open.http("POST", `${broken.path}?wait=true`, variables)).json
    yield* caller(200, "GET", `${hook.path}/runs/${run_id}`)
    yield* caller(200, "GET", `${broken.path}/runs/${failed.run_id}`)
    yield* caller(400, "GET", `${hook.path}/runs/${run_id}?wait=x`)
    yield* caller(401, "GET", `${elsewhere.path}/runs${none}`)
    yield* caller(401, "POST", `${elsewhere.path}/runs${none}/cancel`)
    yield* caller(404, "GET", `${hook.path}/runs${none}`)
    yield* caller(405, "POST", `${hook.path}/runs/${run_id}`, {}, "GET")

    const events = { accept: "text/event-stream" }
    const inJson = { accept: "application/json" }
    const after = { "last-event-id": "end" }
    yield* caller(200, "POST", hook.path, { ...variables, headers: events })
    yield* caller(406, "POST", `${hook.path}?format=ai-sdk`, { ...variables, headers: inJson })
    yield* on(crowded.http)(429, "POST", watched.path, { ...variables, headers: events })
    const { run_id: watchedRun } = (yield* crowded.http("POST", watched.path, variables)).json
    const eventsAt = `${hook.path}/runs/${run_id}/events`
    yield* caller(200, "GET", eventsAt)
    yield* caller(204, "GET", eventsAt, { headers: after })
    yield* caller(400, "GET", `${eventsAt}?format=x`)
    yield* caller(401, "GET", `${elsewhere.path}/runs${none}/events`)
    yield* caller(404, "GET", `${hook.path}/runs${none}/events`)
    yield* caller(405, "POST", eventsAt, {}, "GET")
    yield* caller(406, "GET", eventsAt, { headers: inJson })
    yield* on(crowded.http)(429, "GET", `${watched.path}/runs/${watchedRun}/events`)
    const ofAdmin = `/api/runs/${run_id}/events`
    yield* admin(200, "GET", ofAdmin)
    yield* admin(204, "GET", ofAdmin, { headers: after })
    yield* admin(400, "GET", `${ofAdmin}?format=x`)
    yield* admin(406, "GET", ofAdmin, { headers: inJson })
    yield* on(crowded.admin)(429, "GET", `/api/runs/${watchedRun}/events`)

    yield* caller(409, "POST", `${hook.path}/runs/${run_id}/cancel`)
    yield* caller(404, "POST", `${hook.path}/runs${none}/cancel`)
    yield* caller(405, "GET", `${hook.path}/runs/${run_id}/cancel`, {}, "POST")
    yield* narrow.admin("POST", "/api/teams/silent/release")
    const accepted = repeatUntil(narrow.http("POST", slow.path, variables), ({ status }) => status === 202)
    const toCancel = yield* Effect.replicateEffect(accepted, 2)
    const [first, second] = toCancel.map(({ json }) => json.run_id)
    yield* slowCaller(200, "POST", `${slow.path}/runs/${first}/cancel`)
    yield* slowAdmin(200, "POST", `/api/runs/${second}/cancel`)

    // Teams.
    yield* admin(200, "GET", "/api/teams")
    yield* admin(201, "POST", "/api/teams", { body: { team: "new" } })
    yield* admin(409, "POST", "/api/teams", { body: { team: "new" } })
    yield* admin(422, "POST", "/api/teams", { body: {} })
    yield* admin(200, "GET", "/api/teams/ops")
    const [key, keys] = [{ body: { name: "laptop" } }, "/api/teams/new/leader-keys"]
    yield* admin(201, "POST", keys, key)
    yield* admin(422, "POST", keys, { body: {} })
    yield* admin(200, "GET", keys)
    yield* admin(204, "DELETE", `${keys}/${(yield* open.admin("GET", keys)).json.data[0].id}`)
    yield* admin(204, "DELETE", "/api/teams/new")
    yield* admin(409, "DELETE", "/api/teams/ops")
    const message = { body: { message: "x" } }
    const withFile = {
      headers: { "content-type": "multipart/form-data; boundary=x" },
      raw: '--x\r\nContent-Disposition: form-data; name="text"\r\n\r\nhello\r\n--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n1\r\n--x--\r\n'
    }
    yield* admin(202, "POST", "/api/teams/ops/messages", message)
    yield* admin(200, "POST", "/api/teams/ops/messages?wait=true", message)
    yield* admin(400, "POST", "/api/teams/ops/messages?wait=x", message)
    const inThread = { body: { message: "x", thread: "shop#7" } }
    yield* admin(200, "POST", "/api/teams/ops/messages?wait=true", inThread)
    const inTeam = "/api/teams/ops/threads?key=shop%237"
    yield* admin(200, "GET", inTeam)
    yield* admin(400, "GET", "/api/teams/ops/threads?cursor=x")
    const threadAt = `/api/threads/${(yield* open.admin("GET", inTeam)).json.data[0].id}`
    yield* admin(200, "GET", threadAt)
    yield* admin(200, "POST", `${threadAt}/reset`)
    const messageOf = (team: string) => open.admin("POST", `/api/teams/${team}/messages?wait=true`, message)
    const replyTo = (id: string, query = "") => `/api/runs/${id}/reply${query}`
    const replyAt = replyTo((yield* messageOf("ops")).json.message_id)
    yield* admin(202, "POST", replyAt, message)
    yield* admin(200, "POST", `${replyAt}?wait=true`, message)
    yield* admin(400, "POST", `${replyAt}?wait=x`, message)
    yield* admin(422, "POST", replyAt, { body: {} })
    yield* admin(502, "POST", replyTo((yield* messageOf("failing")).json.run_id, "?wait=true"), message)
    yield* slowAdmin(408, "POST", replyTo(second, "?wait=true"), message)
    yield* slowAdmin(504, "POST", replyTo(second, "?wait=true"), { ...message, ...inPage })
    yield* open.admin("POST", `/api/threads/${replyAt.split("/")[3]}/reset`)
    yield* admin(409, "POST", replyAt, message)
    yield* slowAdmin(408, "POST", "/api/teams/silent/messages?wait=true", message)
    yield* slowAdmin(504, "POST", "/api/teams/silent/messages?wait=true", { ...message, ...inPage })
    yield* admin(409, "POST", "/api/teams/idle/messages", message)
    for (const change of ["pause", "resume", "release"]) yield* admin(200, "POST", `/api/teams/idle/${change}`)
    yield* admin(200, "POST", "/api/teams/idle/cancel-queued")
    yield* admin(400, "POST", "/api/teams/ops/cancel-queued?dry_run=x")
    yield* admin(422, "POST", "/api/teams/ops/messages", { body: {} })
    yield* admin(502, "POST", "/api/teams/failing/messages?wait=true", message)

    // Leaders over HTTP.
    yield* open.team("led", "no leader")
    const newKey = Effect.map(open.admin("POST", "/api/teams/led/leader-keys", key), ({ json }) => ({
      authorization: `Bearer ${json.key}`
    }))
    const [leaders, unused] = [yield* newKey, yield* newKey]
    const leader = "6f1c3f1e-3f52-4c3b-8e0c-0d9b7d1f2a30"
    const asLeader = (status: number, path: string, body: object) =>
      caller(status, "POST", `/leader/${path}`, { body, headers: leaders })
    yield* caller(200, "GET", "/leader/team", { headers: leaders })
    yield* asLeader(204, "next", { leader, wait_seconds: 0 })
    yield* repeatUntil(open.admin("GET", "/api/teams/led"), ({ json }) => json.running === true)
    yield* open.http("POST", (yield* open.webhook("led")).path, withFile)
    yield* asLeader(200, "next", { leader })
    const prompt = (yield* open.http("POST", "/leader/next", { body: { leader }, headers: leaders })).json
    yield* asLeader(200, "work", { leader, run_id: prompt.run_id })
    yield* asLeader(409, "work", { leader, run_id: none.slice(1) })
    const { correlation_id } = prompt
    yield* asLeader(200, "file", { correlation_id, id: "in-1" })
    yield* asLeader(404, "file", { correlation_id, id: "in-2" })
    yield* asLeader(204, "reply", { correlation_id, type: "file", n: 1, name: "a.txt", content: "YQ==" })
    yield* asLeader(422, "reply", { correlation_id, type: "file", n: 11, name: "a.txt", content: "YQ==" })
    yield* asLeader(204, "reply", { correlation_id, type: "response", response: "x" })
    yield* asLeader(404, "reply", { correlation_id: "x", type: "response", response: "x" })
    yield* asLeader(204, "leave", { leader })
    for (const path of ["next", "work", "reply", "file", "leave"]) {
      yield* asLeader(422, path, {})
      yield* caller(400, "POST", `/leader/${path}`, { ...notJson, headers: leaders })
      yield* caller(413, "POST", `/leader/${path}`, { raw: "x".repeat(16 * 1024 * 1024 + 1), headers: leaders })
      yield* caller(415, "POST", `/leader/${path}`, { raw: "{}", headers: { ...text.headers, ...leaders } })
    }
    for (const _ of Array.from({ length: 100 })) {
      const body = { leader: randomUUID() }
      const next = open.http("POST", "/leader/next", { body, headers: leaders })
      yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignore(next), "20 millis")))
    }
    const oneMore = { body: { leader: randomUUID(), wait_seconds: 0 }, headers: leaders }
    yield* repeatUntil(open.http("POST", "/leader/next", oneMore), ({ status }) => status === 429)
    yield* asLeader(429, "next", oneMore.body)

    // Webhooks and runs.
    const draft = { name: "n", team: "ops", prompt_template: "{{text}}", timeout_seconds: 9, max_concurrent: 2 }
    const hookAt = `/api/webhooks/${hook.id}`
    yield* admin(200, "GET", "/api/webhooks")
    yield* admin(201, "POST", "/api/webhooks", { body: draft })
    yield* admin(422, "POST", "/api/webhooks", { body: {} })
    yield* admin(200, "PUT", "/api/config", { body: { webhooks: [draft] } })
    yield* admin(412, "PUT", "/api/config", { body: {}, headers: { "if-match": '"0"' } })
    yield* admin(422, "PUT", "/api/config", { body: { webhooks: [{}] } })
    yield* admin(200, "GET", hookAt)
    yield* admin(200, "PATCH", hookAt, { body: { name: "m" } })
    yield* admin(412, "PATCH", hookAt, { body: {}, headers: { "if-match": '"0"' } })
    yield* admin(422, "PATCH", hookAt, { body: { id: 1 } })
    yield* admin(412, "DELETE", hookAt, { headers: { "if-match": '"0"' } })
    const sharing = yield* open.webhook("ops", "{{text}}", { shares: hook.id })
    yield* admin(409, "DELETE", hookAt)
    yield* admin(409, "POST", `/api/webhooks/${sharing.id}/token`)
    yield* admin(204, "DELETE", `/api/webhooks/${sharing.id}`)
    const destinationsAt = `${hookAt}/destinations`
    const destination = { url: "http://127.0.0.1:1/", headers: { "x-key": "k" } }
    yield* admin(201, "POST", destinationsAt, { body: destination })
    yield* admin(422, "POST", destinationsAt, { body: {} })
    yield* admin(200, "GET", destinationsAt)
    const [{ id: destination_id }] = (yield* open.admin("GET", destinationsAt)).json.data
    const destinationAt = `${destinationsAt}/${destination_id}`
    yield* admin(200, "GET", destinationAt)
    yield* admin(200, "PATCH", destinationAt, { body: { description: "CI" } })
    yield* admin(422, "PATCH", destinationAt, { body: { id: 1 } })
    yield* admin(200, "POST", `${destinationAt}/secret`)
    yield* admin(400, "POST", `${destinationAt}/secret?overlap_seconds=x`)
    yield* admin(200, "POST", `${destinationAt}/test`)
    yield* open.http("POST", `${hook.path}?wait=true`, variables)
    yield* admin(200, "GET", `${hookAt}/deliveries?status=pending`)
    yield* admin(400, "GET", `${hookAt}/deliveries?status=lost`)
    const [{ id: delivery_id }] = (yield* open.admin("GET", `${hookAt}/deliveries`)).json.data
    yield* admin(200, "GET", `${hookAt}/deliveries/${delivery_id}`)
    yield* admin(200, "POST", `${hookAt}/deliveries/${delivery_id}/resend`)
    const failedSince = `${destinationAt}/resend?since=2026-01-01T00:00:00Z`
    yield* admin(200, "POST", failedSince)
    yield* admin(400, "POST", `${destinationAt}/resend`)
    yield* admin(200, "PATCH", destinationAt, { body: { enabled: false } })
    yield* admin(422, "POST", failedSince)
    yield* admin(422, "POST", `${hookAt}/deliveries/${delivery_id}/resend`)
    const keyless = yield* start({ repo: open.repo, secretKeys: [] })
    yield* on(keyless.admin)(422, "POST", `${destinationAt}/secret`)
    yield* admin(204, "DELETE", destinationAt)

    // Alerts, and where they are sent.
    yield* admin(200, "GET", "/api/alerts?state=firing")
    yield* admin(400, "GET", "/api/alerts?state=lost")
    const rulesAt = "/api/alerts/rules"
    yield* admin(201, "POST", rulesAt, { body: { condition: "no_leader", threshold: 1 } })
    yield* admin(422, "POST", rulesAt, { body: {} })
    yield* admin(200, "GET", rulesAt)
    const ruleAt = `${rulesAt}/${(yield* open.admin("GET", rulesAt)).json.data[0].id}`
    yield* admin(200, "PATCH", ruleAt, { body: { threshold: 2 } })
    yield* admin(422, "PATCH", ruleAt, { body: { id: 1 } })
    yield* admin(204, "DELETE", ruleAt)
    const alertsAt = "/api/alerts/destinations"
    yield* admin(201, "POST", alertsAt, { body: destination })
    yield* admin(422, "POST", alertsAt, { body: {} })
    yield* admin(200, "GET", alertsAt)
    const alertsTo = `${alertsAt}/${(yield* open.admin("GET", alertsAt)).json.data[0].id}`
    yield* admin(200, "GET", alertsTo)
    yield* admin(200, "PATCH", alertsTo, { body: { description: "CI" } })
    yield* admin(422, "PATCH", alertsTo, { body: { id: 1 } })
    yield* admin(200, "POST", `${alertsTo}/secret`)
    yield* admin(400, "POST", `${alertsTo}/secret?overlap_seconds=x`)
    yield* on(keyless.admin)(422, "POST", `${alertsTo}/secret`)
    yield* admin(200, "POST", `${alertsTo}/test`)
    const alertsFailed = `${alertsTo}/resend?since=2026-01-01T00:00:00Z`
    yield* admin(200, "POST", alertsFailed)
    yield* admin(400, "POST", `${alertsTo}/resend`)
    const alertDeliveries = "/api/alerts/deliveries"
    const alertDelivery = yield* alertDeliveryOf(open)
    yield* admin(200, "GET", `${alertDeliveries}?status=pending`)
    yield* admin(400, "GET", `${alertDeliveries}?status=lost`)
    yield* admin(200, "GET", `${alertDeliveries}/${alertDelivery}`)
    yield* admin(200, "POST", `${alertDeliveries}/${alertDelivery}/resend`)
    yield* admin(200, "PATCH", alertsTo, { body: { enabled: false } })
    yield* admin(422, "POST", alertsFailed)
    yield* admin(422, "POST", `${alertDeliveries}/${alertDelivery}/resend`)
    yield* admin(204, "DELETE", alertsTo)
    yield* admin(200, "POST", `${hookAt}/preview`, variables)
    yield* admin(422, "POST", `${hookAt}/preview`, { body: {} })
    yield* admin(200, "GET", `${hookAt}/runs`)
    yield* admin(200, "GET", `${hookAt}/requests?accepted=true`)
    const [received] = (yield* open.admin("GET", `${hookAt}/requests`)).json.data
    yield* admin(400, "GET", `${hookAt}/requests?accepted=perhaps`)
    yield* admin(200, "GET", `${hookAt}/requests/${received.request_id}`)
    yield* admin(400, "POST", `${hookAt}/token?overlap_seconds=x`)
    yield* admin(204, "DELETE", `${hookAt}/old-token`)
    yield* admin(400, "GET", `${hookAt}/runs?limit=0`)
    yield* admin(200, "POST", `${hookAt}/cancel-queued`)
    yield* admin(200, "POST", `${hookAt}/resume`)
    yield* admin(400, "POST", `${hookAt}/cancel-queued?dry_run=x`)
    yield* admin(200, "GET", `/api/runs?status=success,error&team=ops&search=x&max_duration_ms=99999&limit=1`)
    yield* admin(400, "GET", "/api/runs?status=lost")
    yield* admin(200, "GET", "/api/runs/usage")
    yield* admin(400, "GET", "/api/runs/usage?status=lost")
    yield* admin(404, "GET", `/api/runs/usage?webhook_id=${none.slice(1)}`)
    yield* admin(404, "GET", `/api/runs?webhook_id=${none.slice(1)}`)
    for (const format of ["csv", "jsonl"]) {
      yield* admin(200, "GET", `/api/runs/export.${format}?team=ops`)
      yield* admin(400, "GET", `/api/runs/export.${format}?status=lost`)
      yield* admin(404, "GET", `/api/runs/export.${format}?webhook_id=${none.slice(1)}`)
    }
    yield* admin(200, "POST", "/api/runs/cancel", { body: { run_ids: [run_id] } })
    yield* admin(422, "POST", "/api/runs/cancel", { body: { run_ids: ["x"] } })
    yield* admin(201, "POST", `${hookAt}/duplicate`, { body: {} })
    yield* admin(422, "POST", `${hookAt}/duplicate`, { body: { id: 1 } })
    yield* admin(200, "GET", `${hookAt}/templates`)
    yield* admin(200, "GET", `${hookAt}/templates/1`)
    yield* admin(200, "POST", `${hookAt}/templates/1/restore`)
    yield* admin(412, "POST", `${hookAt}/templates/1/restore`, { headers: { "if-match": '"0"' } })
    // The store takes a template that the API would refuse.
    const stored = yield* open.webhook("ops")
    yield* Effect.flatMap(WebhookStore, (store) =>
      store.updateWebhook(WebhookId.make(stored.id), { prompt_template: "{{", updated_at: DateTime.makeUnsafe(0) })
    ).pipe(Effect.provide(open.repo))
    yield* admin(422, "POST", `/api/webhooks/${stored.id}/templates/2/restore`)
    yield* admin(200, "GET", `/api/runs/${run_id}`)
    yield* admin(200, "GET", `/api/runs/${run_id}/steps`)
    yield* admin(200, "GET", `/api/runs/${prompt.run_id}/files`)
    yield* admin(200, "GET", `/api/runs/${prompt.run_id}/files/out-1`)
    yield* admin(409, "POST", `/api/runs/${run_id}/cancel`)
    yield* admin(200, "POST", `/api/runs/${run_id}/start`)
    const gated = yield* open.webhook("ops", "{{text}}", { approval: "required" })
    const undecided = (yield* open.http("POST", gated.path, variables)).json.run_id
    const approvalAt = `/api/runs/${undecided}/approval`
    const decision = { body: { decision: "approve" } }
    yield* admin(200, "POST", approvalAt, decision)
    yield* admin(409, "POST", approvalAt, decision)
    yield* admin(422, "POST", approvalAt, { body: {} })
    const replayAt = `/api/runs/${run_id}/replay`
    const of = { webhook_id: hook.id, status: ["success"] }
    yield* admin(202, "POST", replayAt, { body: {} })
    yield* admin(200, "POST", `${replayAt}?wait=true`, { body: {} })
    yield* slowAdmin(408, "POST", `/api/runs/${second}/replay?wait=true`, { body: {} })
    yield* slowAdmin(504, "POST", `/api/runs/${second}/replay?wait=true`, { body: {}, ...inPage })
    yield* admin(502, "POST", `/api/runs/${failed.run_id}/replay?wait=true`, { body: {} })
    yield* open.admin("PATCH", hookAt, { body: { enabled: false } })
    yield* admin(409, "POST", replayAt, { body: {} })
    yield* open.admin("PATCH", hookAt, { body: { enabled: true } })
    yield* admin(422, "POST", replayAt, { body: { x: 1 } })
    yield* admin(200, "GET", `${replayAt}s`)
    yield* admin(200, "POST", "/api/runs/replay", { body: of })
    yield* admin(404, "POST", "/api/runs/replay", { body: { team: "none" } })
    yield* admin(422, "POST", "/api/runs/replay", { body: {} })
    yield* admin(200, "POST", `${hookAt}/token`)

    // Sessions.
    const signIn = open.http("POST", "/api/session", { body: { key: adminKey } })
    const newSession = Effect.map(
      Effect.andThen(signIn, open.admin("GET", "/api/sessions")),
      ({ json }) => json.data[0]
    )
    const session = `/api/sessions/${(yield* newSession).id}`
    yield* admin(200, "GET", "/api/sessions")
    yield* admin(204, "DELETE", session)
    yield* admin(204, "DELETE", "/api/sessions")

    // API keys.
    const apiKey = { name: "n", role: "admin" }
    yield* admin(201, "POST", "/api/keys", { body: apiKey })
    yield* admin(422, "POST", "/api/keys", { body: {} })
    yield* admin(200, "GET", "/api/keys")
    const [{ id: apiKeyId }] = (yield* open.admin("GET", "/api/keys")).json.data
    yield* admin(204, "DELETE", `/api/keys/${apiKeyId}`)
    yield* admin(200, "GET", "/api/access")
    const keyOf = (role: string, more: object = {}) =>
      Effect.map(open.admin("POST", "/api/keys", { body: { name: role, role, ...more } }), ({ json }) => ({
        headers: { authorization: `Bearer ${json.key}` }
      }))
    const [asCaller, asViewer, asAdmin] = [yield* keyOf("caller"), yield* keyOf("viewer"), yield* keyOf("admin")]
    const ofOneTeam = yield* keyOf("editor", { teams: ["ops"] })

    // Audit events.
    yield* admin(200, "GET", "/api/audit")
    yield* admin(400, "GET", "/api/audit?limit=0")
    for (const format of ["csv", "jsonl"]) {
      yield* admin(200, "GET", `/api/audit/export.${format}`)
      yield* admin(400, "GET", `/api/audit/export.${format}?from=then`)
    }

    // What every operation of the management may answer.
    const managed = operationsOf(document).filter(({ path }) => path.startsWith("/api/"))
    const named = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`
    expect(sorted(succeeded.keys())).toStrictEqual(sorted(managed.map(named)))
    const everything = managed.map((it) => ({ ...it, template: it.path, ...succeeded.get(named(it))! }))
    for (const { method, operation, path } of everything) {
      if (operation.requestBody?.content["application/json"] === undefined) continue
      yield* admin(400, method, path, notJson)
      yield* admin(413, method, path, path === "/api/config" ? larger : large)
      yield* admin(415, method, path, text)
    }
    /** The path with another last parameter, of something that does not exist. */
    const pathOfNone = (template: string, path: string) => {
      const names = template.split("/")
      const last = names.findLastIndex((name) => name.startsWith("{"))
      const other = ({ "{team}": "none", "{version}": "99" } as Record<string, string>)[names[last]!] ?? none.slice(1)
      const [pathname = "", query] = path.split("?")
      return [pathname.split("/").with(last, other).join("/"), query].filter(Boolean).join("?")
    }
    for (const { method, path, request, template } of everything) {
      if (template.includes("{")) yield* admin(404, method, pathOfNone(template, path), request)
    }

    // A backlog: one runs, one waits.
    yield* narrow.admin("POST", "/api/teams/silent/release")
    const waiting = yield* narrow.webhook("silent", "{{text}}", { timeout_seconds: 60 })
    yield* Effect.replicateEffect(narrow.http("POST", waiting.path, variables), 5)
    yield* slowCaller(429, "POST", waiting.path, variables)
    yield* slowAdmin(429, "POST", "/api/teams/silent/messages", message)
    yield* slowAdmin(429, "POST", replyTo(second), message)

    const ofLeaders = operationsOf(document)
      .filter(({ path }) => path.startsWith("/leader/"))
      .map(({ method, path }) => [method, path, { headers: unused, ...(method === "POST" && { body: {} }) }] as const)

    // Without the key, and without the database.
    for (const { method, path } of everything) {
      yield* caller(401, method, path)
      yield* admin(422, method, `${path}${path.includes("?") ? "&" : "?"}none=1`)
      yield* admin(405, method === "PUT" ? "POST" : "PUT", path, {}, method)
      for (const request of method === "GET" ? [asViewer, asCaller, ofOneTeam] : [asViewer, asCaller]) {
        const { status } = yield* open.http(method, path, request)
        if (status === 403) yield* caller(403, method, path, request)
      }
    }
    for (const [method, path] of ofLeaders) {
      yield* caller(401, method, path)
      yield* caller(405, "PUT", path, {}, method)
    }
    /** With the admin key, this one does not ask the store. */
    const withoutStore = (status: number, { method, path, request }: (typeof everything)[number]) =>
      path === "/api/access"
        ? caller(status, method, path, { ...request, ...asAdmin })
        : admin(status, method, path, request)
    open.faults.add("bug")
    for (const [method, path, request] of ofLeaders) yield* caller(500, method, path, request)
    for (const each of everything) yield* withoutStore(500, each)
    yield* caller(500, "POST", hook.path, variables)
    yield* caller(500, "GET", `${idle.path}/runs/${run_id}`)
    yield* caller(500, "POST", `${idle.path}/runs/${run_id}/cancel`)
    yield* caller(500, "GET", `${idle.path}/runs/${run_id}/events`)
    open.faults.clear()
    const guess = { headers: { authorization: "Bearer a-guess" } }
    yield* Effect.replicateEffect(open.http("GET", "/api/webhooks", guess), 10)
    for (const { method, path } of everything) yield* caller(429, method, path, guess)
    open.faults.add("database")
    for (const [method, path, request] of ofLeaders) yield* caller(503, method, path, request)
    for (const each of everything) yield* withoutStore(503, each)
    yield* caller(503, "GET", `${idle.path}/runs/${run_id}`)
    yield* caller(503, "POST", `${idle.path}/runs/${run_id}/cancel`)
    yield* caller(503, "GET", `${idle.path}/runs/${run_id}/events`)
    open.faults.clear()
    yield* admin(204, "DELETE", hookAt)

    const documented = operationsOf(document).flatMap(({ operation }) =>
      Object.keys(operation.responses).map((status) => `${operation.operationId} ${status}`)
    )
    expect(sorted([...seen])).toStrictEqual(sorted(documented))
  })
})

describe("/docs", () => {
  it.live("is one page without requests to another server, whose only script is its own search", function* () {
    const { http } = yield* start()
    const { text, headers, status } = yield* http("GET", "/docs")
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    const [, script = ""] = /<script>([\s\S]*?)<\/script>/.exec(text)!
    const hash = createHash("sha256").update(script).digest("base64")
    const policy = headers.get("content-security-policy")!
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^' ]+'; script-src 'sha256-[^' ]+';/)
    expect(policy).toContain(`script-src 'sha256-${hash}';`)
    expect(policy).not.toMatch(/unsafe/)
    const withoutScript = text.replace(`<script>${script}</script>`, "")
    expect(withoutScript).not.toMatch(/<script|<link|<img|<iframe|\ssrc=|https?:\/\/|@import|url\(|\sstyle=|\son\w+=/i)
  })

  it.live("lists the operations by group, and leads back to the web UI", function* () {
    const { http } = yield* start()
    const { text } = yield* http("GET", "/docs")
    const [contents = ""] = /<nav [\s\S]*?<\/nav>/.exec(text)!
    const teams = contents.slice(contents.indexOf(">Teams<"), contents.indexOf("</ul>", contents.indexOf(">Teams<")))
    expect(teams).toContain(">Create a team</a>")
    expect(teams).not.toContain(">Find runs</a>")
    expect(text).toContain('<a href="./">← Web UI</a>')
  })

  it.live("has an anchor for every operation, every code and every link in it", function* () {
    const { http } = yield* start()
    const { text } = yield* http("GET", "/docs")
    const ids = new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id))
    for (const { operation } of operationsOf((yield* http("GET", "/openapi.json")).json)) {
      expect(ids.has(operation.operationId), operation.operationId).toBe(true)
    }
    for (const code of Object.keys(titles)) expect(ids.has(code), code).toBe(true)
    for (const [, id] of text.matchAll(/href="#([^"]+)"/g)) expect(ids.has(id), id).toBe(true)
    const withoutTags = text.replaceAll(/<(style|script)>[\s\S]*?<\/\1>|<[^>]*>/g, "")
    expect(withoutTags).not.toMatch(/undefined|\[object|`/)
  })
})
