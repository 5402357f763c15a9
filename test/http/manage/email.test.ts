import { Effect, Option } from "effect"
import { parseSmtpUrl } from "../../../src/engine/delivery/mail/SmtpServer.ts"
import { describe, expect, it } from "../../support/It.ts"
import { headerOf, type MailServerOptions, mailServer, partOf } from "../../support/MailServer.ts"
import { repeatUntil } from "../../support/Until.ts"
import { hello, start } from "../Server.ts"

const answer =
  "# Result\n\nAll **good**, see [docs](https://a.example/), not [this](javascript:alert(1)).\n\n<img src=x>"

const login = { user: "hooks", password: "p@ss:w/rd" }

/** A server whose mails go to a mail server, and a webhook with a destination of recipients. */
const withMail = (mailOptions: MailServerOptions = {}, target = "ops@example.com", more: object = {}) =>
  Effect.gen(function* () {
    const mail = yield* mailServer(mailOptions)
    const place = Option.getOrThrow(parseSmtpUrl(mail.url))
    const from = { name: "Web hooks", address: "hooks@sender.example" }
    const server = yield* start({ mail: { server: place, from, ca: mail.ca } })
    const hook = yield* server.webhook(
      yield* server.team("ops", ({ reply }) => reply({ _tag: "Answered", response: answer })),
      "{{text}}",
      { name: "nightly\u202e build" }
    )
    const path = `/api/webhooks/${hook.id}`
    const created = yield* server.admin("POST", `${path}/destinations`, { body: { kind: "email", target, ...more } })
    expect(created.status, created.text).toBe(201)
    const { id } = created.json.destination
    /** The only delivery, once it has been attempted so often. */
    const attempted = (times = 1) =>
      Effect.map(
        repeatUntil(server.admin("GET", `${path}/deliveries`), ({ json }) => json.data[0]?.attempts.length >= times),
        ({ json }) => json.data[0]
      )
    return {
      ...server,
      attempted,
      received: mail.received,
      created: created.json.destination,
      triggered: Effect.andThen(server.http("POST", `${hook.path}?wait=true`, { body: hello }), attempted()),
      destination: Effect.map(server.admin("GET", `${path}/destinations/${id}`), ({ json }) => json),
      destinationPath: `${path}/destinations/${id}`
    }
  })

describe.concurrent("e-mail", () => {
  it.live("sends the answer as text and as HTML that runs and loads nothing", function* () {
    const target = "ops@example.com, On.Call+1@example.org"
    const { created, received, triggered } = yield* withMail({ login }, target)
    expect(created).toMatchObject({ kind: "email", url: "mailto:…", target, body: "full" })
    const delivery = yield* triggered
    expect(delivery).toMatchObject({ status: "delivered", attempts: [{ http_status: 250 }] })
    const [mail] = received
    expect(mail).toMatchObject({
      ...{ from: "hooks@sender.example", to: ["ops@example.com", "On.Call+1@example.org"] },
      ...{ isSecure: true, user: "hooks" }
    })
    expect(headerOf(mail!, "message-id")).toEqual([`<${delivery.id}@sender.example>`])
    expect(headerOf(mail!, "subject")).toEqual(["=?UTF-8?Q?nightly_build_=E2=9C=85_succeeded?="])
    expect(headerOf(mail!, "from")).toEqual(["Web hooks <hooks@sender.example>"])
    expect(headerOf(mail!, "auto-submitted")).toEqual(["auto-generated"])
    expect(partOf(mail!, "text/plain").replaceAll("\r\n", "\n")).toMatch(
      /succeeded\n\nResult\n\nAll good, see docs \(https:\/\/a\.example\/\), not this javascript:alert\(1\)\.\n\n<img src=x>$/
    )
    const html = partOf(mail!, "text/html")
    expect(html).toContain("<h1>Result</h1>")
    expect(html).toContain('<strong>good</strong>, see <a href="https://a.example/">docs</a>')
    expect(html).toContain("<code>javascript:alert(1)</code>")
    expect(html).toContain("&lt;img src=x&gt;")
  })

  it.live("is sent by TLS from the start, and without TLS only where the operator says so", function* () {
    for (const tls of ["implicit", "off"] as const) {
      const { received, triggered } = yield* withMail({ tls })
      expect(yield* triggered).toMatchObject({ status: "delivered" })
      expect(received).toMatchObject([{ isSecure: tls === "implicit" }])
    }
  })

  it.live("is tried again under the same ID after 4xx, and fails at once after 5xx", function* () {
    const busy = yield* withMail({ replies: [451, undefined] })
    const pending = yield* busy.triggered
    expect(pending).toMatchObject({ status: "pending", attempts: [{ http_status: 451, error: "answered 451" }] })
    const pause = Date.parse(pending.next_attempt_at) - Date.parse(pending.attempts[0].at)
    expect(pause).toBeGreaterThanOrEqual(5_000)
    const path = busy.destinationPath.replace(/destinations.*/, `deliveries/${pending.id}/resend`)
    expect((yield* busy.admin("POST", path)).status).toBe(200)
    expect(yield* busy.attempted(2)).toMatchObject({ id: pending.id, status: "delivered" })
    expect(busy.received.map((one) => headerOf(one, "message-id")[0])).toEqual([
      `<${pending.id}@sender.example>`,
      `<${pending.id}@sender.example>`
    ])

    const refusing = yield* withMail({ replyTo: () => 550 })
    expect(yield* refusing.triggered).toMatchObject({ status: "failed", attempts: [{ http_status: 550 }] })
    expect((yield* refusing.destination).failing_since).toBeDefined()
  })

  it.live("shows which recipient was refused, and goes on for the others", function* () {
    const target = "ops@example.com,gone@example.com"
    const { destination, received, triggered } = yield* withMail(
      { replyTo: (one) => (one.startsWith("gone") ? 550 : undefined) },
      target
    )
    const { attempts, status } = yield* triggered
    expect(status).toBe("failed")
    expect(attempts[0].error).toMatch(/^refused for gone@example\.com: .*550/)
    expect(received.map(({ to }) => to)).toEqual([["ops@example.com"]])
    expect((yield* destination).failing_since).toBeUndefined()
    const later = yield* withMail({ replyTo: (one) => (one.startsWith("gone") ? 450 : undefined) }, target)
    expect(yield* later.triggered).toMatchObject({ status: "pending" })
  })

  it.live("is tried again when there is no server, or it has another certificate or refuses the login", function* () {
    const refused = yield* mailServer({ login })
    const plain = yield* mailServer({ tls: "off" })
    const other = { ...plain, url: plain.url.replace("?tls=off", "") }
    const wrong = { ...refused, url: refused.url.replace("hooks:", "other:") }
    const cases = [
      [{ url: "smtp://localhost:1?tls=off" }, undefined, /^the mail server: .*ECONNREFUSED/],
      [refused, undefined, /^the mail server: .*self-signed/],
      [wrong, refused.ca, /^the mail server refused the login: 535/],
      // A password must not go to a server that takes away STARTTLS.
      [other, plain.ca, /^the mail server: .*STARTTLS|^the mail server: 5/i]
    ] as const
    const errors = yield* Effect.forEach(
      cases,
      ([{ url }, ca]) =>
        Effect.gen(function* () {
          const from = { name: "", address: "hooks@sender.example" }
          const mail = { server: Option.getOrThrow(parseSmtpUrl(url)), from, ...(ca !== undefined && { ca }) }
          const { admin } = yield* start({ mail })
          const added = yield* admin("POST", "/api/alerts/destinations", {
            body: { kind: "email", target: "ops@example.com" }
          })
          const path = `/api/alerts/destinations/${added.json.destination.id}/test`
          return (yield* admin("POST", path)).json.error as string
        }),
      { concurrency: "unbounded" }
    )
    cases.forEach(([, , error], i) => expect(errors[i]).toMatch(error))
    expect(plain.received).toEqual([])
    expect(refused.received).toEqual([])
  })

  it.live("tells alert destinations, too", function* () {
    const { admin, received } = yield* withMail()
    const added = yield* admin("POST", "/api/alerts/destinations", {
      body: { kind: "email", target: "on-call@example.com" }
    })
    const tested = yield* admin("POST", `/api/alerts/destinations/${added.json.destination.id}/test`)
    expect(tested.json).toMatchObject({ http_status: 250 })
    expect(received).toMatchObject([{ to: ["on-call@example.com"] }])
    expect(headerOf(received[0]!, "subject")).toEqual(["Test: Alert: sample: 3 runs failed in a row"])
  })

  it.live("takes plain addresses only, ten at most, and needs a mail server", function* () {
    const { admin, destinationPath } = yield* withMail()
    const path = destinationPath.replace(/\/[^/]*$/, "")
    const refused = [
      ...["", "ops", "ops@", "@example.com", "Ops <ops@example.com>", "ops@example.com\r\nBcc: x@example.com"],
      ...["ops@example.com,", "a@b.example;c@d.example", '"a b"@example.com', "{{ values.to }}", "a@{{ values.host }}"],
      ...["ops@exa mple.com", "ops@example.com>", "a@b@c", `${"a".repeat(65)}@example.com`, "ops@-x.example"],
      Array.from({ length: 11 }, (_, i) => `a${i}@example.com`).join()
    ]
    for (const target of refused) {
      const { json, status } = yield* admin("POST", path, { body: { kind: "email", target } })
      expect({ target, status, at: json.errors?.[0]?.pointer }).toEqual({ target, status: 422, at: "/target" })
    }
    const edited = yield* admin("PATCH", destinationPath, { body: { target: "no address" } })
    expect(edited.json.errors[0].pointer).toBe("/target")
    const without = yield* start()
    const body = { kind: "email", target: "ops@example.com" }
    const { json, status } = yield* without.admin("POST", "/api/alerts/destinations", { body })
    expect(status).toBe(422)
    expect(json.errors).toEqual([{ pointer: "/kind", detail: "needs a mail server (SMTP_URL)" }])
  })
})
