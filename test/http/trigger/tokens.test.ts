/** Callers that prove who they are with a token (JWT) of a provider, such as Google Pub/Sub. */
import { Effect } from "effect"
import * as jose from "jose"
import { NoAnswer, type Poster } from "../../../src/engine/egress/Poster.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"

const account = "push@shop.iam.gserviceaccount.com"
const audience = "agents.example.com"

const googleKeys = "https://www.googleapis.com/oauth2/v3/certs"

interface Issuer {
  readonly jwks: string
  readonly sign: (claims: jose.JWTPayload, header?: object) => Promise<string>
}

const makeIssuer = (alg: string) =>
  Effect.promise(async (): Promise<Issuer> => {
    const { privateKey, publicKey } = await jose.generateKeyPair(alg)
    const key = { ...(await jose.exportJWK(publicKey)), kid: "k-1", alg, use: "sig" }
    return {
      jwks: JSON.stringify({ keys: [key] }),
      sign: (claims, header = {}) =>
        new jose.SignJWT(claims).setProtectedHeader({ alg, kid: "k-1", ...header }).sign(privateKey)
    }
  })

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

const claims = () => ({
  ...{ iss: "https://accounts.google.com", aud: audience, sub: "1", email: account, email_verified: true },
  ...{ iat: inSeconds(0), exp: inSeconds(3_600) }
})

const serve = (verification: object, secret: string, post: Poster["Service"]["post"]) =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const server = yield* start({
      sns: (request) =>
        Effect.suspend(() => {
          asked.push(request.url)
          return post(request)
        })
    })
    const team = yield* server.team("inbox")
    const hook = yield* server.webhook(team, "{{payload}}", { input: "payload", verification, secret })
    const deliver = (token: string | undefined, body: object = { message: { messageId: "m-1", data: "e30=" } }) =>
      server.http("POST", hook.path, { body, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
    return { ...server, asked, deliver, hook }
  })

const answering = (text: string) => () => Effect.succeed({ http_status: 200, answer: "", text })

const google = { preset: "google", audience }

describe("Google Pub/Sub", () => {
  it.live("starts one run for a message of its service account, and its keys are read once", function* () {
    const issuer = yield* makeIssuer("RS256")
    const { asked, deliver, history, hook } = yield* serve(google, account, answering(issuer.jwks))
    const first = yield* deliver(yield* Effect.promise(() => issuer.sign(claims())))
    expect(first.status, first.text).toBe(202)
    // Each attempt has another token.
    const again = yield* Effect.promise(() => issuer.sign({ ...claims(), iat: inSeconds(-1) }))
    expect((yield* deliver(again)).json.run_id).toBe(first.json.run_id)
    expect((yield* deliver(again, { message: { messageId: "m-2" } })).status).toBe(202)
    expect(yield* history(hook.id)).toHaveLength(2)
    expect(asked).toStrictEqual([googleKeys])
  })

  it.live("is refused with any other token, and the webhook lists why", function* () {
    const [issuer, other] = [yield* makeIssuer("RS256"), yield* makeIssuer("RS256")]
    const { admin, asked, deliver, history, hook } = yield* serve(google, account, answering(issuer.jwks))
    const signed = (changes: object, by = issuer, header = {}) =>
      Effect.promise(() => by.sign({ ...claims(), ...changes }, header))
    const unsigned = new jose.UnsecuredJWT(claims()).encode()
    expect(refusal(yield* deliver(undefined))).toStrictEqual([401, "not_verified"])
    expect(refusal(yield* deliver("no-token"))).toStrictEqual([401, "not_verified"])
    expect(refusal(yield* deliver(unsigned))).toStrictEqual([401, "not_verified"])
    expect(asked).toStrictEqual([])
    const tokens = [
      yield* signed({ exp: inSeconds(-60) }),
      yield* signed({ email: "other@shop.iam.gserviceaccount.com" }),
      yield* signed({ email_verified: false }),
      yield* signed({ aud: "other.example.com" }),
      yield* signed({ iss: "https://accounts.example.com" }),
      yield* signed({ exp: undefined }),
      yield* signed({}, other),
      yield* signed({}, other, { kid: "k-2" }),
      yield* Effect.promise(() =>
        new jose.SignJWT(claims()).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(issuer.jwks))
      )
    ]
    for (const token of tokens) expect(refusal(yield* deliver(token))).toStrictEqual([401, "not_verified"])
    expect(yield* history(hook.id)).toStrictEqual([])
    const listed = yield* repeatUntil(
      admin("GET", `/api/webhooks/${hook.id}/requests`),
      ({ json }) => json.data.length === tokens.length + 3
    )
    const details = listed.json.data.map(({ detail }: { readonly detail: string }) => detail).toReversed()
    const expected = [/^It has no signature/, /not written as/, /not written as/, /sent longer ago/, /not that of this/]
    expected.forEach((detail, n) => expect(details[n]).toMatch(detail))
  })

  it.live("is asked to try again while its keys cannot be read", function* () {
    const issuer = yield* makeIssuer("ES256")
    let answer: Poster["Service"]["post"] = () => Effect.fail(new NoAnswer({ reason: "connection refused" }))
    const { deliver } = yield* serve(google, account, (post) => answer(post))
    const token = yield* Effect.promise(() => issuer.sign(claims()))
    expect(refusal(yield* deliver(token))).toStrictEqual([503, "unavailable"])
    answer = () => Effect.succeed({ http_status: 500, answer: "", text: "{}" })
    expect(refusal(yield* deliver(token))).toStrictEqual([503, "unavailable"])
    answer = answering("no JSON")
    expect(refusal(yield* deliver(token))).toStrictEqual([503, "unavailable"])
    answer = answering(issuer.jwks)
    expect((yield* deliver(token)).status).toBe(202)
  })
})

describe("a token of any provider", () => {
  const jwks_url = "https://login.example.com/keys"
  const jwt = { preset: "jwt", issuer: "https://login.example.com", audience, jwks_url }
  const own = { iss: jwt.issuer, aud: [audience, "other"], sub: "ci" }

  it.live("starts runs, and shows them to the one that it was issued to", function* () {
    const issuer = yield* makeIssuer("EdDSA")
    const { asked, deliver, hook, http } = yield* serve(jwt, "ci", answering(issuer.jwks))
    const [mine, others] = yield* Effect.promise(() =>
      Promise.all(["ci", "cd"].map((sub) => issuer.sign({ ...claims(), ...own, sub })))
    )
    expect(refusal(yield* deliver(others))).toStrictEqual([401, "not_verified"])
    const started = yield* deliver(mine)
    expect(started.status).toBe(202)
    const show = (token: string) =>
      http("GET", `${hook.path}/runs/${started.json.run_id}`, { headers: { authorization: `Bearer ${token}` } })
    expect((yield* show(mine!)).json.run_id).toBe(started.json.run_id)
    expect(refusal(yield* show(others!))).toStrictEqual([401, "not_verified"])
    expect(asked).toStrictEqual([jwks_url])
  })

  it.live("needs the issuer, the audience and the keys' URL, which has https", function* () {
    const { admin, team } = yield* start()
    const draft = { name: "x", team: yield* team("t"), prompt_template: "x", secret: "ci" }
    const pointers = (verification: object) =>
      Effect.map(admin("POST", "/api/webhooks", { body: { ...draft, verification } }), ({ json, status }) => [
        status,
        json.errors?.map(({ pointer }: { readonly pointer: string }) => pointer).toSorted()
      ])
    expect(yield* pointers({ preset: "jwt" })).toStrictEqual([
      422,
      ["/verification/audience", "/verification/issuer", "/verification/jwks_url"]
    ])
    const plain = { ...jwt, jwks_url: "http://login.example.com/keys" }
    expect(yield* pointers(plain)).toStrictEqual([422, ["/verification/jwks_url"]])
    expect((yield* pointers({ ...jwt, header: "x" }))[0]).toBe(422)
  })
})
