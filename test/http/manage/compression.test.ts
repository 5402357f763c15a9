import { request } from "node:http"
import { gunzipSync } from "node:zlib"
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { adminKey, start } from "../Server.ts"

/** The bytes of a response, which `fetch` would decompress. */
const get = (url: string, headers: Readonly<Record<string, string>>) =>
  Effect.promise(
    () =>
      new Promise<{ readonly headers: NodeJS.Dict<string | ReadonlyArray<string>>; readonly body: Buffer }>(
        (resolve, reject) => {
          const sent = request(url, { headers, agent: false }, (response) => {
            const parts: Array<Buffer> = []
            response.on("data", (part: Buffer) => parts.push(part))
            response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(parts) }))
          })
          sent.on("error", reject)
          sent.end()
        }
      )
  )

describe("responses of the management API", () => {
  it.live("are compressed for clients that accept it, and are otherwise the same", function* () {
    const { admin, origin, team, webhook } = yield* start()
    const ops = yield* team("ops")
    const { id } = yield* webhook(ops)
    for (let n = 0; n < 20; n++) yield* webhook(ops)
    const read = (path: string, accepted?: string) =>
      get(`${origin}${path}`, {
        authorization: `Bearer ${adminKey}`,
        ...(accepted !== undefined && { "accept-encoding": accepted })
      })
    const plain = yield* read("/api/webhooks")
    expect(plain.headers).not.toHaveProperty("content-encoding")
    expect(JSON.parse(plain.body.toString()).data).toHaveLength(21)
    for (const accepted of ["gzip", "br, gzip;q=0.5", "deflate, GZIP"]) {
      const { body, headers } = yield* read("/api/webhooks", accepted)
      expect(headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" })
      expect(headers["content-type"]).toBe(plain.headers["content-type"])
      expect(Number(headers["content-length"])).toBe(body.length)
      expect(body.length).toBeLessThan(plain.body.length / 4)
      expect(gunzipSync(body)).toEqual(plain.body)
    }
    for (const accepted of ["br", "gzip;q=0", "gzip; q=0.000", "identity", "notgzip"]) {
      const { body, headers } = yield* read("/api/webhooks", accepted)
      expect([accepted, headers["content-encoding"], headers.vary]).toEqual([accepted, undefined, "Accept-Encoding"])
      expect(body).toEqual(plain.body)
    }
    // Too short, and a version for `If-Match`.
    expect((yield* read("/api/teams", "gzip")).headers).not.toHaveProperty("content-encoding")
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { prompt_template: "x".repeat(5_000) } })
    const one = yield* read(`/api/webhooks/${id}`, "gzip")
    expect(one.headers).not.toHaveProperty("content-encoding")
    expect(one.headers.etag).toBe('"2"')
  })
})
