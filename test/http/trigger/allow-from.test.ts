import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { hello, start } from "../Server.ts"

describe("refuses, in this order,", () => {
  it.live(
    "2: callers from an address that the webhook does not allow, before anything else is read, and on its runs",
    function* () {
      const { admin, team, webhook, http, history } = yield* start()
      const { id, path } = yield* webhook(yield* team("ops"))
      const { run_id } = (yield* http("POST", path, { body: hello })).json
      const edit = (allow_from: ReadonlyArray<string> | null) =>
        admin("PATCH", `/api/webhooks/${id}`, { body: { allow_from } })
      const answers = Effect.all([
        http("POST", path, { body: hello }),
        http("POST", path, { raw: "{" }),
        http("GET", `${path}/runs/${run_id}`),
        // Of somebody who is no trusted proxy, this says nothing.
        http("POST", path, { body: hello, headers: { "x-forwarded-for": "10.1.2.3" } })
      ])
      for (const networks of [["10.0.0.0/8"], ["127.0.0.2", "::1", "192.0.2.0/24"]]) {
        yield* edit(networks)
        const refused = yield* answers
        expect(refused.map(refusal)).toStrictEqual(refused.map(() => [401, "not_verified"]))
        expect(new Set(refused.map(({ text }) => text)).size).toBe(1)
      }
      const wrong = `${path.slice(0, -1)}${path.endsWith("x") ? "y" : "x"}`
      expect(refusal(yield* http("POST", wrong, { body: hello }))).toStrictEqual([404, "not_found"])
      for (const networks of [["10.0.0.0/8", "127.0.0.0/8"], ["::ffff:127.0.0.1"], null]) {
        yield* edit(networks)
        expect((yield* answers).map(({ status }) => status)).toStrictEqual([202, 400, 200, 202])
      }
      // An admin runs it from anywhere.
      yield* edit(["10.0.0.0/8"])
      expect((yield* admin("POST", `/api/webhooks/${id}/runs`, { body: hello })).status).toBe(202)
      expect(yield* history(id)).toHaveLength(8)
    }
  )

  it.live("2: callers behind a trusted proxy by the address that it reports", function* () {
    const { team, webhook, http } = yield* start({ trustedProxies: ["127.0.0.1"] })
    const { path } = yield* webhook(yield* team("ops"), "{{text}}", { allow_from: ["10.0.0.0/8"] })
    const from = (address: string) =>
      Effect.map(http("POST", path, { body: hello, headers: { "x-forwarded-for": address } }), ({ status }) => status)
    expect([yield* from("10.1.2.3"), yield* from("192.0.2.1"), yield* from("10.1.2.3, 192.0.2.1")]).toStrictEqual([
      202, 401, 401
    ])
  })
})
