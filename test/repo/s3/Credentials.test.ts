/** Keys of a cloud, against servers that answer as AWS's do. */
import { writeFileSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Effect, Option, Redacted } from "effect"
import type { Credentials } from "../../../src/repo/s3/Credentials.ts"
import * as S3 from "../../../src/repo/s3/S3.ts"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { s3Server } from "../../support/S3Server.ts"

const bytes = Buffer.from("content")

/** The cloud gives the n-th key, which the bucket's server then knows, for so many milliseconds. */
const cloud = Effect.gen(function* () {
  const { key: _, settings, ...server } = yield* s3Server
  const bucketServer = yield* s3Server
  const folder = yield* temporaryFolder
  server.server.close()
  const state = {
    given: 0,
    validFor: 3_600_000,
    status: 200,
    asked: [] as Array<string>,
    headers: [] as Array<unknown>
  }
  const tokenFile = join(folder, "token")
  writeFileSync(tokenFile, "first-token\n")

  const answerTo = (request: IncomingMessage): string => {
    const n = ++state.given
    const until = new Date(Date.now() + state.validFor).toISOString()
    const key = { keyId: `ASIA${n}`, secret: `secret/${n}+`, sessionToken: `session/${n}+==` }
    bucketServer.key = key
    return request.method === "POST"
      ? `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
          <AccessKeyId>${key.keyId}</AccessKeyId><SecretAccessKey>${key.secret}</SecretAccessKey>
          <SessionToken>${key.sessionToken}</SessionToken><Expiration>${until}</Expiration>
        </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
      : JSON.stringify({
          ...{ AccessKeyId: key.keyId, SecretAccessKey: key.secret, Token: key.sessionToken, Expiration: until }
        })
  }
  const endpoint = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const endpoint = createServer(async (request, response) => {
        let body = ""
        for await (const chunk of request) body += chunk
        state.asked.push(body)
        state.headers.push(request.headers.authorization)
        const refusal =
          "<ErrorResponse><Error><Code>AccessDenied</Code><Message>first-token</Message></Error></ErrorResponse>"
        response.writeHead(state.status).end(state.status === 200 ? answerTo(request) : refusal)
      })
      await new Promise<void>((done) => endpoint.listen(0, "127.0.0.1", done))
      return endpoint
    }),
    (endpoint) => Effect.sync(() => endpoint.close())
  )
  const origin = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`
  const { region, url } = bucketServer.settings
  const bucketWith = (credentials: Credentials) => S3.make({ ...credentials, region, url })
  const role = { roleArn: "arn:aws:iam::1:role/files", tokenFile, stsUrl: origin }
  return { bucketServer, bucketWith, origin, role, state, tokenFile }
})

describe("the key of a bucket", () => {
  it.live("may be of a session", function* () {
    const server = yield* s3Server
    server.key = { ...server.key, sessionToken: "session/1+==" }
    const sessionToken = Redacted.make("session/1+==")
    yield* S3.make({ ...server.settings, sessionToken }).put("a", bytes)
    const error = yield* Effect.flip(S3.make(server.settings).put("a", bytes))
    expect(error.detail).toContain("400 InvalidToken")
  })

  it.live("is one of a role, for the token in a file, and is used until shortly before its end", function* () {
    const { bucketWith, role, state, tokenFile } = yield* cloud
    const bucket = bucketWith(role)
    yield* bucket.put("a", bytes)
    expect(Object.fromEntries(new URLSearchParams(state.asked[0]))).toEqual({
      ...{ Action: "AssumeRoleWithWebIdentity", Version: "2011-06-15", RoleArn: role.roleArn },
      ...{ RoleSessionName: "webhook-trigger", WebIdentityToken: "first-token" }
    })
    expect(Option.isSome(yield* bucket.get("a"))).toBe(true)
    expect(state.given).toBe(1)
    const short = bucketWith(role)
    state.validFor = 60_000
    writeFileSync(tokenFile, "second-token")
    yield* short.put("a", bytes)
    yield* short.put("a", bytes)
    expect(state.given).toBe(3)
    expect(state.asked[2]).toContain("second-token")
    // The last one is still valid.
    state.status = 503
    yield* short.put("a", bytes)
  })

  it.live(
    "is one of the endpoint beside the container, and is replaced when the bucket calls it expired",
    function* () {
      const { bucketServer, bucketWith, origin, state, tokenFile } = yield* cloud
      const bucket = bucketWith({ credentialsUrl: `${origin}/v1/credentials`, authorizationFile: tokenFile })
      yield* bucket.put("a", bytes)
      expect([state.given, state.headers]).toEqual([1, ["first-token"]])
      bucketServer.faults.push([400, "ExpiredToken"])
      yield* bucket.put("a", bytes)
      expect(state.given).toBe(2)
      const plain = bucketWith({ credentialsUrl: origin, authorization: Redacted.make("Bearer x") })
      yield* plain.put("a", bytes)
      expect(state.headers.at(-1)).toBe("Bearer x")
    }
  )

  it.live("that is not given is the reason, without tokens", function* () {
    const { bucketWith, role, state } = yield* cloud
    const reason = (credentials: Credentials) =>
      Effect.map(Effect.flip(bucketWith(credentials).put("a", bytes)), ({ detail }) =>
        detail.slice(detail.indexOf("reach: ") + 7)
      )
    state.status = 403
    expect(yield* reason(role)).toBe("the Security Token Service gave no credentials: 403 AccessDenied.")
    expect(yield* reason({ ...role, tokenFile: "/no/such/file" })).toBe(
      "the Security Token Service gave no credentials: the token in /no/such/file cannot be read: ENOENT."
    )
    expect(yield* reason({ credentialsUrl: "http://127.0.0.1:1/" })).toMatch(
      /^the container's credentials endpoint gave no credentials: /
    )
  })
})
