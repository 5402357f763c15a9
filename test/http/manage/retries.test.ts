import { Effect } from "effect"
import { expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { failing, hello, start } from "../Server.ts"

it.live("a failed run says when it is tried again, and then by which run; cancelling it calls that off", function* () {
  const { admin, http, team, webhook } = yield* start()
  const hook = yield* webhook(yield* team("ops", failing))
  const set = (retries: unknown) => admin("PATCH", `/api/webhooks/${hook.id}`, { body: { retries } })
  const failed = Effect.gen(function* () {
    const { json } = yield* http("POST", hook.path, { body: hello })
    return (yield* http("GET", `${hook.path}/runs/${json.run_id}?wait=true`)).json
  })
  expect(yield* failed).not.toHaveProperty("retry_at")
  expect((yield* set({ max_retries: 11, backoff_seconds: 60 })).status).toBe(422)
  expect((yield* set({ max_retries: 3, backoff: 60 })).status).toBe(422)
  expect((yield* set({ max_retries: 1, backoff_seconds: 3_600 })).json.retries).toEqual({
    max_retries: 1,
    backoff_seconds: 3_600
  })

  const late = yield* failed
  expect(late).toMatchObject({ status: "error", error: { code: "agent_error" } })
  expect(Date.parse(late.retry_at) - Date.parse(late.finished_at)).toBe(3_600_000)
  const shown = yield* admin("GET", `/api/runs/${late.run_id}`)
  expect(shown.json).toMatchObject({ attempt: 1, max_attempts: 2, retry_at: late.retry_at })
  const waited = yield* http("POST", `${hook.path}?wait=true`, { body: hello })
  expect(waited.status).toBe(502)
  expect((yield* admin("GET", `/api/runs/${waited.json.run_id}`)).json).not.toHaveProperty("attempt")

  for (const _ of ["first", "again"]) {
    const calledOff = yield* http("POST", `${hook.path}/runs/${late.run_id}/cancel`)
    expect([calledOff.status, calledOff.json.status, calledOff.json.retry_at]).toEqual([200, "error", undefined])
  }
  const other = yield* failed
  const run_ids = [late.run_id, other.run_id]
  expect((yield* admin("POST", "/api/runs/cancel", { body: { run_ids } })).json).toMatchObject({
    cancelled: run_ids,
    refused: []
  })
  expect((yield* admin("POST", `/api/runs/${waited.json.run_id}/cancel`)).json.code).toBe("run_ended")
  const by = (id: string) => Effect.map(admin("GET", `/api/runs/${id}`), ({ json }) => json.cancelled_by)
  expect([yield* by(late.run_id), yield* by(other.run_id)]).toEqual(["caller", "admin_key"])

  yield* failed
  const path = `/api/webhooks/${hook.id}/cancel-queued`
  const cancelQueued = admin("POST", path)
  expect((yield* admin("POST", `${path}?dry_run=true`)).json).toEqual({ cancelled: 0, retries: 1 })
  expect((yield* cancelQueued).json).toEqual({ cancelled: 0, retries: 1 })
  expect((yield* cancelQueued).json).toEqual({ cancelled: 0, retries: 0 })

  yield* set({ max_retries: 1, backoff_seconds: 1 })
  const { run_id } = yield* failed
  const caller = http("GET", `${hook.path}/runs/${run_id}`)
  const { json } = yield* repeatUntil(caller, ({ json }) => json.retried_by !== undefined)
  expect(json).toMatchObject({ run_id, status: "error" })
  expect(json).not.toHaveProperty("retry_at")
  expect((yield* admin("POST", `/api/runs/${run_id}/cancel`)).json.code).toBe("run_ended")
  const again = yield* http("GET", `${hook.path}/runs/${json.retried_by}?wait=true`)
  expect(again.json).toMatchObject({ run_id: json.retried_by, status: "error" })
  const list = yield* admin("GET", `/api/runs/${run_id}/replays`)
  expect(list.json.data).toMatchObject([{ run_id: json.retried_by, attempt: 2, max_attempts: 2, retry_of: run_id }])
})
