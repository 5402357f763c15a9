import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { refusal } from "./Client.ts"
import { adminKey, hello, silent, start, unusedId } from "./Server.ts"

describe("GET /api/runs", () => {
  it.scopedLive("finds the runs of all webhooks and teams by what its parameters name", () =>
    Effect.gen(function* () {
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
  )

  it.scopedLive("refuses what is no filter", () =>
    Effect.gen(function* () {
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
        ...[
          "min_duration_ms=-1",
          "max_duration_ms=1.5",
          "search=",
          `search=${"x".repeat(201)}`,
          "search=%00",
          "cursor=x"
        ]
      ]) {
        expect(refusal(yield* admin("GET", `/api/runs?${query}`)), query).toStrictEqual([400, "invalid_parameter"])
      }
      expect(refusal(yield* admin("GET", `/api/runs?webhook_id=${unusedId}`))).toStrictEqual([404, "not_found"])
    })
  )
})

describe("exporting runs", () => {
  it.scopedLive("gives all that a filter finds, whole, as CSV without formulas and as JSON Lines", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      const { id, path } = yield* webhook("ops", "{{text}}", { name: "=HYPERLINK(1)" })
      const texts = ["=1+1", 'He said: "no", then\r\nleft', "x".repeat(5_000), ...Array(30).fill("more")]
      for (const text of texts) yield* http("POST", `${path}?wait=true`, { body: { variables: { text } } })
      yield* admin("POST", "/api/teams/ops/messages?wait=true", { body: { message: "not asked for" } })

      const lines = yield* admin("GET", `/api/runs/export.jsonl?webhook_id=${id}`)
      expect(lines.headers.get("content-disposition")).toBe('attachment; filename="runs.jsonl"')
      const runs = lines.text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      expect(runs.map(({ variables }) => variables.text)).toEqual(texts.toReversed())
      expect(runs.at(-1)).toEqual((yield* admin("GET", `/api/runs/${runs.at(-1).run_id}`)).json)
      expect(lines.text.endsWith("}\n")).toBe(true)

      const file = yield* admin("GET", "/api/runs/export.csv?source=webhook")
      expect(file.headers.get("content-disposition")).toBe('attachment; filename="runs.csv"')
      expect(file.text).toMatch(/^run_id,status,source,webhook_id,webhook,team,mode,accepted_at,.*,response\r\n/)
      expect(file.text.split("\r\n").slice(-2)).toEqual([
        expect.stringMatching(
          `^${runs.at(-1).run_id},success,webhook,${id},'=HYPERLINK\\(1\\),ops,wait,.*,'=1\\+1,echo: =1\\+1$`
        ),
        ""
      ])
      expect(file.text).toContain(',"He said: ""no"", then\r\nleft","echo: He said: ""no"", then\r\nleft"\r\n')
      expect((yield* admin("GET", "/api/runs/export.csv?team=nobody")).text.split("\r\n")).toHaveLength(2)
      expect((yield* admin("GET", "/api/runs/export.jsonl?team=nobody")).text).toBe("")
    })
  )

  it.scopedLive("closes the connection when it cannot be completed, so that nobody takes the part for the whole", () =>
    Effect.gen(function* () {
      const { admin, faults, http, origin, team, webhook } = yield* start()
      yield* team("ops")
      const { path } = yield* webhook("ops")
      for (let n = 0; n < 26; n++) {
        yield* http("POST", `${path}?wait=true`, { body: { variables: { text: "x".repeat(250_000) } } })
      }
      const headers = { authorization: `Bearer ${adminKey}` }
      const response = yield* Effect.promise(() => fetch(`${origin}/api/runs/export.jsonl`, { headers }))
      // What is written already is not read yet, so the next page waits.
      faults.add("bug")
      const failed = yield* Effect.promise(() =>
        response.text().then(
          () => false,
          () => true
        )
      )
      expect(failed).toBe(true)
      faults.clear()
      expect((yield* admin("GET", "/api/runs/export.jsonl")).text.split("\n")).toHaveLength(27)
    })
  )
})

describe("POST /api/runs/cancel", () => {
  it.scopedLive("cancels those that have not ended, and leaves the others alone", () =>
    Effect.gen(function* () {
      const { admin, http, team, webhook } = yield* start()
      yield* team("ops")
      yield* team("slow", silent)
      const [done, stuck] = [yield* webhook("ops"), yield* webhook("slow")]
      const ended = (yield* http("POST", `${done.path}?wait=true`, { body: hello })).json.run_id
      const posted = yield* Effect.replicateEffect(http("POST", stuck.path, { body: hello }), 3)
      const [one, two, three] = posted.map(({ json }) => json.run_id)
      const cancel = (run_ids: ReadonlyArray<unknown>) => admin("POST", "/api/runs/cancel", { body: { run_ids } })
      expect((yield* cancel([one, two.toUpperCase(), two, ended, unusedId])).json).toEqual({ cancelled: 2 })
      const { json } = yield* admin("GET", "/api/runs?status=cancelled")
      expect(json.data.map(({ run_id }: any) => run_id).toSorted()).toEqual([one, two].toSorted())
      expect((yield* admin("GET", `/api/runs/${three}`)).json.status).not.toBe("cancelled")
      const events = (yield* admin("GET", "/api/audit?action=run.cancelled")).json.data
      expect(events.map(({ object }: any) => object).toSorted()).toEqual([one, two].toSorted())
      for (const ids of [[], ["x"], Array(101).fill(unusedId)]) {
        expect(refusal(yield* cancel(ids))).toStrictEqual([422, "invalid"])
      }
    })
  )
})
