/** A new token, with and without a time in which the old one is still valid. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { hello, start, startWithWebhook } from "../Server.ts"

describe("a regenerated token", () => {
  it.live("ends the old one at once, unless that is left valid for a time", function* () {
    const { admin, hook, http } = yield* startWithWebhook
    const regenerate = (query = "") => admin("POST", `/api/webhooks/${hook.id}/token${query}`)
    const status = (token: string) =>
      Effect.map(http("POST", `/webhook/trigger/${token}`, { body: hello }), (answer) => answer.status)
    const first = hook.path.slice(hook.path.lastIndexOf("/") + 1)
    expect(yield* status(first)).toBe(202)

    const overlapping = yield* regenerate("?overlap_seconds=3600")
    const second = overlapping.json.token
    expect(overlapping.json.webhook).toMatchObject({ old_token_hint: `…${first.slice(-4)}` })
    const until = Date.parse(overlapping.json.webhook.old_token_valid_until)
    expect(Math.abs(until - Date.now() - 3_600_000)).toBeLessThan(60_000)
    expect([yield* status(first), yield* status(second)]).toStrictEqual([202, 202])
    expect(overlapping.text).not.toContain("hash")

    // Regenerated again, the one before the last is over.
    const third = (yield* regenerate("?overlap_seconds=3600")).json.token
    expect([yield* status(first), yield* status(second), yield* status(third)]).toStrictEqual([404, 202, 202])

    expect((yield* admin("DELETE", `/api/webhooks/${hook.id}/old-token`)).status).toBe(204)
    expect([yield* status(second), yield* status(third)]).toStrictEqual([404, 202])

    const plain = yield* regenerate()
    expect(plain.json.webhook).not.toHaveProperty("old_token_valid_until")
    expect([yield* status(third), yield* status(plain.json.token)]).toStrictEqual([404, 202])
    for (const query of ["?overlap_seconds=-1", "?overlap_seconds=1.5", "?overlap_seconds=2592001"]) {
      expect(refusal(yield* regenerate(query)), query).toStrictEqual([400, "invalid_parameter"])
    }
  })

  it.live("ends the old one when its time is over, and shows until then who used it last", function* () {
    const { admin, hook, http, repoInAnHour } = yield* startWithWebhook
    const shown = Effect.map(admin("GET", `/api/webhooks/${hook.id}`), ({ json }) => json)
    yield* admin("POST", `/api/webhooks/${hook.id}/token?overlap_seconds=1800`)
    expect(yield* shown).not.toHaveProperty("old_token_used_at")
    const { version } = yield* shown
    expect((yield* http("POST", hook.path, { body: hello })).status).toBe(202)
    const used = yield* repeatUntil(shown, (webhook) => webhook.old_token_used_at !== undefined)
    expect(used).toMatchObject({ old_token_used_from: "127.0.0.1", version })
    const later = yield* start({ repo: repoInAnHour })
    expect(refusal(yield* later.http("POST", hook.path, { body: hello }))).toStrictEqual([404, "not_found"])
    const [listed] = (yield* later.admin("GET", "/api/webhooks")).json.data
    for (const webhook of [(yield* later.admin("GET", `/api/webhooks/${hook.id}`)).json, listed]) {
      expect(Object.keys(webhook).filter((field) => field.startsWith("old_token"))).toStrictEqual([])
    }
  })
})
