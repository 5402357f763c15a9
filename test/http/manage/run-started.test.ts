import { Deferred, Effect } from "effect"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, receiver } from "../../support/Receiver.ts"
import { repeatUntil, untilEffect } from "../../support/Until.ts"
import { hello, type Leader, start } from "../Server.ts"

/** A server and a webhook with a destination, whose leader answers once `answers` is done. */
const withDestination = (draft: object) =>
  Effect.gen(function* () {
    const answers = yield* Deferred.make<void>()
    const leader: Leader = ({ reply }) =>
      Effect.andThen(Deferred.await(answers), reply({ _tag: "Answered", response: "42" }))
    const server = yield* start()
    const hook = yield* server.webhook(yield* server.team("ops", leader))
    const path = `/api/webhooks/${hook.id}`
    const created = yield* server.admin("POST", `${path}/destinations`, { body: draft })
    expect(created.status, created.text).toBe(201)
    const deliveries = (count: number): Effect.Effect<Array<any>> =>
      repeatUntil(
        Effect.map(server.admin("GET", `${path}/deliveries`), ({ json }) => json.data),
        (all) => all.length >= count && all.every(({ status }: any) => status !== "pending")
      )
    const trigger = Effect.map(server.http("POST", hook.path, { body: hello }), ({ json }) => json.run_id as string)
    const { destination, secret } = created.json
    return { ...server, answers, deliveries, destination, path, secret: secret as string, trigger }
  })

/** Answers reactions as given, and has no comments. */
const issue =
  (reaction: number, text = "{}"): Answer =>
  (response, { method, path }) => {
    const isReaction = /\/(reactions|award_emoji)$/.test(path)
    response.writeHead(isReaction ? reaction : method === "GET" ? 200 : 201)
    response.end(isReaction ? text : method === "GET" ? "[]" : "{}")
  }

const eventsOf = (all: ReadonlyArray<any>) => all.map(({ event, status }) => [event, status])

describe("the start of a run", () => {
  it.live("is a reaction to the issue on GitHub while the agent works, and its end the comment", function* () {
    const { port, received } = yield* receiver(issue(201))
    const { answers, deliveries, trigger } = yield* withDestination({
      ...{ kind: "github", url: `http://127.0.0.1:${port}`, token: "github_pat_x", target: "acme/shop#7" },
      events: ["run.started", "run.succeeded"]
    })
    const run_id = yield* trigger
    const [started, ...others] = yield* deliveries(1)
    expect(others).toEqual([])
    expect(started).toMatchObject({ run_id, event: "run.started", attempts: [{ http_status: 201 }] })
    expect(received.map(({ body, method, path }) => [method, path, JSON.parse(body)])).toEqual([
      ["POST", "/repos/acme/shop/issues/7/reactions", { content: "eyes" }]
    ])
    expect(received[0]!.headers.authorization).toBe("Bearer github_pat_x")
    yield* Deferred.succeed(answers, undefined)
    expect(eventsOf(yield* deliveries(2))).toEqual([
      ["run.succeeded", "delivered"],
      ["run.started", "delivered"]
    ])
    expect(received.at(-1)).toMatchObject({ method: "POST", path: "/repos/acme/shop/issues/7/comments" })
  })

  it.live("is a reaction on GitLab, which may be there already; and fails for a run whose issue is not", function* () {
    const taken = '{"message":"404 Award Emoji Name has already been taken Not Found"}'
    for (const [text, status] of [
      [taken, "delivered"],
      ['{"message":"404 Not found"}', "failed"]
    ] as const) {
      const { port, received } = yield* receiver(issue(404, text))
      const url = `http://127.0.0.1:${port}/api/v4`
      const draft = { kind: "gitlab", url, token: "x", target: "acme/shop!7", events: ["run.started"] }
      const { admin, deliveries, destination, path, trigger } = yield* withDestination(draft)
      yield* trigger
      expect(eventsOf(yield* deliveries(1))).toEqual([["run.started", status]])
      expect(received[0]).toMatchObject({
        method: "POST",
        path: "/api/v4/projects/acme%2Fshop/merge_requests/7/award_emoji",
        body: '{"name":"eyes"}'
      })
      const { enabled, failing_since } = (yield* admin("GET", `${path}/destinations/${destination.id}`)).json
      expect({ enabled, failing_since }).toEqual({ enabled: true })
    }
  })

  it.live("is a signed event for those that ask for it, also of a run that ends at once, and no chain", function* () {
    const { received, url } = yield* receiver(200)
    const { admin, answers, deliveries, path, secret, trigger } = yield* withDestination({
      url,
      events: ["run.started", "run.succeeded"]
    })
    const byDefault = (yield* admin("POST", `${path}/destinations`, { body: { url: `${url}/ends` } })).json
    expect(byDefault.destination.events).not.toContain("run.started")
    const target = byDefault.destination.webhook_id.replace(/^./, "1")
    const chain = { kind: "chain", target, events: ["run.started"] }
    expect((yield* admin("POST", `${path}/destinations`, { body: chain })).json.errors[0]).toMatchObject({
      pointer: "/events",
      detail: expect.stringMatching(/^cannot contain run\.started/)
    })
    yield* Deferred.succeed(answers, undefined)
    const run_id = yield* trigger
    const all = yield* deliveries(3)
    const { created_at, id } = all.find(({ event }) => event === "run.started")
    const sent = yield* untilEffect(
      "it has arrived",
      Effect.sync(() => received.find(({ headers }) => headers["webhook-id"] === id))
    )
    const event = new StandardWebhook(secret).verify(sent.body, sent.headers as Record<string, string>)
    expect(event).toMatchObject({ type: "run.started", timestamp: created_at, data: { run_id, team: "ops" } })
    expect(received.filter(({ path }) => path === "/hook/ends")).toHaveLength(1)
  })
})
