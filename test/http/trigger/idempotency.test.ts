import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { shared } from "../../support/Shared.ts"
import { refusal, wire } from "../Client.ts"
import { hello, start, withWebhook } from "../Server.ts"

/** Each test has a webhook of its own, at one server. */
const ownWebhook = Effect.flatMap(shared(start()), withWebhook)

describe("Idempotency-Key", () => {
  it.live("makes a repeat return the first run, however the body is written", function* () {
    const { http, hook, runs } = yield* ownWebhook
    const send = (raw: string, key: string) =>
      http("POST", hook.path, { raw, headers: { "content-type": "application/json", "idempotency-key": key } })
    const first = yield* send('{"variables":{"text":"a","more":[1,{"x":null}]}}', "key-1")
    const again = yield* send('{ "other": 1, "variables": { "more": [1, {"x": null}], "text": "\\u0061" } }', '"key-1"')
    expect([first.status, again.status]).toStrictEqual([202, 202])
    expect(again.json.run_id).toBe(first.json.run_id)
    expect(again.headers.get("location")).toBe(first.headers.get("location"))
    expect(yield* runs).toHaveLength(1)
  })

  it.live("is refused with 422 for another request", function* () {
    const { post } = yield* ownWebhook
    const key = { "idempotency-key": "k" }
    expect((yield* post(hello, "", key)).status).toBe(202)
    const other = yield* post({ variables: { text: "other" } }, "", key)
    expect(refusal(other)).toStrictEqual([422, "idempotency_key_reused"])
  })

  it.live("is refused with 400 when it is empty, too long, not printable, or given twice", function* () {
    const { post, port, hook, runs } = yield* ownWebhook
    for (const key of ["", '""', "x".repeat(256), "a\tb", "é", '"a', '"a"b"']) {
      const answer = yield* post(hello, "", { "idempotency-key": key })
      expect(refusal(answer), key).toStrictEqual([400, "invalid_idempotency_key"])
    }
    const twice = `POST ${hook.path} HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\nConnection: close\r\nContent-Length: 30\r\n\r\n{"variables":{"text":"hello"}}`
    expect((yield* wire(port, twice)).text).toMatch(/^HTTP\/1\.1 400 [\s\S]*invalid_idempotency_key/)
    expect(yield* runs).toStrictEqual([])
    for (const key of ["x".repeat(255), "with blanks, and: signs"]) {
      expect((yield* post(hello, "", { "idempotency-key": key })).status).toBe(202)
    }
  })
})
