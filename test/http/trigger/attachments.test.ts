/** Files that requests name by URL: fetched when a leader asks for them, from allowed hosts only. */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import { TeamName } from "../../../src/domain/Team.ts"
import { Command } from "../../../src/leader/index.ts"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { untilEffect } from "../../support/Until.ts"
import { adminKey, start } from "../Server.ts"

const team = TeamName.make("ops")

/** A host of files. Its secrets must not get anywhere. */
const fakeHost = Effect.acquireRelease(
  Effect.promise(async () => {
    const received: Array<Pick<IncomingMessage, "headers" | "url">> = []
    let release = () => {}
    const server = createServer(({ headers, url = "" }, response) => {
      const times = received.filter((before) => before.url === url).length
      received.push({ headers, url })
      const { port } = server.address() as AddressInfo
      const path = url.replace(/\?.*/, "")
      const redirect = (location: string) => response.writeHead(302, { location }).end()
      if (path.endsWith("/elsewhere")) redirect(`http://cdn.test:${port}/kept?signature=s3cret`)
      else if (path.endsWith("/moved")) redirect("/files/kept")
      else if (path.endsWith("/private")) redirect(`http://127.0.0.1:${port}/metadata?signature=s3cret`)
      else if (path.endsWith("/round")) redirect("/files/round")
      else if (path.endsWith("/gone")) response.writeHead(404).end("s3cret")
      else if (path.endsWith("/public") && headers.authorization !== undefined) response.writeHead(403).end()
      else if (path.endsWith("/busy") && times === 0) response.writeHead(503).end()
      else if (path.endsWith("/cut") && times === 0) response.destroy()
      else if (path === "/api/files.info") {
        const id = new URL(url, "http://x").searchParams.get("file")
        const file = { id, url_private_download: `http://files.test:${port}/files/${id}.png` }
        const isAllowed = headers.authorization === "Bearer xoxb-s3cret" && id !== "FDENIED"
        response.end(JSON.stringify(isAllowed ? { ok: true, file } : { ok: false, error: "missing_scope" }))
      } else if (/\/page[^/]*$/.test(path)) {
        const type = path.includes("typed") ? "text/html" : "application/octet-stream"
        response.writeHead(200, { "content-type": type }).end("\ufeff <!DOCTYPE html><html><form>")
      } else if (path.endsWith("/refused.png")) response.end('{"ok":false,"error":"not_authed"}')
      else if (path.endsWith("/login")) response.writeHead(200, { "content-type": "text/html" }).end("<form>")
      else if (path.endsWith("/declared")) response.writeHead(200, { "content-length": 5_000_001 }).flushHeaders()
      else if (path.endsWith("/long")) {
        // Without an end, were it not for the limit.
        const write = () => {
          while (!response.destroyed && response.write(Buffer.alloc(1_000_000)));
        }
        response.on("drain", write)
        write()
      } else if (path.endsWith("/slow")) release = () => response.end("slow")
      else response.end(`content of ${path}`)
    })
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
    return { received, server, port: (server.address() as AddressInfo).port, release: () => release() }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
)

const started = (setting: (port: number) => object = () => ({})) =>
  Effect.gen(function* () {
    const host = yield* fakeHost
    const server = yield* start({
      allowed: { hosts: ["files.test", "test", "cdn.test"], networks: [] },
      resolve: async () => ["127.0.0.1"]
    })
    yield* server.admin("POST", "/api/teams", { body: { team } })
    const attachments = {
      ...{ urls: "payload.files", hosts: [`files.test:${host.port}/files/`] },
      redirects: [`cdn.test:${host.port}`, `127.0.0.1:${host.port}`],
      ...setting(host.port)
    }
    const hook = yield* server.webhook(team, "Read {{payload.task?}}", {
      ...{ input: "payload", attachments, when_team_stopped: "queue" }
    })
    const { json } = yield* server.admin("POST", `/api/teams/${team}/leader-keys`, { body: { name: "laptop" } })
    const ask = (path: string, body: object) =>
      server.http("POST", path, { body, headers: { authorization: `Bearer ${json.key}` } })
    const at = (path: string) => `http://files.test:${host.port}/files/${path}`
    /** A prompt of a run whose request has this body, at a leader over HTTP. */
    const taken = (body: object) =>
      Effect.gen(function* () {
        const accepted = yield* server.http("POST", hook.path, { body })
        expect(accepted.status, accepted.text).toBe(202)
        const prompt = (yield* ask("/leader/next", { leader: randomUUID(), wait_seconds: 20 })).json
        expect(prompt.run_id).toBe(accepted.json.run_id)
        return prompt
      })
    const file = ({ correlation_id }: { correlation_id: string }, id: string) =>
      Effect.map(ask("/leader/file", { correlation_id, id }), ({ json }) => ({
        ...(json.missing === undefined ? { text: Buffer.from(json.content, "base64").toString() } : json)
      }))
    const filesOf = (run_id: string) =>
      Effect.map(server.admin("GET", `/api/runs/${run_id}/files`), ({ json }) => json.data)
    return { ...server, host, hook, at, taken, file, filesOf, ask }
  })

describe("a file that a request names", () => {
  it.live("is fetched when the leader asks for it, once, and then like one that was sent", function* () {
    const { admin, at, file, filesOf, host, origin, taken } = yield* started()
    const prompt = yield* taken({
      files: [at("log.txt?signature=s3cret"), { url: at("slow"), name: "../a.png", type: "image/png" }]
    })
    expect(host.received).toEqual([])
    expect(prompt.files).toEqual([
      { id: "in-1", name: "log.txt", type: "application/octet-stream" },
      { id: "in-2", name: "a.png", type: "image/png" }
    ])
    expect(yield* file(prompt, "in-1")).toEqual({ text: "content of /files/log.txt" })
    expect(yield* file(prompt, "in-1")).toEqual({ text: "content of /files/log.txt" })
    const release = untilEffect(
      "both have asked",
      Effect.sync(() => host.received.length === 2)
    ).pipe(Effect.andThen(Effect.sleep("50 millis")), Effect.andThen(Effect.sync(host.release)))
    const [one, two] = yield* Effect.all([file(prompt, "in-2"), file(prompt, "in-2"), release], {
      concurrency: "unbounded"
    })
    expect([one, two]).toEqual([{ text: "slow" }, { text: "slow" }])
    expect(host.received.map(({ url }) => url)).toEqual(["/files/log.txt?signature=s3cret", "/files/slow"])
    expect(yield* filesOf(prompt.run_id)).toEqual([
      { id: "in-1", name: "log.txt", type: "application/octet-stream", size: 25 },
      { id: "in-2", name: "a.png", type: "image/png", size: 4 }
    ])
    const run = (yield* admin("GET", `/api/runs/${prompt.run_id}`)).json
    expect(JSON.stringify(run.files)).not.toContain("s3cret")
    const headers = { authorization: `Bearer ${adminKey}`, connection: "close" }
    const url = `${origin}/api/runs/${prompt.run_id}/files/in-1`
    expect(yield* Effect.promise(async () => (await fetch(url, { headers })).text())).toBe("content of /files/log.txt")
  })

  it.live("is found in links of texts, if it is at a host of the webhook", function* () {
    const { at, taken } = yield* started(() => ({ urls: undefined, links_in: "[payload.body, payload.title]" }))
    const body = `See [the log](${at("log.txt")}), <img src="${at("a.png?x=1&amp;y=2")}">, ${at("log.txt")}.
And https://example.com/files/b.png, ${at("../private/c.png")}
http://${".".repeat(100_000)}a`
    const { files } = yield* taken({ body, title: null })
    expect(files.map(({ name }: { name: string }) => name)).toEqual(["log.txt", "a.png"])
  })

  it.live("is not fetched from elsewhere: the reason is with the file, and without its URL", function* () {
    const { at, file, host, taken } = yield* started()
    const evil = "http://evil.test/files/x?signature=s3cret"
    const outside = at("../other/x")
    const encoded = at("..%2fother/x")
    const { files, ...prompt } = yield* taken({
      files: [
        evil,
        outside,
        encoded,
        "no URL",
        null,
        at("private"),
        at("gone"),
        at("login"),
        at("long"),
        at("declared")
      ]
    })
    const notAllowed = "Its URL is not at one of the webhook's hosts."
    expect(files.slice(0, 4).map(({ missing }: { missing: string }) => missing)).toEqual([
      ...[notAllowed, notAllowed, notAllowed],
      "The request names no URL for it."
    ])
    const all = yield* Effect.forEach(files.slice(4) as ReadonlyArray<{ readonly id: string }>, ({ id }) =>
      file(prompt as never, id)
    )
    expect(all.map(({ missing }) => missing)).toEqual([
      "Its URL must have a public address, or one that CALLBACK_ALLOW allows.",
      "Its host answered 404.",
      "Its host answered with a web page or a refusal, perhaps to sign in.",
      "It is larger than 5 MB.",
      "It is larger than 5 MB."
    ])
    expect(host.received.some(({ url }) => url?.startsWith("/metadata"))).toBe(false)
    expect(host.received.some(({ url }) => url?.includes("other"))).toBe(false)
  })

  it.live("may be where its host redirects to, if the webhook allows that", function* () {
    const { at, file, taken } = yield* started((port) => ({ redirects: [`cdn.test:${port}`] }))
    const prompt = yield* taken({ files: [at("elsewhere"), at("private"), at("round")] })
    expect(yield* file(prompt, "in-1")).toEqual({ text: "content of /kept" })
    const refused = yield* Effect.forEach(["in-2", "in-3"], (id) => file(prompt, id))
    expect(refused.map(({ missing }) => missing)).toEqual([
      "Its host redirects to 127.0.0.1, which the webhook does not allow.",
      "Its host redirects too often."
    ])
  })

  it.live("is fetched with the token of the service's own destination, which no other host gets", function* () {
    const { admin, at, file, hook, host, taken } = yield* started((port) => ({
      ...{ token_of: "slack-message", hosts: [`files.test:${port}`, `cdn.test:${port}`] }
    }))
    const created = yield* admin("POST", `/api/webhooks/${hook.id}/destinations`, {
      body: {
        ...{ kind: "slack-message", url: `http://test:${host.port}/api`, token: "xoxb-s3cret" },
        target: "C0123456789"
      }
    })
    expect(created.status, created.text).toBe(201)
    const prompt = yield* taken({
      files: [at("a"), at("elsewhere"), `http://cdn.test:${host.port}/b`, at("public"), at("moved")]
    })
    for (const { id } of prompt.files) expect(yield* file(prompt, id)).toHaveProperty("text")
    expect(host.received.map(({ headers, url }) => [url, headers.authorization])).toEqual([
      ["/files/a", "Bearer xoxb-s3cret"],
      ["/files/elsewhere", "Bearer xoxb-s3cret"],
      ["/kept?signature=s3cret", undefined],
      ["/b", undefined],
      // What everybody may read is not lost by a token.
      ["/files/public", "Bearer xoxb-s3cret"],
      ["/files/public", undefined],
      ["/files/moved", "Bearer xoxb-s3cret"],
      ["/files/kept", undefined]
    ])
  })

  it.live("is looked for with files.info if Slack names only its ID, as in channels of two workspaces", function* () {
    const { admin, file, hook, host, taken } = yield* started((port) => ({
      ...{ token_of: "slack-message", hosts: [`files.test:${port}`] }
    }))
    const files = [{ id: "F1ABC", name: "shot.png", type: "image/png" }, { id: "FDENIED" }, { id: "../x" }]
    const early = yield* taken({ files, task: "early" })
    expect(early.files.map(({ missing, name }: any) => [name, missing])).toEqual([
      ["shot.png", undefined],
      ["FDENIED", undefined],
      ["file", "The request names no URL for it."]
    ])
    expect((yield* file(early, "in-1")).missing).toContain("no Slack destination of the webhook has a token")
    const body = { kind: "slack-message", url: `http://test:${host.port}/api`, token: "xoxb-s3cret", target: "C1" }
    expect((yield* admin("POST", `/api/webhooks/${hook.id}/destinations`, { body })).status).toBe(201)
    expect(yield* file(early, "in-1")).toEqual({ text: "content of /files/F1ABC.png" })
    expect((yield* file(early, "in-2")).missing).toContain("lacks the scope files:read")
  })

  it.live("is named as missing if its host answers with a page or a refusal in its place", function* () {
    const { at, file, taken } = yield* started((port) => ({
      ...{ token_of: "slack-message", hosts: [`files.test:${port}`] }
    }))
    const { files, ...prompt } = yield* taken({
      files: [
        { url: at("page"), name: "report.png", type: "image/png" },
        { url: at("page-2"), name: "data" },
        { url: at("page-typed"), name: "report.pdf" },
        { url: at("refused.png"), type: "image/png" },
        { url: at("page-3"), name: "page.html", type: "text/html" },
        { url: at("page-typed-4"), name: "saved", type: "text/html" }
      ]
    })
    expect(files).toHaveLength(6)
    for (const n of [1, 2, 3, 4]) {
      const { missing } = yield* file(prompt, `in-${n}`)
      expect(missing, `file ${n}`).toMatch(/^Its host answered with a web page or a refusal.*files:read\?$/)
    }
    for (const n of [5, 6]) expect((yield* file(prompt, `in-${n}`)).text, `file ${n}`).toContain("<form>")
  })

  it.live("is fetched without the token if it is not as safe as the service", function* () {
    const { admin, at, file, hook, host, taken } = yield* started((port) => ({
      ...{ token_of: "slack-message", hosts: [`files.test:${port}`] }
    }))
    const body = { kind: "slack-message", url: `https://test:${host.port}/api`, token: "xoxb-s3cret", target: "C1" }
    expect((yield* admin("POST", `/api/webhooks/${hook.id}/destinations`, { body })).status).toBe(201)
    expect(yield* file(yield* taken({ files: [at("a")] }), "in-1")).toHaveProperty("text")
    expect(host.received.map(({ headers }) => headers.authorization)).toEqual([undefined])
  })

  it.live("is asked for again if its host fails", function* () {
    const { at, file, taken } = yield* started()
    const prompt = yield* taken({ files: [at("busy"), at("cut")] })
    expect(yield* file(prompt, "in-1")).toEqual({ text: "content of /files/busy" })
    expect(yield* file(prompt, "in-2")).toEqual({ text: "content of /files/cut" })
  })

  it.live("is one of ten: the agent reads how many were left out", function* () {
    const { at, taken } = yield* started()
    const { files } = yield* taken({ files: Array.from({ length: 12 }, (_, i) => at(`${i}`)) })
    expect(files).toHaveLength(11)
    expect(files[10]).toMatchObject({
      missing: "2 more files were left out: a request may have 10."
    })
  })
})

describe("an agent", () => {
  it.live("has what was fetched in its folder, reads what was not, and goes on", function* () {
    const { admin, at, context, hook, http } = yield* started()
    const folder = yield* temporaryFolder
    const args = ["-c", "cat; cat in/log.txt; ls in"]
    yield* Effect.provide(Command.start({ team, command: "sh", args, workspace: { folder } }), context)
    yield* untilEffect(
      "the team has a leader",
      Effect.map(admin("GET", `/api/teams/${team}`), ({ json }) => json.running === true)
    )
    const body = { task: "them", files: [at("gone"), at("log.txt")] }
    const { json, status, text } = yield* http("POST", `${hook.path}?wait=true`, { body })
    expect(status, text).toBe(200)
    expect(json.response).toBe(`Read them

Files that came with this message:
- gone (not available: Its host answered 404.)
- in/log.txt (application/octet-stream, 25 bytes)content of /files/log.txtlog.txt`)
    const steps = yield* admin("GET", `/api/runs/${json.run_id}/steps`)
    expect(steps.json.data).toMatchObject([
      { kind: "file", status: "failed", title: "Not available: gone", detail: "Its host answered 404." }
    ])
  })
})

describe("the setting", () => {
  it.live("is checked when it is saved", function* () {
    const { admin } = yield* started()
    const draft = { name: "a", team, prompt_template: "x", input: "payload" }
    const faultsOf = (attachments: object, more: object = {}) =>
      Effect.map(
        admin("POST", "/api/webhooks", { body: { ...draft, attachments, ...more } }),
        ({ json }) => (json.errors ?? []).map(({ detail, pointer }: any) => `${pointer} ${detail}`) as Array<string>
      )
    const good = { urls: "payload.url", hosts: ["*.example.com", "github.com/user-attachments/"] }
    expect(yield* faultsOf(good)).toEqual([])
    for (const [setting, expected] of [
      [{ hosts: ["a.example"] }, "needs `urls` or `links_in`"],
      [{ ...good, urls: "payload[" }, "at /urls: "],
      [{ ...good, urls: "body.url" }, "at /urls: `body` is not part of a request"],
      [{ ...good, hosts: [] }, "`hosts` must be 1 to 20 hosts"],
      [{ ...good, hosts: ["*"] }, "`hosts` must be"],
      [{ ...good, hosts: ["*.com"] }, "`hosts` must be"],
      [{ ...good, hosts: ["https://a.example"] }, "`hosts` must be"],
      [{ ...good, hosts: ["a.example/b"] }, "`hosts` must be"],
      [{ ...good, hosts: ["a.example/../"] }, "`hosts` must be"],
      [{ ...good, hosts: ["a.example:99999"] }, "`hosts` must be"],
      [{ ...good, redirects: "a.example" }, "`redirects` must be up to 20 hosts"],
      [{ ...good, token_of: "webhook" }, "`token_of` must be one of github, slack-message"],
      [{ ...good, host: "a" }, "has no member `host`"]
    ] as const) {
      const [fault, ...others] = yield* faultsOf(setting)
      expect(fault, JSON.stringify(setting)).toContain("/attachments ")
      expect(fault, JSON.stringify(setting)).toContain(expected)
      expect(others).toEqual([])
    }
    expect(yield* faultsOf(good, { coalesce: { key: "payload.id", within: 9 } })).toEqual([
      "/attachments cannot be combined with `coalesce`: a run of several requests has the files of none"
    ])
  })
})
