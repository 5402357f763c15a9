import { Effect, Fiber } from "effect"
import { expect, it } from "../../support/It.ts"
import { hello, silent, start, startWithWebhook } from "../Server.ts"

it.live("a caller cancels its run with its webhook's token, and whoever waits for it gets 409", function* () {
  const { admin, team, webhook, http, firstRuns } = yield* start()
  const hook = yield* webhook(yield* team("slow", silent))
  const waiting = yield* Effect.forkChild(http("POST", `${hook.path}?wait=true`, { body: hello }))
  const [{ run_id }] = yield* firstRuns(hook.id)
  const following = yield* Effect.forkChild(http("GET", `${hook.path}/runs/${run_id}?wait=true`))

  const cancelled = yield* http("POST", `${hook.path}/runs/${run_id}/cancel`)
  expect(cancelled.status).toBe(200)
  expect(cancelled.json).toMatchObject({ run_id, status: "cancelled" })
  const told = yield* Fiber.join(waiting)
  expect(told.status).toBe(409)
  expect(told.json).toMatchObject({ code: "cancelled", run_id, status: 409 })
  expect((yield* Fiber.join(following)).json).toMatchObject({ run_id, status: "cancelled" })

  expect((yield* admin("GET", `/api/runs/${run_id}`)).json.cancelled_by).toBe("caller")
  const again = yield* http("POST", `${hook.path}/runs/${run_id}/cancel`)
  expect([again.status, again.json.status]).toEqual([200, "cancelled"])
})

it.live("a run that ended in another way is not cancelled, nor is one of another webhook", function* () {
  const { post, http, hook, webhook } = yield* startWithWebhook
  const { json } = yield* post(hello, "?wait=true")
  const late = yield* http("POST", `${hook.path}/runs/${json.run_id}/cancel`)
  expect(late.status).toBe(409)
  expect(late.json).toMatchObject({ code: "run_ended", run_id: json.run_id })
  const other = yield* webhook("ops")
  expect((yield* http("POST", `${other.path}/runs/${json.run_id}/cancel`)).status).toBe(404)
  expect((yield* http("POST", `${hook.path}/runs/nothing/cancel`)).status).toBe(404)
  const read = yield* http("GET", `${hook.path}/runs/${json.run_id}/cancel`)
  expect([read.status, read.headers.get("allow")]).toEqual([405, "POST"])
})

it.live("an admin cancels a run, and all that is queued for a webhook or a team", function* () {
  const { team, webhook, http, admin } = yield* start({ settings: { maxConcurrent: 1 } })
  const slow = yield* team("slow", silent)
  const [one, two] = [yield* webhook(slow), yield* webhook(slow)]
  const runs = yield* Effect.forEach([one, one, one, two, two], ({ path }) => http("POST", path, { body: hello }))
  const [first, ...queued] = runs.map(({ json }) => json.run_id)

  const [ofWebhook, ofTeam] = [`/api/webhooks/${one.id}/cancel-queued`, "/api/teams/slow/cancel-queued"]
  const cancel = (path: string) => Effect.map(admin("POST", path), ({ json }) => json)
  expect(yield* cancel(`${ofTeam}?dry_run=true`)).toEqual({ cancelled: 4, retries: 0 })
  expect(yield* cancel(`${ofWebhook}?dry_run=true`)).toEqual({ cancelled: 2, retries: 0 })
  expect(yield* cancel(ofWebhook)).toEqual({ cancelled: 2, retries: 0 })
  expect(yield* cancel(`${ofTeam}?dry_run=false`)).toEqual({ cancelled: 2, retries: 0 })
  expect((yield* cancel(`${ofTeam}?dry_run=x`)).code).toBe("invalid_parameter")
  for (const run_id of queued) {
    const { json } = yield* admin("GET", `/api/runs/${run_id}`)
    expect(json).toMatchObject({ status: "cancelled", cancelled_by: "admin_key", released_at: json.finished_at })
  }
  expect((yield* admin("GET", `/api/runs/${first}`)).json.finished_at).toBeUndefined()
  expect((yield* admin("POST", `/api/runs/${first}/cancel`)).json).toMatchObject({ status: "cancelled" })
  expect((yield* admin("GET", `/api/webhooks/${one.id}/runs?status=cancelled`)).json.data).toHaveLength(3)
})

it.live("a cancelled chat message", function* () {
  const { team, admin } = yield* start()
  yield* team("slow", silent)
  const sent = yield* admin("POST", "/api/teams/slow/messages", { body: { message: "hello" } })
  const cancelled = yield* admin("POST", `/api/runs/${sent.json.message_id}/cancel`)
  expect(cancelled.json).toMatchObject({ status: "cancelled", source: "chat" })
})
