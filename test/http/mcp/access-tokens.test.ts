/** Access tokens of the OpenID provider at `/mcp`, with the protocol's official client and a real provider. */

import { createHmac, generateKeyPairSync, sign as signWith } from "node:crypto"
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Cause, Duration, Effect, Logger } from "effect"
import { TeamName } from "../../../src/domain/Team.ts"
import { mostSessionsOfApiKey } from "../../../src/engine/access/Sessions.ts"
import { CookieJar } from "../../support/CookieJar.ts"
import { describe, expect, it } from "../../support/It.ts"
import { ada, clientId, type OpenIdProvider, type Person, startProvider } from "../../support/OpenIdProvider.ts"
import { repeatUntil } from "../../support/Until.ts"
import { signInAs } from "../access/SignIn.ts"
import { refusal, wire } from "../Client.ts"
import { adminKey, type Options, start } from "../Server.ts"

const publicUrl = "http://hooks.test"
const resource = `${publicUrl}/mcp`

type Server = Effect.Success<ReturnType<typeof start>>

const roles = [
  { group: "platform-admins", role: "admin" as const },
  { group: "ops", role: "operator" as const, teams: [TeamName.make("ops")] },
  { group: "readers", role: "viewer" as const }
]

const startWith = (
  provider: OpenIdProvider,
  more: Parameters<OpenIdProvider["settings"]>[0] = {},
  options: Options = {}
) =>
  Effect.tap(start({ oidc: provider.settings({ roles, ...more }), publicUrl, ...options }), ({ origin }) =>
    Effect.sync(() => provider.allow(origin))
  )

/** The server's address is then that of each request, and the audience a setting. */
const startWithoutUrl = (provider: OpenIdProvider) =>
  Effect.tap(start({ oidc: provider.settings({ roles, mcpAudience: resource }) }), ({ origin }) =>
    Effect.sync(() => provider.allow(origin))
  )

/** Reaches the server at its public address. */
const fetchAt =
  ({ origin }: Pick<Server, "origin">): typeof fetch =>
  (input, init) =>
    fetch(String(input instanceof Request ? input.url : input).replace(publicUrl, origin), init)

/** An assistant that keeps what the protocol's client gives it, in memory, and whose user signs in at once. */
class Assistant implements OAuthClientProvider {
  readonly redirectUrl = "http://localhost/callback"
  readonly clientMetadata = {
    client_name: "An assistant",
    redirect_uris: [this.redirectUrl],
    ...{ grant_types: ["authorization_code"], response_types: ["code"], token_endpoint_auth_method: "none" }
  }
  answer = new URLSearchParams()
  #saved: Record<string, any> = {}
  clientInformation() {
    return this.#saved.client
  }
  saveClientInformation(client: object) {
    this.#saved.client = client
  }
  tokens() {
    return this.#saved.tokens
  }
  saveTokens(tokens: object) {
    this.#saved.tokens = tokens
  }
  saveCodeVerifier(verifier: string) {
    this.#saved.verifier = verifier
  }
  codeVerifier() {
    return this.#saved.verifier
  }
  async redirectToAuthorization(url: URL) {
    const { url: callback } = await Effect.runPromise(
      new CookieJar().go(url.href, ({ pathname }) => pathname === "/callback")
    )
    this.answer = callback.searchParams
  }
}

/** A connected client of the person, who is sent to the provider first. */
const connected = (provider: OpenIdProvider, server: Server, person: Person) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      provider.person = person
      const authProvider = new Assistant()
      const open = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider, fetch: fetchAt(server) })
      const connect = async (transport: StreamableHTTPClientTransport) => {
        const client = new Client({ name: "a test", version: "1" }, { versionNegotiation: { mode: "auto" } })
        await client.connect(transport)
        return client
      }
      const first = open()
      await connect(first).catch(() => undefined)
      await first.finishAuth(authProvider.answer)
      return { client: await connect(open()), token: authProvider.tokens().access_token as string }
    }),
    ({ client }) => Effect.promise(() => client.close())
  )

const now = () => Math.floor(Date.now() / 1_000)

const claims = (provider: OpenIdProvider, more: object = {}) => ({
  ...{ iss: provider.issuer, aud: resource, sub: "ada-1", client_id: "assistant", iat: now(), exp: now() + 600 },
  ...{ groups: ["platform-admins"], ...more }
})

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "a test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

/** Asks for the tools with this token. */
const listWith = ({ http }: Pick<Server, "http">, token: string) =>
  http("POST", "/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } },
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json, text/event-stream",
      ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list", "user-agent": "an assistant/1.0" }
    }
  })

describe("an access token at /mcp", () => {
  it.live(
    "is what a client gets at the provider that the server names, and has the person's role and teams",
    function* () {
      const provider = yield* startProvider()
      const server = yield* startWith(provider)
      yield* server.webhook(yield* server.team("ops"), "{{text}}", { mcp_tool: "say" })
      yield* server.webhook(yield* server.team("dev"), "{{text}}", { mcp_tool: "build" })
      const { client } = yield* connected(provider, server, { ...ada, groups: ["ops"] })
      const { tools } = yield* Effect.promise(() => client.listTools())
      expect(tools.map(({ name }) => name)).toEqual(["say", "get_run", "reply_to_run", "cancel_run", "list_runs"])
      const called = yield* Effect.promise(() => client.callTool({ name: "say", arguments: { text: "hi" } }))
      expect(called).toMatchObject({ content: [{ text: "echo: hi" }] })
      const run_id = called._meta?.["webhook-trigger/run_id"]
      expect((yield* server.admin("GET", `/api/runs/${run_id}`)).json.triggered_by).toBe(
        `person:${provider.issuer}#ada-1`
      )
      const audit = (yield* server.admin("GET", "/api/audit")).json.data
      const by = { actor: "session", person_id: "ada-1", person_name: "Ada Lovelace", session_id: expect.any(String) }
      expect(audit).toContainEqual(expect.objectContaining({ action: "webhook.run_started", after: { run_id }, ...by }))
      const sessions = (yield* server.admin("GET", "/api/sessions")).json.data
      expect(sessions).toMatchObject([{ person: { id: "ada-1", role: "operator", teams: ["ops"] } }])
      expect(sessions[0].oauth_client).toEqual(expect.stringMatching(/^[\w-]{10,}$/))
      for (const hidden of ["token_hash", "is_ended"]) expect(sessions[0]).not.toHaveProperty(hidden)
      // Another person of the same provider does not see the run.
      const other = yield* connected(provider, server, { ...ada, id: "bob-2", groups: ["ops"] })
      const strange = yield* Effect.promise(() => other.client.callTool({ name: "get_run", arguments: { run_id } }))
      expect(strange.isError).toBe(true)
    }
  )

  it.live("begins one session, which ends with the token, and whose end by an admin refuses the token", function* () {
    const provider = yield* startProvider()
    const one = yield* startWith(provider)
    const two = yield* startWith(provider, {}, { repo: one.repo })
    const expires = now() + 600
    const token = provider.sign(claims(provider, { exp: expires }))
    const answers = yield* Effect.all(
      [one, two, one, two].map((server) => listWith(server, token)),
      { concurrency: "unbounded" }
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const listed = (yield* one.admin("GET", "/api/sessions")).json.data
    expect(listed).toMatchObject([{ oauth_client: "assistant", user_agent: "an assistant/1.0" }])
    expect(Date.parse(listed[0].expires_at)).toBe(expires * 1_000)
    const started = (yield* one.admin("GET", "/api/audit?action=session.started")).json.data
    expect(started).toMatchObject([{ after: { oauth_client: "assistant", user_agent: "an assistant/1.0" } }])
    expect((yield* one.admin("DELETE", `/api/sessions/${listed[0].id}`)).status).toBe(204)
    for (const server of [one, two]) {
      const refused = yield* listWith(server, token)
      expect(refusal(refused)).toStrictEqual([401, "unauthorized"])
      expect(refused.json.detail).toContain("was ended")
    }
    // A further token, and a sign-in that removes unused rows, do not bring it back.
    expect((yield* listWith(one, provider.sign(claims(provider, { jti: "2" })))).status).toBe(200)
    expect((yield* listWith(two, token)).status).toBe(401)
    expect((yield* one.admin("GET", "/api/sessions")).json.data).toHaveLength(1)
    expect((yield* one.admin("DELETE", "/api/sessions")).status).toBe(204)
    expect((yield* one.admin("GET", "/api/sessions")).json.data).toEqual([])
  })

  it.live("stays ended if its signature is written in another way", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider)
    const token = provider.sign(claims(provider))
    expect((yield* listWith(server, token)).status).toBe(200)
    // The last of 342 characters has four bits that mean nothing.
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    const other = token.slice(0, -1) + letters[letters.indexOf(token.at(-1)!) ^ 1]
    expect((yield* listWith(server, other)).status).toBe(200)
    const [session, ...more] = (yield* server.admin("GET", "/api/sessions")).json.data
    expect(more).toEqual([])
    yield* server.admin("DELETE", `/api/sessions/${session.id}`)
    for (const ended of [token, other]) expect((yield* listWith(server, ended)).status).toBe(401)
  })

  it.live("is in the log as its person's, also when it is refused because its session was ended", function* () {
    const provider = yield* startProvider()
    const lines: Array<string> = []
    const logger = Logger.make((entry) => void lines.push(Logger.formatLogFmt.log(entry)))
    const server = yield* Effect.provide(startWith(provider), Logger.layer([logger], { mergeWithExisting: true }))
    const token = provider.sign(claims(provider))
    yield* listWith(server, token)
    const [session] = (yield* server.admin("GET", "/api/sessions")).json.data
    yield* server.admin("DELETE", `/api/sessions/${session.id}`)
    yield* listWith(server, token)
    const ofPerson = Effect.sync(() =>
      lines
        .filter((line) => line.includes('"POST /mcp"') && line.includes(`person_id=${session.person.id} `))
        .map((line) => /status=(\d+)/.exec(line)![1])
    )
    yield* repeatUntil(ofPerson, (statuses) => statuses.join() === "200,401")
  })

  it.live("may have signatures of elliptic curves", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider)
    const keys = [
      { alg: "ES256", ...generateKeyPairSync("ec", { namedCurve: "P-256" }) },
      { alg: "EdDSA", ...generateKeyPairSync("ed25519") }
    ]
    provider.intercept = ({ url }, response) => {
      if (!url!.startsWith("/jwks")) return false
      const jwks = keys.map(({ alg, publicKey }) => ({ ...publicKey.export({ format: "jwk" }), kid: alg, alg }))
      response.setHeader("content-type", "application/json").end(JSON.stringify({ keys: jwks }))
      return true
    }
    for (const { alg, privateKey } of keys) {
      const signed = (kid: string) => {
        const text = `${part({ alg, kid, typ: "at+jwt" })}.${part(claims(provider))}`
        const key = { key: privateKey, dsaEncoding: "ieee-p1363" as const }
        const signature = signWith(alg === "ES256" ? "sha256" : null, Buffer.from(text), key)
        return `${text}.${signature.toString("base64url")}`
      }
      expect((yield* listWith(server, signed(alg))).status, alg).toBe(200)
      expect((yield* listWith(server, signed(alg === "ES256" ? "EdDSA" : "ES256"))).status, alg).toBe(401)
    }
  })

  it.live("leaves the person's browsers signed in, however many tokens there are", function* () {
    const provider = yield* startProvider()
    const server = yield* startWithoutUrl(provider)
    const tokens = Array.from({ length: mostSessionsOfApiKey + 1 }, (_, n) =>
      provider.sign(claims(provider, { jti: String(n) }))
    )
    const { headers } = yield* signInAs(provider, server.origin, ada)
    const isSignedIn = Effect.map(server.http("GET", "/api/webhooks", { headers }), ({ status }) => status === 200)
    expect(yield* isSignedIn).toBe(true)
    for (const token of tokens) expect((yield* listWith(server, token)).status).toBe(200)
    expect(yield* isSignedIn).toBe(true)
    expect((yield* listWith(server, tokens[0]!)).status).toBe(401)
    expect((yield* listWith(server, tokens[1]!)).status).toBe(200)
  })

  it.live("is no session of the web UI, and opens nothing but /mcp", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider)
    const token = provider.sign(claims(provider))
    expect((yield* listWith(server, token)).status).toBe(200)
    const bearer = { headers: { authorization: `Bearer ${token}` } }
    expect(refusal(yield* server.http("GET", "/api/webhooks", bearer))).toStrictEqual([401, "unauthorized"])
    const cookie = { headers: { cookie: `webhook_trigger_session=${token}` } }
    expect(refusal(yield* server.http("GET", "/api/webhooks", cookie))).toStrictEqual([401, "unauthorized"])
  })

  it.live("is refused with the reason if it is another's, too old, changed, or of another kind", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider, { sessionLifetime: Duration.minutes(30) })
    const valid = claims(provider)
    const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
    const own = (header: object, made: (text: string) => Buffer) => {
      const text = `${part(header)}.${part(valid)}`
      return `${text}.${made(text).toString("base64url")}`
    }
    const { exp: _exp, ...endless } = valid
    const { sub: _sub, ...nobody } = valid
    const { client_id: _client, ...idToken } = valid
    const cases: ReadonlyArray<readonly [token: string, reason: string]> = [
      [provider.sign({ ...valid, aud: clientId }), `whose audience is ${resource}`],
      [provider.sign({ ...valid, aud: `${resource}/` }), "whose audience"],
      [provider.sign({ ...valid, aud: undefined }), "whose audience"],
      [provider.sign({ ...valid, iss: "https://login.example.com" }), "not for this server"],
      [provider.sign({ ...valid, exp: now() - 1 }), "has expired"],
      [provider.sign({ ...valid, nbf: now() + 60 }), "not for this server"],
      [provider.sign({ ...valid, iat: now() - 1_801 }), "has expired"],
      [provider.sign(endless), "not for this server"],
      [provider.sign(nobody), "not for this server"],
      [provider.sign({ ...valid, cnf: { jkt: "x" } }), "kind of token"],
      [provider.sign(valid, { typ: "logout+jwt" }), "kind of token"],
      [provider.sign(valid, { typ: 5 }), "kind of token"],
      [provider.sign(idToken), "kind of token"],
      [provider.sign(idToken, { typ: "JWT" }), "kind of token"],
      ...["nonce", "at_hash", "c_hash"].map(
        (claim) => [provider.sign({ ...valid, aud: [clientId, resource], [claim]: "x" }), "kind of token"] as const
      ),
      ...["x".repeat(256), "", 5, {}].map((sub) => [provider.sign({ ...valid, sub }), "kind of token"] as const),
      [provider.sign({ ...valid, exp: 1e300 }), "too late"],
      [provider.sign({ ...valid, exp: 1e300, iat: 1e300 }), "too late"],
      [provider.sign({ ...valid, exp: now() + 900, iat: now() + 600 }), "too late"],
      [provider.sign({ ...valid, exp: "never" }), "not for this server"],
      [
        provider.sign(valid).replace(/\.[^.]+\./, `.${part({ ...valid, groups: ["ops"] })}.`),
        "not a valid access token"
      ],
      [own({ alg: "RS256", kid: "test" }, (text) => signWith("sha256", Buffer.from(text), stranger)), "not a valid"],
      [own({ alg: "RS256", kid: "x" }, (text) => signWith("sha256", Buffer.from(text), stranger)), "not a valid"],
      [own({ alg: "HS256", kid: "test" }, (text) => createHmac("sha256", "test").update(text).digest()), "not a valid"],
      [own({ alg: "none" }, () => Buffer.from("x")), "not a valid"]
    ]
    for (const [token, reason] of cases) {
      const refused = yield* listWith(server, token)
      expect(refusal(refused), reason).toStrictEqual([401, "unauthorized"])
      expect(refused.json.detail).toContain(reason)
      expect(refused.headers.get("www-authenticate")).toBe(
        `Bearer realm="webhook-trigger", error="invalid_token", resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp"`
      )
    }
    const allowed = [
      provider.sign({ ...idToken, nonce: "x" }, { typ: "at+jwt" }),
      provider.sign({ ...valid, aud: ["x", resource] }),
      provider.sign({ ...idToken, scp: ["use"] }, { typ: "JWT" }),
      provider.sign({ ...idToken, scope: "openid", iat: now() + 30 })
    ]
    for (const token of allowed) expect((yield* listWith(server, token)).status).toBe(200)
    expect((yield* server.admin("GET", "/api/sessions")).json.data).toHaveLength(allowed.length)
  })

  it.live("is refused for a person without a group, or whose role may not start runs", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider)
    for (const groups of [undefined, ["unknown"], ["readers"]]) {
      const refused = yield* listWith(server, provider.sign(claims(provider, { groups })))
      expect(refusal(refused)).toStrictEqual([403, "forbidden"])
    }
  })

  it.live("is void when the settings of the provider change", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider)
    const token = provider.sign(claims(provider))
    expect((yield* listWith(server, token)).status).toBe(200)
    const changed = yield* startWith(provider, { roles: [roles[0]!] }, { repo: server.repo })
    expect((yield* listWith(changed, token)).status).toBe(401)
    // A further token, which removes unused rows, does not bring it back.
    expect((yield* listWith(changed, provider.sign(claims(provider, { jti: "new" })))).status).toBe(200)
    expect((yield* listWith(changed, token)).status).toBe(401)
    const other = yield* startWith(provider, { mcpAudience: "api://hooks" }, { repo: server.repo })
    expect((yield* listWith(other, provider.sign(claims(provider, { jti: "2" })))).status).toBe(401)
    expect((yield* listWith(other, provider.sign(claims(provider, { aud: "api://hooks" })))).status).toBe(200)
  })

  it.live("causes few requests to a provider whose keys cannot be read, and few lines in the log", function* () {
    const provider = yield* startProvider()
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const server = yield* Effect.provide(startWith(provider), Logger.layer([logger], { mergeWithExisting: true }))
    let requests = 0
    provider.intercept = ({ url }, response) => {
      if (!url!.startsWith("/jwks")) return false
      requests++
      response.writeHead(500).end()
      return true
    }
    const began = performance.now()
    for (let n = 0; n < 30; n++) {
      const token = `${part({ alg: "RS256", kid: `k${n}` })}.${part({ n })}.AAAA`
      expect((yield* listWith(server, token)).status).toBe(503)
    }
    const most = 1 + Math.floor((performance.now() - began) / 2_000)
    expect(requests).toBeGreaterThan(0)
    expect(requests).toBeLessThanOrEqual(most)
    const logged = lines.filter((line) => line.includes("keys cannot be read")).length
    expect(logged).toBeGreaterThan(0)
    expect(logged).toBeLessThanOrEqual(most)
  })

  it.live("gets 503 while the provider is down, when keys still work, and is accepted once it is back", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider)
    provider.isDown = true
    const token = provider.sign(claims(provider))
    expect(refusal(yield* listWith(server, token))).toStrictEqual([503, "unavailable"])
    expect((yield* listWith(server, adminKey)).status).toBe(200)
    provider.isDown = false
    const accepted = yield* Effect.repeat(listWith(server, token), { until: ({ status }) => status !== 503 })
    expect(accepted.status).toBe(200)
    // Known keys need no request.
    provider.isDown = true
    expect((yield* listWith(server, token)).status).toBe(200)
  })
})

describe("the metadata of /mcp as a protected resource", () => {
  const paths = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]

  it.live("name the provider and the scopes, and every 401 of /mcp says where they are", function* () {
    const provider = yield* startProvider()
    const server = yield* startWith(provider, { mcpScopes: "openid  hooks" })
    for (const path of paths) {
      const { json, status } = yield* server.http("GET", path)
      expect(status).toBe(200)
      expect(json).toStrictEqual({
        ...{ resource, authorization_servers: [provider.issuer], scopes_supported: ["openid", "hooks"] },
        ...{ bearer_methods_supported: ["header"], resource_name: "Webhook Trigger Service" }
      })
      expect(refusal(yield* server.http("POST", path))).toStrictEqual([405, "method_not_allowed"])
    }
    const challenge = `Bearer realm="webhook-trigger", resource_metadata="${publicUrl}${paths[1]}"`
    const without = yield* server.http("POST", "/mcp", { body: {} })
    expect(without.headers.get("www-authenticate")).toBe(challenge)
    expect((yield* listWith(server, "nonsense")).headers.get("www-authenticate")).toBe(challenge)
    expect((yield* server.http("GET", "/api/webhooks")).headers.get("www-authenticate")).not.toContain("resource")
  })

  it.live("cannot be changed by what a request says of its host", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* startWithoutUrl(provider)
    const port = Number(new URL(origin).port)
    const head = 'HTTP/1.1\r\nHost: a", error="x\\\r\nContent-Length: 0\r\nConnection: close'
    const answerTo = (method: string, path: string) =>
      Effect.map(wire(port, `${method} ${path} ${head}\r\n\r\n`), ({ text }) => text)
    expect(yield* answerTo("POST", "/mcp")).toContain(
      `resource_metadata="http://a\\", error=\\"x\\\\/.well-known/oauth-protected-resource/mcp"`
    )
    expect((yield* answerTo("GET", paths[0]!)).toLowerCase()).toContain("cache-control: no-store")
  })

  it.live("cannot be those of a host whose tokens would be ID tokens", function* () {
    const provider = yield* startProvider()
    const cause = yield* Effect.flip(Effect.sandbox(start({ oidc: provider.settings({ mcpAudience: clientId }) })))
    expect(Cause.pretty(cause)).toContain("must differ from the client ID")
  })

  it.live("do not exist without a provider, or where a request could choose the audience", function* () {
    const provider = yield* startProvider()
    const { publicUrl: _, ...without } = { publicUrl }
    for (const options of [{ publicUrl }, { ...without, oidc: provider.settings() }]) {
      const server = yield* start(options)
      for (const path of paths) expect((yield* server.http("GET", path)).status).toBe(404)
      const refused = yield* server.http("POST", "/mcp", { body: {}, headers: { authorization: "Bearer x" } })
      expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="webhook-trigger"')
      const aud = `${server.origin}/mcp`
      expect((yield* listWith(server, provider.sign(claims(provider, { aud })))).status).toBe(401)
    }
  })
})
