import { describe, expect, it } from "../../support/It.ts"
import { refusal, sorted } from "../Client.ts"
import { type Leader, start } from "../Server.ts"

describe("webhooks", () => {
  it.live("have a history of a bounded size, whatever was asked and answered", function* () {
    const answer = "\u0001".repeat(1_000_000)
    const { admin, http, team, webhook } = yield* start()
    const leader: Leader = ({ reply }) => reply({ _tag: "Answered", response: answer })
    const { id, path } = yield* webhook(yield* team("ops", leader))
    const body = { variables: { text: "\u0001".repeat(80_000), more: { deep: ["\u0002".repeat(80_000)] } } }
    const ids: Array<string> = []
    for (let n = 0; n < 3; n++) ids.unshift((yield* http("POST", `${path}?wait=true`, { body })).json.run_id)
    for (const address of [`/api/webhooks/${id}/runs?limit=100`, "/api/teams/ops/runs?limit=100"]) {
      const page = yield* admin("GET", address)
      const runs: Array<any> = page.json.data ?? page.json
      expect(runs.map((run) => run.run_id)).toStrictEqual(ids)
      expect(page.text.length).toBeLessThan(3 * 25_000)
      for (const { truncated, sizes, conversation, variables } of runs) {
        expect(truncated).toBe(true)
        expect(sizes).toStrictEqual({
          variables: JSON.stringify(body.variables).length,
          prompt: 80_000,
          response: 1_000_000
        })
        expect(conversation).toStrictEqual({ prompt: "\u0001".repeat(1_000), response: "\u0001".repeat(1_000) })
        // An escape in JSON has six characters, and one that is cut in two is left out.
        expect(variables).toStrictEqual({ text: "\u0001".repeat(165) })
      }
    }
    const [{ sizes: _, truncated: __, ...listed }] = (yield* admin("GET", `/api/webhooks/${id}/runs?limit=1`)).json.data
    expect((yield* admin("GET", `/api/runs/${ids[0]}`)).json).toStrictEqual({
      ...{ ...listed, ...body },
      conversation: { prompt: "\u0001".repeat(80_000), response: answer }
    })
  })

  it.live("have a history in pages, newest first", function* () {
    const { admin, http, team, webhook } = yield* start()
    yield* team("ops")
    const { id, path } = yield* webhook("ops")
    const ids: Array<string> = []
    for (let i = 0; i < 25; i++) {
      const { json } = yield* http("POST", `${path}?wait=true`, { body: { variables: { text: `${i}` } } })
      ids.unshift(json.run_id)
    }
    const runs = (query: string) => admin("GET", `/api/webhooks/${id}/runs${query}`)
    const idsOf = (page: { json: any }) => page.json.data.map(({ run_id }: { run_id: string }) => run_id)
    const first = yield* runs("")
    expect(sorted(Object.keys(first.json))).toStrictEqual(sorted(["data", "next_cursor"]))
    const second = yield* runs(`?cursor=${encodeURIComponent(first.json.next_cursor)}`)
    expect([idsOf(first).length, idsOf(second).length, second.json.next_cursor]).toStrictEqual([20, 5, null])
    expect([...idsOf(first), ...idsOf(second)]).toStrictEqual(ids)
    expect(idsOf(yield* runs("?limit=3&status=success"))).toStrictEqual(ids.slice(0, 3))
    expect(idsOf(yield* runs("?status=error"))).toStrictEqual([])
    for (const from of ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05%2B02:00"]) {
      expect((yield* runs(`?limit=2&from=${from}`)).status, from).toBe(200)
    }
    const whole = yield* admin("GET", `/api/runs/${ids[0]}`)
    const { truncated, sizes, ...listed } = first.json.data[0]
    expect(whole.json).toStrictEqual(listed)
    expect([truncated, sizes]).toStrictEqual([false, { variables: 13, prompt: 2, response: 8 }])
    expect(whole.json.conversation).toMatchObject({ prompt: "24", response: "echo: 24" })
    for (const query of [
      "?limit=0",
      "?limit=101",
      "?limit=1.5",
      "?limit=",
      "?limit=1&limit=2",
      "?limit=1e1",
      "?from=-1",
      "?from=2026",
      "?to=2026-01-02",
      "?from=2026-01-02T03:04:05",
      "?to=2026-02-30T00:00:00Z",
      "?from=2026-01-02T24:00:00Z",
      "?status=done",
      "?cursor=x"
    ]) {
      expect(refusal(yield* runs(query)), query).toStrictEqual([400, "invalid_parameter"])
    }
  })
})
