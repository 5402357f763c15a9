import { Effect } from "effect"
import { comments } from "../../support/Comments.ts"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, cut, type Received, receiver } from "../../support/Receiver.ts"
import { repeatUntil } from "../../support/Until.ts"
import { hello, type Options, start } from "../Server.ts"

const answer = "Hello **@octocat**, <!channel> see [docs](https://a.example/)."

/** For a day: a limit that is over by then would be none. */
const rateLimited = {
  "x-ratelimit-remaining": "0",
  "x-ratelimit-reset": String(Math.ceil(Date.now() / 1000) + 86_400)
}

/** A webhook with a destination of a service, whose team's leader answers with Markdown. */
const addDestination = (
  server: Effect.Success<ReturnType<typeof start>>,
  draft: object,
  { response = answer, team = "ops" }: { readonly response?: string | undefined; readonly team?: string } = {}
) =>
  Effect.gen(function* () {
    const hook = yield* server.webhook(yield* server.team(team, ({ reply }) => reply({ _tag: "Answered", response })))
    const path = `/api/webhooks/${hook.id}`
    const created = yield* server.admin("POST", `${path}/destinations`, { body: draft })
    expect(created.status, created.text).toBe(201)
    const trigger = Effect.map(
      server.http("POST", `${hook.path}?wait=true`, { body: hello }),
      ({ json }) => json.run_id
    )
    /** The delivery of a run, once it has been attempted so often. */
    const attempted = (run_id: string, times = 1) =>
      Effect.map(
        repeatUntil(
          server.admin("GET", `${path}/deliveries?run_id=${run_id}`),
          ({ json }) => json.data[0]?.attempts.length >= times
        ),
        ({ json }) => json.data[0]
      )
    return {
      ...server,
      attempted,
      created: created.json,
      path,
      destinationPath: `${path}/destinations/${created.json.destination.id}`,
      triggered: Effect.flatMap(trigger, (id) => attempted(id))
    }
  })

/** A server with such a webhook. */
const withDestination = (draft: object, options: Options & { readonly response?: string | undefined } = {}) =>
  Effect.flatMap(start(options), (server) => addDestination(server, draft, options))

describe("destinations by name", () => {
  it.live("send the answer to Slack in its form, and show only the host of the secret URL", function* () {
    const { port, received } = yield* receiver({ status: 200, body: "ok" })
    const url = `http://127.0.0.1:${port}/services/T0/B0/s3cret`
    const { admin, created, destinationPath, triggered } = yield* withDestination({ kind: "slack", url })
    expect(created).toMatchObject({
      destination: { kind: "slack", url: `http://127.0.0.1:${port}/…`, body: "full", secret_hint: "…cret" }
    })
    expect(created.secret).toBeUndefined()
    expect(yield* triggered).toMatchObject({ status: "delivered", attempts: [{ http_status: 200, answer: "ok" }] })
    const [{ body, headers, path }] = received as [Received]
    expect(path).toBe("/services/T0/B0/s3cret")
    expect(headers["webhook-signature"]).toBeUndefined()
    expect(JSON.parse(body)).toEqual({
      text: "a webhook ✅ succeeded",
      blocks: [
        {
          type: "section",
          block_id: expect.stringMatching(/^webhook-trigger [\da-f-]{36} [\da-f]{32}$/),
          text: {
            type: "mrkdwn",
            text: "*a webhook* ✅ succeeded\n\nHello *@\u200boctocat*, &lt;!channel&gt; see <https://a.example/|docs>.",
            verbatim: true
          }
        }
      ],
      unfurl_links: false,
      unfurl_media: false
    })
    const edited = yield* admin("PATCH", destinationPath, { body: { url: created.destination.url, body: "thin" } })
    expect(edited.status).toBe(200)
    yield* admin("POST", `${destinationPath}/test`)
    expect(received[1]!.path).toBe("/services/T0/B0/s3cret")
    expect(JSON.parse(received[1]!.body).text).toBe("Test: a webhook ✅ succeeded")
    const audit = yield* admin("GET", "/api/audit")
    expect(audit.text).not.toContain("s3cret")
    expect((yield* admin("POST", `${destinationPath}/secret`)).status).toBe(422)
  })

  it.live.each([
    ["takes too long to read", "*__a ".repeat(8_000), "*__a *__a "],
    ["is nested too deep", ">".repeat(30_000), "&gt;&gt;"]
  ])("show an answer as code that %s", ([, response, shown]) =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver(200)
      const { admin, path, triggered } = yield* withDestination({ kind: "slack", url }, { response })
      yield* triggered
      // On a busy machine, it cannot be read at once.
      yield* repeatUntil(
        admin("GET", `${path}/deliveries`),
        ({ json: { data } }) => data.length === 1 && data[0].status === "delivered"
      )
      const { blocks } = JSON.parse(received[0]!.body)
      expect(blocks[0].text.text.startsWith(`\`\`\`\n**a webhook** ✅ succeeded\n\n${shown}`)).toBe(true)
    })
  )

  it.live("are tried again when the service is busy, broken or elsewhere, or cuts the connection", function* () {
    const answers: ReadonlyArray<readonly [Answer, object]> = [
      [
        { status: 429, headers: { "retry-after": "3600.5" } },
        { http_status: 429, error: "answered 429" }
      ],
      [500, { http_status: 500, error: "answered 500", answer: "answer 1" }],
      [302, { http_status: 302, error: "answered 302; redirects are not followed" }],
      [cut, { error: "socket hang up" }]
    ]
    const pauses = yield* Effect.forEach(
      answers,
      ([one, attempt]) =>
        Effect.gen(function* () {
          const { url } = yield* receiver(one)
          const { triggered } = yield* withDestination({ kind: "discord", url })
          const delivery = yield* triggered
          expect(delivery).toMatchObject({ status: "pending", attempts: [attempt] })
          return (Date.parse(delivery.next_attempt_at) - Date.parse(delivery.attempts[0].at)) / 1000
        }),
      { concurrency: "unbounded" }
    )
    expect(pauses[0]).toBeGreaterThanOrEqual(3_600)
    expect(pauses[1]).toBeLessThan(60)
  })

  it.live("post into a Slack thread by token, and fail as Slack says", function* () {
    const { port, received } = yield* receiver(
      { status: 200, body: '{"ok":true,"ts":"1"}' },
      { status: 200, body: '{"ok":false,"error":"channel_not_found"}' },
      { status: 200, body: '{"ok":tr' }
    )
    const draft = { kind: "slack-message", url: `http://127.0.0.1:${port}/api`, token: "xoxb-s3cret" }
    const target = "C0123456789/1700000000.000100"
    const { admin, created, destinationPath, path, triggered } = yield* withDestination({ ...draft, target })
    expect(JSON.stringify(created)).not.toContain("xoxb-s3cret")
    expect(yield* triggered).toMatchObject({ status: "delivered" })
    const [{ body, headers, path: posted }] = received as [Received]
    expect([posted, headers.authorization]).toEqual(["/api/chat.postMessage", "Bearer xoxb-s3cret"])
    expect(JSON.parse(body)).toMatchObject({
      ...{ channel: "C0123456789", thread_ts: "1700000000.000100", parse: "none", link_names: false }
    })
    expect(yield* triggered).toMatchObject({
      status: "pending",
      attempts: [{ error: "Slack refused it: channel_not_found" }]
    })
    // Accepted by its status: another attempt would repeat the message.
    const unread = yield* admin("POST", `${destinationPath}/test`)
    expect(unread.json).toMatchObject({ http_status: 200, answer: '{"ok":tr' })
    expect(unread.json.error).toBeUndefined()
    const moved = yield* admin("PATCH", destinationPath, { body: { url: "https://slack.example.org/api" } })
    expect(moved.json.errors).toEqual([{ pointer: "/token", detail: "must be entered again for another URL" }])
    yield* admin("PATCH", destinationPath, { body: { target: "#general" } })
    const test = yield* admin("POST", `${destinationPath}/test`)
    expect(test.json.error).toContain("the channel must be an ID")
    const incomplete = yield* admin("POST", `${path}/destinations`, { body: { kind: "slack-message", headers: {} } })
    expect(incomplete.json.errors.map(({ pointer }: any) => pointer)).toEqual(["/token", "/target", "/headers"])
  })

  it.live("answer a slash command at the URL of its run, which must be Slack's", function* () {
    const { port, received } = yield* receiver(200, 503)
    const target = "{{ values.text }}"
    const { admin, attempted, destinationPath, http, path } = yield* withDestination(
      { kind: "slack-response", target },
      {
        allowed: { hosts: ["hooks.slack.com", "127.0.0.1"], networks: [] },
        resolve: () => Promise.resolve(["127.0.0.1"])
      }
    )
    const hook = yield* admin("POST", `/api/webhooks/${path.split("/")[3]}/token`)
    const run = (text: string) =>
      Effect.flatMap(
        http("POST", `${new URL(hook.json.trigger_url).pathname}?wait=true`, { body: { variables: { text } } }),
        ({ json }) => attempted(json.run_id)
      )
    expect(yield* run(`http://hooks.slack.com:${port}/commands/1`)).toMatchObject({ status: "delivered" })
    expect(JSON.parse(received[0]!.body)).toMatchObject({ response_type: "ephemeral", replace_original: false })
    expect(yield* run(`http://127.0.0.1:${port}/commands/1`)).toMatchObject({
      attempts: [{ error: "the response URL must be at hooks.slack.com" }]
    })
    expect(received).toHaveLength(1)
    expect(yield* run(`http://hooks.slack.com:${port}/commands/2`)).toMatchObject({
      ...{ status: "pending", attempts: [{ http_status: 503 }] }
    })
    const { failing_since, paused_until, url } = (yield* admin("GET", destinationPath)).json
    expect({ failing_since, paused_until, url }).toEqual({ url: "https://hooks.slack.com/…" })
  })

  it.live("keep one comment on GitHub up to date, which nobody can put there in advance", function* () {
    const { all, answerTo } = comments()
    const { port, received } = yield* receiver(answerTo)
    for (let id = 1; id <= 60; id++) all.push({ id, body: "a comment" })
    all[3] = { id: 4, body: "<!-- webhook-trigger 0123456789abcdef0123456789abcdef 1 -->" }
    const draft = { kind: "github", url: `http://127.0.0.1:${port}`, token: "github_pat_x", target: "acme/shop#7" }
    const { triggered } = yield* withDestination(draft)
    expect(yield* triggered).toMatchObject({ status: "delivered", attempts: [{ http_status: 201 }] })
    expect(yield* triggered).toMatchObject({ status: "delivered", attempts: [{ http_status: 200 }] })
    expect(received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /repos/acme/shop/issues/7/comments?per_page=50&page=1",
      "GET /repos/acme/shop/issues/7/comments?per_page=50&page=2",
      "POST /repos/acme/shop/issues/7/comments",
      "GET /repos/acme/shop/issues/comments/61",
      "PATCH /repos/acme/shop/issues/comments/61"
    ])
    expect(received[0]!.headers).toMatchObject({
      ...{ authorization: "Bearer github_pat_x", accept: "application/vnd.github+json" }
    })
    expect(all).toHaveLength(61)
    expect(all[60]!.body).toMatch(
      /^<!-- webhook-trigger [\da-f]{32} [\da-f-]{36} answer [\da-f]{32} -->\n\*\*a webhook\*\* ✅ succeeded\n\nHello \*\*@\u200boctocat\*\*, &lt;!channel&gt; see \[docs\]/
    )
    const newer = all[60]!.body.replace(/ [\da-f-]{36} /, " ffffffff-0000-7000-8000-000000000000 ")
    all[60]!.body = newer
    const late = yield* triggered
    expect(late).toMatchObject({
      status: "delivered",
      attempts: [{ answer: "The comment has the answer of a later run." }]
    })
    expect(all[60]!.body).toBe(newer)
  })

  it.live("keep one note on GitLab up to date, of an issue or a merge request", function* () {
    const { all, answerTo } = comments()
    const { port, received } = yield* receiver(answerTo)
    const draft = { kind: "gitlab", url: `http://127.0.0.1:${port}/api/v4`, token: "glpat-x", target: "acme/shop!7" }
    const { admin, destinationPath, triggered } = yield* withDestination(draft)
    yield* triggered
    yield* triggered
    expect(received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /api/v4/projects/acme%2Fshop/merge_requests/7/notes?sort=asc&order_by=created_at&per_page=50&page=1",
      "POST /api/v4/projects/acme%2Fshop/merge_requests/7/notes",
      "GET /api/v4/projects/acme%2Fshop/merge_requests/7/notes/1",
      "PUT /api/v4/projects/acme%2Fshop/merge_requests/7/notes/1"
    ])
    expect(received[1]!.headers["private-token"]).toBe("glpat-x")
    expect(all).toHaveLength(1)
    yield* admin("PATCH", destinationPath, { body: { target: "acme/shop#8" } })
    yield* triggered
    expect(received.at(-1)!.path).toBe("/api/v4/projects/acme%2Fshop/issues/8/notes")
  })

  it.live("keep a comment for each name that stands after the number", function* () {
    const { all, answerTo } = comments()
    const { port, received } = yield* receiver(answerTo)
    const draft = { kind: "github", url: `http://127.0.0.1:${port}`, token: "x", target: "acme/shop#7/99.a" }
    const { admin, destinationPath, triggered } = yield* withDestination(draft)
    for (const target of ["acme/shop#7/99.a", "acme/shop#7/98", "acme/shop#7"]) {
      yield* admin("PATCH", destinationPath, { body: { target } })
      yield* triggered
      yield* triggered
    }
    expect(all.map(({ id }) => id)).toEqual([1, 2, 3])
    expect(new Set(received.map(({ path }) => path.split("?")[0]))).toEqual(
      new Set(
        ["", "/1", "/2", "/3"].map((id) => `/repos/acme/shop/issues${id === "" ? "/7/comments" : `/comments${id}`}`)
      )
    )
  })

  it.live(
    "fail for a run whose issue is not there, or has no form of one, at once and for this run alone",
    function* () {
      const { port } = yield* receiver(410, 404, { status: 200, body: "[]" })
      const draft = { kind: "github", url: `http://127.0.0.1:${port}`, token: "x", target: "acme/shop#7" }
      const { admin, destinationPath, triggered } = yield* withDestination(draft)
      for (const http_status of [410, 404]) {
        const failed = yield* triggered
        expect(failed).toMatchObject({ status: "failed", attempts: [{ http_status }] })
        expect(failed.next_attempt_at).toBeUndefined()
      }
      yield* admin("PATCH", destinationPath, { body: { target: "nowhere" } })
      expect(yield* triggered).toMatchObject({
        status: "failed",
        attempts: [{ error: "the target must be owner/repository#number" }]
      })
      const { disabled_reason, enabled, failing_since, paused_until } = (yield* admin("GET", destinationPath)).json
      expect({ disabled_reason, enabled, failing_since, paused_until }).toEqual({ enabled: true })
    }
  )

  it.live("count as failing when the token sees nothing of the repository, unless callers choose it", function* () {
    for (const target of ["acme/shop#7", "acme/{{ values.text }}#7"]) {
      const { port, received } = yield* receiver(404)
      const draft = { kind: "github", url: `http://127.0.0.1:${port}`, token: "x", target }
      const { admin, destinationPath, triggered } = yield* withDestination(draft)
      const isFixed = !target.includes("{")
      expect(yield* triggered).toMatchObject({
        status: isFixed ? "pending" : "failed",
        attempts: [{ http_status: 404 }]
      })
      expect(received[1]!.path).toMatch(/^\/repos\/acme\/[a-z]+$/)
      expect((yield* admin("GET", destinationPath)).json.failing_since !== undefined).toBe(isFixed)
    }
  })

  it.live("are not failing when they refuse a place that a caller chose, but when they refuse the token", function* () {
    const ofSlack = (error: string): Answer => ({ status: 200, body: JSON.stringify({ ok: false, error }) })
    const cases: ReadonlyArray<readonly [kind: string, target: string, answer: Answer, counts: boolean]> = [
      ["github", "acme/{{ values.text }}#7", 403, false],
      ["github", "acme/shop#{{ values.text | size }}", 403, false],
      ["github", "acme/shop#{{ values.text | size }}", 422, false],
      ["github", "acme/shop#7", 403, true],
      ["github", "acme/{{ values.text }}#7", 401, true],
      ["github", "acme/{{ values.text }}#7", 500, true],
      ["github", "acme/{{ values.text }}#7", { status: 403, headers: { "retry-after": "60" } }, true],
      ["github", "acme/{{ values.text }}#7", { status: 403, headers: rateLimited }, true],
      ["github", "acme/{{ values.text }}#7", { status: 403, body: "a secondary rate limit" }, true],
      ["slack-message", "{{ values.text | upcase }}", ofSlack("channel_not_found"), false],
      ["slack-message", "{{ values.text | upcase }}", ofSlack("cannot_reply_to_message"), false],
      ["slack-message", "{{ values.text | upcase }}", ofSlack("invalid_auth"), true],
      ["slack-message", "C01/{{ values.text | size }}.1", ofSlack("not_in_channel"), true],
      ["slack-message", "C01/{{ values.text | size }}.1", ofSlack("cannot_reply_to_message"), false]
    ]
    const server = yield* start()
    for (const [index, [kind, target, answer, counts]] of cases.entries()) {
      const { port } = yield* receiver(answer)
      const draft = { kind, url: `http://127.0.0.1:${port}`, token: "x", target }
      const { admin, destinationPath, triggered } = yield* addDestination(server, draft, { team: `ops-${index}` })
      const { status } = yield* triggered
      const { failing_since } = (yield* admin("GET", destinationPath)).json
      expect([target, answer, status, failing_since !== undefined]).toEqual([target, answer, "pending", counts])
    }
  })

  it.live("attach an answer that is too long for Discord, and send Teams a card", function* () {
    const { received, url } = yield* receiver(204)
    const template = "{% for i in (1..500) %}{{ run.response }}\n\n{% endfor %}"
    const { admin, path, triggered } = yield* withDestination(
      { kind: "discord", url, body: "template", template },
      { publicUrl: "https://hooks.example.com/" }
    )
    expect(yield* triggered).toMatchObject({ status: "delivered" })
    const [{ body, headers }] = received as [Received]
    expect(headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/)
    expect(body).toContain('name="files[0]"; filename="answer.md"')
    expect(body).toMatch(/\[Show the run\]\(https:\/\/hooks\.example\.com\/runs\/[\da-f-]{36}\)/)
    expect(body.split(answer)).toHaveLength(501)
    expect(body).toContain('"allowed_mentions":{"parse":[]}')
    const teams = yield* admin("POST", `${path}/destinations`, { body: { kind: "teams", url } })
    yield* admin("POST", `${path}/destinations/${teams.json.destination.id}/test`)
    expect(JSON.parse(received.at(-1)!.body).attachments[0].content.body[0]).toEqual({
      ...{ type: "TextBlock", text: "**Test: a webhook** ✅ succeeded", wrap: true }
    })
  })
})
