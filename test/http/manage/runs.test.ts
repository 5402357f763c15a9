import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { refusal } from "../Client.ts"
import { hello, silent, start, unusedId } from "../Server.ts"

describe("GET /api/runs", () => {
  it.live("finds the runs of all webhooks and teams by what its parameters name", function* () {
    const { admin, http, team, webhook } = yield* start()
    yield* team("ops")
    yield* team("slow", silent)
    const [one, two] = [yield* webhook("ops"), yield* webhook("slow")]
    const answered = (yield* http("POST", `${one.path}?wait=true`, { body: hello })).json.run_id
    const stuck = (yield* http("POST", two.path, { body: { variables: { text: "Needle" } } })).json.run_id
    const chat = yield* admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "good day" } })
    const find = (query: string) =>
      Effect.map(admin("GET", `/api/runs?${query}`), ({ json, status }) => {
        expect(status, query).toBe(200)
        return json.data.map(({ run_id }: { run_id: string }) => run_id)
      })
    expect((yield* find("")).toSorted()).toEqual([answered, stuck, chat.json.message_id].toSorted())
    for (const [query, expected] of [
      [`webhook_id=${two.id.toUpperCase()}`, [stuck]],
      ["team=slow", [stuck]],
      ["search=needle", [stuck]],
      ["search=echo:%20HELLO", [answered]],
      [`search=${stuck.toUpperCase()}`, [stuck]],
      ["source=chat", [chat.json.message_id]],
      ["mode=wait&source=webhook", [answered]],
      ["status=error,success&source=webhook", [answered]],
      ["status=success&min_duration_ms=86400000", []],
      ["to=2020-01-01T00:00:00Z", []]
    ] as const) {
      expect(yield* find(query), query).toEqual(expected)
    }
    const page = yield* admin("GET", "/api/runs?limit=2")
    const rest = yield* admin("GET", `/api/runs?limit=2&cursor=${page.json.next_cursor}`)
    expect([...page.json.data, ...rest.json.data]).toHaveLength(3)
    expect(rest.json.next_cursor).toBeNull()
  })

  it.live("refuses what is no filter", function* () {
    const { admin } = yield* start()
    for (const query of [
      ...[
        "status=",
        "status=error,lost",
        "webhook_id=x",
        "team=No",
        "source=mail",
        "mode=x",
        "from=today",
        "limit=101"
      ],
      ...["min_duration_ms=-1", "max_duration_ms=1.5", "search=", `search=${"x".repeat(201)}`, "search=%00", "cursor=x"]
    ]) {
      expect(refusal(yield* admin("GET", `/api/runs?${query}`)), query).toStrictEqual([400, "invalid_parameter"])
    }
    expect(refusal(yield* admin("GET", `/api/runs?webhook_id=${unusedId}`))).toStrictEqual([404, "not_found"])
    const { json } = yield* admin("GET", "/api/runs?status=lost")
    expect(json.detail).toBe("`status` must be `queued`, `running`, `success`, `error`, `timeout` or `cancelled`.")
  })

  it.live("refuses unknown parameters, and a period that ends before it begins", function* () {
    const { admin, http } = yield* start()
    const unknown = yield* admin("GET", "/api/runs?state=error&limit=1")
    expect(refusal(unknown)).toStrictEqual([422, "invalid"])
    expect(unknown.json.errors[0]).toMatchObject({ pointer: "state", detail: expect.stringContaining("status, ") })
    const none = yield* admin("GET", "/api/teams?limit=1")
    expect(none.json.errors).toStrictEqual([
      { pointer: "limit", detail: "is not a parameter: this endpoint takes none" }
    ])
    const reversed = { from: "2026-02-01T00:00:00Z", to: "2026-01-01T00:00:00Z" }
    const period = new URLSearchParams(reversed)
    for (const path of ["/api/runs", "/api/runs/export.csv"]) {
      expect((yield* admin("GET", `${path}?${period}`)).json.errors).toStrictEqual([
        { pointer: "to", detail: "must be after `from`" }
      ])
    }
    const replay = yield* admin("POST", "/api/runs/replay", { body: { team: "ops", ...reversed } })
    expect(replay.json.errors).toStrictEqual([{ pointer: "/to", detail: "must be after `from`" }])
    // Without the key, nothing is said about the query.
    expect(refusal(yield* http("GET", "/api/runs?state=error"))).toStrictEqual([401, "unauthorized"])
  })
})

describe("POST /api/runs/cancel", () => {
  it.live("cancels those that have not ended, and says why it leaves others alone", function* () {
    const { admin, http, team, webhook } = yield* start()
    yield* team("ops")
    yield* team("slow", silent)
    const [done, stuck] = [yield* webhook("ops"), yield* webhook("slow")]
    const ended = (yield* http("POST", `${done.path}?wait=true`, { body: hello })).json.run_id
    const posted = yield* Effect.replicateEffect(http("POST", stuck.path, { body: hello }), 3)
    const [one, two, three] = posted.map(({ json }) => json.run_id)
    const cancel = (run_ids: ReadonlyArray<unknown>) => admin("POST", "/api/runs/cancel", { body: { run_ids } })
    expect((yield* cancel([one, two.toUpperCase(), two, ended, unusedId])).json).toEqual({
      cancelled: [one, two],
      refused: [
        { run_id: ended, code: "run_ended", detail: "The run ended as `success` before it could be cancelled." },
        { run_id: unusedId, code: "not_found", detail: expect.any(String) }
      ]
    })
    const { json } = yield* admin("GET", "/api/runs?status=cancelled")
    expect(json.data.map(({ run_id }: any) => run_id).toSorted()).toEqual([one, two].toSorted())
    expect((yield* admin("GET", `/api/runs/${three}`)).json.status).not.toBe("cancelled")
    const events = (yield* admin("GET", "/api/audit?action=run.cancelled")).json.data
    expect(events.map(({ object }: any) => object).toSorted()).toEqual([one, two].toSorted())
    for (const ids of [[], ["x"], Array(101).fill(unusedId)]) {
      expect(refusal(yield* cancel(ids))).toStrictEqual([422, "invalid"])
    }
  })
})
