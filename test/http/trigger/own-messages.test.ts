import { Effect } from "effect"
import { recipes } from "../../../src/recipes/Recipes.ts"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, receiver } from "../../support/Receiver.ts"
import { repeatUntil } from "../../support/Until.ts"
import { start } from "../Server.ts"

/** Answers as services do that show who wrote what they got. */
const service: Answer = (response, { method, path }) => {
  const author = { id: 4711 }
  const slack = { ok: true, ts: "1.1", message: { bot_id: "B0TOKEN", app_id: "A0TOKEN" } }
  response.writeHead(method === "GET" ? 200 : 201)
  response.end(JSON.stringify(method === "GET" ? [] : path.includes("chat.postMessage") ? slack : { id: 1, author }))
}

/** A webhook for whole requests with a destination, one run of it, and what the service got of that. */
const written = (draft: object, settings: object = {}, prompt = "{{payload.comment.body?}}{{payload.event.text?}}") =>
  Effect.gen(function* () {
    const server = yield* start()
    const { port, received } = yield* receiver(service)
    yield* server.team("ops", ({ reply }) => reply({ _tag: "Answered", response: "Done, see **#7**: `x < y`." }))
    const hook = yield* server.webhook("ops", prompt, { input: "payload", ...settings })
    const path = `/api/webhooks/${hook.id}`
    const url = `http://127.0.0.1:${port}${"path" in draft ? draft.path : ""}`
    const { path: _, ...rest } = draft as { readonly path?: string }
    const created = yield* server.admin("POST", `${path}/destinations`, { body: { url, ...rest } })
    expect(created.status, created.text).toBe(201)
    const send = (body: object, to = hook) => server.http("POST", to.path, { body })
    expect((yield* send({ comment: { body: "Please help" }, event: { text: "Please help" } })).status).toBe(202)
    yield* repeatUntil(
      server.admin("GET", `${path}/deliveries`),
      ({ json: { data } }) =>
        data.some(({ event }: any) => event === "run.succeeded") &&
        data.every(({ status }: any) => status === "delivered")
    )
    const warnings = Effect.map(server.admin("GET", path), ({ json }) => json.warnings ?? [])
    return { ...server, hook, path, received, send, warnings, body: JSON.parse(received.at(-1)!.body) }
  })

const own = { status: 200, json: { status: "ignored", reason: "A destination of this server wrote the message." } }

const issue = { token: "x", kind: "github", target: "acme/shop#7" }

describe("a message of a destination that comes back", () => {
  it.live("starts no run as a comment of GitHub, at any webhook of the server, and people see why", function* () {
    const { admin, body, hook, path, send, team, webhook } = yield* written(issue)
    const comment = { id: 1, body: body.body as string, user: { type: "User" } }
    for (const action of ["created", "edited"]) {
      expect(yield* send({ action, comment, repository: { full_name: "acme/shop" } })).toMatchObject(own)
    }
    const crlf = { ...comment, body: comment.body.replaceAll("\n", "\r\n") }
    expect(yield* send({ action: "created", comment: crlf })).toMatchObject(own)
    const other = yield* webhook(yield* team("other"), "{{payload.comment.body}}", { input: "payload" })
    expect(yield* send({ action: "created", comment }, other)).toMatchObject(own)
    const relayed = yield* webhook("other", "{{text}}")
    expect(yield* send({ variables: { text: comment.body } }, relayed)).toMatchObject(own)
    const cancelling = yield* webhook("other", "{{text}}", {
      singleton: { key: "{{text}}", on_new: "queue" },
      cancel_if: "text != 'x'"
    })
    expect(yield* send({ variables: { text: comment.body } }, cancelling)).toMatchObject(own)
    const requests = yield* admin("GET", `${path}/requests?ignored=true`)
    expect(requests.json.data[0]).toMatchObject({ code: "ignored", detail: own.json.reason })
    expect(requests.json.ignored).toBe(3)
    expect((yield* admin("GET", `/api/webhooks/${hook.id}/runs`)).json.data).toHaveLength(1)
  })

  it.live("starts a run if a person has changed it, quotes it, copies its beginning or deletes it", function* () {
    const { body, send } = yield* written(issue)
    const text = body.body as string
    const [head] = text.split("\n")
    for (const changed of [`${text} No!`, `> ${text}`, `${head}\nPlease look at this`, "<!-- webhook-trigger"]) {
      expect((yield* send({ action: "created", comment: { body: changed } })).status, changed).toBe(202)
    }
    expect((yield* send({ action: "deleted", comment: { body: text } })).status).toBe(202)
    // What the request is about may be ours: a person reacts to it.
    expect((yield* send({ object_kind: "emoji", note: { note: text } })).status).toBe(202)
  })

  it.live("starts a run at a webhook that says so", function* () {
    const { body, send } = yield* written(issue, { own_messages: "accept" })
    expect((yield* send({ action: "created", comment: { body: body.body } })).status).toBe(202)
  })

  it.live("starts no run as a note or reaction of GitLab", function* () {
    const draft = { ...issue, kind: "gitlab", events: ["run.started", "run.succeeded"] }
    const { body, send } = yield* written(draft)
    expect(yield* send({ object_kind: "note", object_attributes: { note: body.body } })).toMatchObject(own)
    const reaction = { object_kind: "emoji", event_type: "award", object_attributes: { name: "eyes", user_id: 4711 } }
    expect(yield* send(reaction)).toMatchObject(own)
    const others = { ...reaction, object_attributes: { name: "eyes", user_id: 4712 } }
    expect((yield* send(others)).status).toBe(202)
  })

  it.live("starts no run as a Slack message of the token, whatever of it Slack shows", function* () {
    const draft = { kind: "slack-message", token: "xoxb-x", target: "C0123456789" }
    const { body, send, team, webhook } = yield* written(draft)
    for (const shown of [{ bot_id: "B0TOKEN" }, { app_id: "A0TOKEN" }, { bot_profile: { id: "B0TOKEN" } }]) {
      expect(yield* send({ event: { type: "message", text: "Done", ...shown } })).toMatchObject(own)
      const message = { text: "Done", ...shown }
      expect(yield* send({ event: { subtype: "message_changed", message } })).toMatchObject(own)
    }
    const { blocks } = body
    expect(yield* send({ event: { type: "message", text: "Done", blocks } })).toMatchObject(own)
    expect((yield* send({ event: { text: "Hi", user: "U1" } })).status).toBe(202)
    expect((yield* send({ event: { text: "Hi", bot_id: "B0OTHER" } })).status).toBe(202)
    // Another team cannot be made to ignore a bot by those who choose an API that claims to be it.
    const other = yield* webhook(yield* team("other"), "{{payload.event.text}}", { input: "payload" })
    expect((yield* send({ event: { text: "Hi", bot_id: "B0TOKEN" } }, other)).status).toBe(202)
    expect(yield* send({ event: { text: "Done", blocks } }, other)).toMatchObject(own)
  })

  it.live("starts no run as a message of the Slack app whose incoming webhook wrote it", function* () {
    const { body, send } = yield* written({ kind: "slack", path: "/services/T0/B0URL/s3cret" })
    expect(yield* send({ event: { text: "Done", bot_id: "B0URL" } })).toMatchObject(own)
    expect(yield* send({ event: { text: "Done", bot_id: "B1", blocks: body.blocks } })).toMatchObject(own)
    const event = { text: "Done", bot_id: "B1", app_id: "A1" }
    expect(yield* send({ api_app_id: "A1", event })).toMatchObject(own)
    expect((yield* send({ api_app_id: "A2", event })).status).toBe(202)
  })

  it.live("starts no run as a message of Discord that a relay forwards", function* () {
    const { send } = yield* written({ kind: "discord", path: "/api/webhooks/111222333/s3cret" })
    const message = (webhook_id: string) => ({ webhook_id, author: { id: webhook_id, bot: true }, content: "Done" })
    expect(yield* send(message("111222333"))).toMatchObject(own)
    expect((yield* send(message("444"))).status).toBe(202)
  })
})

it.live("events that start a run of their own webhook come to an end", function* () {
  const { admin, http, port, team, webhook, history } = yield* start()
  const hook = yield* webhook(yield* team("ops"), "{{payload}}", { input: "payload" })
  const [url, headers] = [`http://127.0.0.1:${port}/webhook/trigger`, { authorization: `Bearer ${hook.token}` }]
  const path = `/api/webhooks/${hook.id}`
  const created = yield* admin("POST", `${path}/destinations`, { body: { url, headers } })
  expect(created.status, created.text).toBe(201)
  yield* http("POST", hook.path, { body: {} })
  const deliveries = yield* repeatUntil(
    Effect.map(admin("GET", `${path}/deliveries`), ({ json }) => json.data),
    (all) => all.length >= 6 && all.every(({ status }: any) => status === "delivered")
  )
  expect(JSON.parse(deliveries[0].attempts[0].answer)).toMatchObject({ status: "ignored" })
  expect((yield* history(hook.id)).map(({ chain_depth }) => chain_depth)).toEqual([5, 4, 3, 2, 1, undefined])
})

describe("a webhook whose destination writes where its source listens", () => {
  it.live("has a warning, which says whether that is endless", function* () {
    const { admin, path, warnings } = yield* written(issue)
    expect(yield* warnings).toEqual([
      { pointer: "/accept_if", detail: expect.stringContaining("recognized and ignored") }
    ])
    yield* admin("PATCH", path, { body: { own_messages: "accept" } })
    expect(yield* warnings).toEqual([{ pointer: "/own_messages", detail: expect.stringContaining("endlessly") }])
    yield* admin("PATCH", path, { body: { accept_if: "payload.sender.type == 'User'" } })
    expect(yield* warnings).toEqual([])
  })

  it.live("is none with the recipe of the service, or another service's destination", function* () {
    const { github } = recipes
    const { admin, path, webhook } = yield* written(issue)
    const copy = { ...github.settings, verification: github.verification, secret: "0123456789abcdef0123" }
    const reviews = yield* webhook("ops", github.prompt_template, copy)
    for (const id of [reviews.id, path.split("/")[3]]) {
      const url = "http://127.0.0.1:9"
      yield* admin("POST", `/api/webhooks/${id}/destinations`, {
        body: { kind: "gitlab", url, token: "x", target: "a!1" }
      })
    }
    yield* admin("POST", `/api/webhooks/${reviews.id}/destinations`, {
      body: { ...issue, url: "http://127.0.0.1:9" }
    })
    expect((yield* admin("GET", `/api/webhooks/${reviews.id}`)).json.warnings).toBeUndefined()
    expect((yield* admin("GET", path)).json.warnings).toHaveLength(1)
  })
})
