/** A fake S3 on this machine. It checks each signature with AWS's own library, which the server does not use. */
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Sha256 } from "@aws-crypto/sha256-js"
import { SignatureV4 } from "@smithy/signature-v4"
import { Effect, Redacted } from "effect"
import type { S3Settings } from "../../src/repo/s3/S3.ts"

const keyId = "AKIDEXAMPLE"
const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
const region = "eu-central-1"
const bucket = "files"
/** Milliseconds that a request's time may differ from the server's. */
const maxSkew = 15 * 60_000

/** How it misbehaves: with this code, by closing the connection, or without an answer. */
type Fault = readonly [status: number, code: string] | "reset" | "silence"

const timeOf = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))

interface Key {
  readonly keyId: string
  readonly secret: string
  readonly sessionToken?: string
}

/** Why S3 would refuse the request. */
const refusalOf = async (
  { headers, method = "", url = "" }: IncomingMessage,
  body: Buffer,
  { isLocked, key, now }: { readonly isLocked: boolean; readonly key: Key; readonly now: number }
): Promise<readonly [number, string] | undefined> => {
  const { authorization = "", host = "" } = headers
  const [, id, date, givenRegion, names = ""] =
    /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d{8})\/([\w-]+)\/s3\/aws4_request, SignedHeaders=([\w;-]+), Signature=[0-9a-f]{64}$/.exec(
      authorization
    ) ?? []
  if (id === undefined) return [403, "AccessDenied"]
  if (id !== key.keyId) return [403, "InvalidAccessKeyId"]
  if (headers["x-amz-security-token"] !== key.sessionToken) return [400, "InvalidToken"]
  if (givenRegion !== region) return [400, "AuthorizationHeaderMalformed"]
  const signedHeaders = names.split(";")
  if (!["host", "x-amz-content-sha256", "x-amz-date"].every((name) => signedHeaders.includes(name))) {
    return [403, "AccessDenied"]
  }
  const at = timeOf(String(headers["x-amz-date"]))
  if (!(Math.abs(at - now) <= maxSkew) || !String(headers["x-amz-date"]).startsWith(date!)) {
    return [403, "RequestTimeTooSkewed"]
  }
  const signer = new SignatureV4({
    ...{ service: "s3", region, sha256: Sha256, uriEscapePath: false, applyChecksum: false },
    credentials: { ...key, accessKeyId: key.keyId, secretAccessKey: key.secret }
  })
  const { hostname, pathname, port, searchParams } = new URL(url, `http://${host}`)
  const signed = await signer.sign(
    {
      ...{ method, protocol: "http:", hostname, port: Number(port), path: pathname },
      query: Object.fromEntries(searchParams),
      headers: Object.fromEntries(signedHeaders.map((name) => [name, String(headers[name])]))
    },
    { signingDate: new Date(at) }
  )
  if (signed.headers.authorization !== authorization) return [403, "SignatureDoesNotMatch"]
  if (createHash("sha256").update(body).digest("hex") !== headers["x-amz-content-sha256"]) {
    return [400, "XAmzContentSHA256Mismatch"]
  }
  const md5 = headers["content-md5"]
  if (md5 !== undefined && createHash("md5").update(body).digest("base64") !== md5) return [400, "BadDigest"]
  // https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
  if (isLocked && method === "PUT" && md5 === undefined) return [400, "InvalidRequest"]
  return undefined
}

export const s3Server = Effect.acquireRelease(
  Effect.promise(async () => {
    const state = {
      /** By their paths below the bucket. */
      objects: new Map<string, Buffer>(),
      requests: [] as Array<string>,
      /** For the next requests, one each. */
      faults: [] as Array<Fault>,
      /** For all requests with this method, until it is deleted. */
      faultsOf: new Map<string, Fault>(),
      /** Objects at whose requests it does not answer. */
      silentFor: undefined as RegExp | undefined,
      /** The key that it knows. */
      key: { keyId, secret } as Key,
      /** Whether uploads need a checksum, as with Object Lock. */
      isLocked: false,
      /** Whether it says that an object does not exist. */
      mayList: true,
      /** Milliseconds that its clock is ahead. */
      skew: 0,
      keyId,
      /** Called when an object has been put, before the answer. */
      onPut: (): void | Promise<void> => {}
    }

    const answer = (response: ServerResponse, status: number, body: string | Buffer = "") =>
      // A client that follows redirects would get the answer there.
      response.writeHead(status, { "content-length": Buffer.byteLength(body), location: "/elsewhere" }).end(body)

    const fail = (response: ServerResponse, fault: Fault) => {
      if (fault === "reset") response.destroy()
      else if (fault !== "silence") {
        const [status, code] = fault
        const quoted = `<AWSAccessKeyId>${keyId}</AWSAccessKeyId><StringToSign>secret</StringToSign>`
        answer(response, status, `<?xml version="1.0"?>\n<Error><Code>${code}</Code>${quoted}</Error>`)
      }
    }

    const serve = async (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk)
      const body = Buffer.concat(chunks)
      const { method = "", url = "" } = request
      state.requests.push(`${method} ${url}`)
      const fault = state.faults.shift() ?? state.faultsOf.get(method)
      if (fault !== undefined) return fail(response, fault)
      if (state.silentFor?.test(url)) return
      const { isLocked, key: knownKey, skew } = state
      const refusal = await refusalOf(request, body, { isLocked, key: knownKey, now: Date.now() + skew })
      if (refusal !== undefined) return fail(response, refusal)
      const [, name, key] = /^\/([^/]+)\/([\w./-]+)$/.exec(url) ?? []
      if (name !== bucket || key === undefined) return fail(response, [404, "NoSuchBucket"])
      if (method === "PUT") {
        state.objects.set(key, body)
        await state.onPut()
        return answer(response, 200)
      }
      if (method === "DELETE") {
        state.objects.delete(key)
        return answer(response, 204)
      }
      const object = state.objects.get(key)
      const missing: Fault = state.mayList ? [404, "NoSuchKey"] : [403, "AccessDenied"]
      return object === undefined ? fail(response, missing) : answer(response, 200, object)
    }

    const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const settings = {
      ...{ url: `${origin}/${bucket}/hooks`, region },
      ...{ keyId: Redacted.make(keyId), secret: Redacted.make(secret) }
    } satisfies S3Settings
    const variables = {
      WEBHOOK_FILES_S3: settings.url,
      WEBHOOK_FILES_S3_KEY_ID: keyId,
      WEBHOOK_FILES_S3_SECRET: secret,
      WEBHOOK_FILES_S3_REGION: region
    }
    return Object.assign(state, { origin, secret, server, settings, variables })
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
)
