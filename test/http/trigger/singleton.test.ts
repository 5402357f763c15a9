/** `singleton` and `cancel_if`: a newer request replaces the run of an older one, and an event cancels it. */

import { Deferred, Effect, Fiber } from "effect"
import { expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { echo, failing, type Leader, silent, start } from "../Server.ts"

const key = "{{repo}}#{{number}}"
const of = (number: number, more: object = {}) => ({ body: { variables: { repo: "shop", number, ...more } } })

it.live("a newer request supersedes the key's runs, whose waiting callers get 409, and which name it", function* () {
  const { admin, firstRuns, http, history, team, webhook } = yield* start()
  const singleton = { key, on_new: "supersede" }
  const hook = yield* webhook(yield* team("slow", silent), "{{number}}", { singleton })
  const waiting = yield* Effect.forkChild(http("POST", `${hook.path}?wait=true`, of(7)))
  const [{ run_id: first }] = yield* firstRuns(hook.id)
  const post = (number: number, more: object = {}) =>
    Effect.map(http("POST", hook.path, { ...of(number), ...more }), ({ json }) => json.run_id)
  const [other, second] = [yield* post(8), yield* post(7, { headers: { "idempotency-key": "again" } })]
  const told = yield* Fiber.join(waiting)
  expect([told.status, told.json.code, told.json.run_id]).toEqual([409, "cancelled", first])
  expect(yield* post(7, { headers: { "idempotency-key": "again" } })).toBe(second)
  const shown = (id: string) => Effect.map(admin("GET", `/api/runs/${id}`), ({ json }) => json)
  expect(yield* shown(first)).toMatchObject({
    status: "cancelled",
    cancelled_by: "superseded",
    superseded_by: second
  })
  // A key without a value, a test by a person and a replay stand alone.
  const alone = [yield* post(9), yield* Effect.map(http("POST", hook.path, of(9)), ({ json }) => json.run_id)]
  expect((yield* shown(alone[0])).superseded_by).toBe(alone[1])
  expect((yield* http("POST", hook.path, { body: { variables: { number: 7 } } })).status).toBe(202)
  expect((yield* admin("POST", `/api/webhooks/${hook.id}/runs`, of(7))).status).toBe(202)
  expect((yield* admin("POST", `/api/runs/${first}/replay`, { body: {} })).status).toBe(202)
  for (const id of [other, second]) expect((yield* shown(id)).finished_at).toBeUndefined()
  expect(yield* history(hook.id)).toHaveLength(8)
})

/** A webhook whose runs need approval, and what its callers and approvers do. */
const guarded = (settings: object, leader: Leader) =>
  Effect.gen(function* () {
    const server = yield* start()
    const { admin, http } = server
    const hook = yield* server.webhook(yield* server.team("slow", leader), "{{number}}", {
      ...{ approval: "required", singleton: { key, on_new: "supersede" } },
      ...settings
    })
    const shown = (id: string) => Effect.map(admin("GET", `/api/runs/${id}`), ({ json }) => json)
    const post = (number: number) =>
      Effect.map(http("POST", hook.path, of(number)), ({ json }) => json.run_id as string)
    const decide = (id: string, decision: string) =>
      Effect.map(admin("POST", `/api/runs/${id}/approval`, { body: { decision } }), ({ status }) => status)
    const until = (id: string, status: string) => repeatUntil(shown(id), (run) => run.status === status)
    return { ...server, hook, decide, post, shown, until }
  })

it.live(
  "a run that is denied replaces nothing but others that waited for approval, an approved one the run in progress",
  function* () {
    const stopping: Leader = (delivery) => Effect.andThen(Deferred.await(delivery.cancelled), failing(delivery))
    const { decide, post, shown, until } = yield* guarded({}, stopping)
    const [first, second] = [yield* post(7), yield* post(7)]
    expect(yield* shown(first)).toMatchObject({ status: "cancelled", superseded_by: second })
    expect([yield* decide(first, "approve"), yield* decide(second, "approve")]).toEqual([409, 200])
    yield* until(second, "running")
    const denied = yield* post(7)
    expect((yield* shown(second)).status).toBe("running")
    yield* decide(denied, "deny")
    expect((yield* shown(second)).status).toBe("running")
    const last = yield* post(7)
    expect(yield* shown(denied)).toMatchObject({ cancelled_by: "denied" })
    const decisions = yield* Effect.all([decide(last, "approve"), decide(last, "approve")], { concurrency: 2 })
    expect(decisions.toSorted()).toEqual([200, 409])
    expect(yield* shown(second)).toMatchObject({
      ...{ status: "cancelled", cancelled_by: "superseded" },
      superseded_by: last
    })
    yield* until(last, "running")
  }
)

it.live(
  "with supersede_when: started, the run in progress goes on until the newer one starts, and is not retried",
  function* () {
    const gate = yield* Deferred.make<void>()
    const settings = {
      approval: "none",
      supersede_when: "started",
      retries: { max_retries: 3, backoff_seconds: 60 }
    }
    const { post, shown, until } = yield* guarded(settings, (delivery) =>
      Effect.andThen(Deferred.await(gate), failing(delivery))
    )
    const first = yield* post(7)
    yield* until(first, "running")
    const [second, other, third] = [yield* post(7), yield* post(8), yield* post(7)]
    expect(yield* shown(second)).toMatchObject({ cancelled_by: "superseded", superseded_by: third })
    expect((yield* shown(first)).status).toBe("running")
    yield* Deferred.succeed(gate, undefined)
    const failed = yield* until(first, "error")
    expect(failed).toMatchObject({ cancelled_by: "superseded", superseded_by: third })
    expect(failed.retry_at).toBeUndefined()
    for (const id of [other, third]) expect((yield* until(id, "error")).retry_at).toBeDefined()
  }
)

it.live(
  "with supersede_when: started, an approved run replaces those that wait, not the one in progress",
  function* () {
    const gate = yield* Deferred.make<void>()
    const { decide, post, shown, until } = yield* guarded({ supersede_when: "started" }, (delivery) =>
      Effect.andThen(Deferred.await(gate), echo(delivery))
    )
    const [first, other] = [yield* post(7), yield* post(8)]
    for (const id of [first, other]) yield* decide(id, "approve")
    yield* until(first, "running")
    const [queued, last] = [yield* post(8), yield* post(7)]
    expect((yield* shown(other)).status).toBe("queued")
    for (const id of [queued, last]) expect(yield* decide(id, "approve")).toBe(200)
    expect(yield* shown(other)).toMatchObject({ cancelled_by: "superseded", superseded_by: queued })
    expect((yield* shown(first)).status).toBe("running")
    yield* Deferred.succeed(gate, undefined)
    const ended = yield* Effect.forEach([first, queued, last], (id) => until(id, "success"))
    const times = ended.map(({ finished_at }) => finished_at)
    expect(times).toEqual(times.toSorted())
  }
)

it.live("a request is skipped while a run with its key is on, and the answer names that one", function* () {
  const { admin, http, history, team, webhook } = yield* start()
  const hook = yield* webhook(yield* team("slow", silent), "{{number}}", { singleton: { key, on_new: "skip" } })
  const { json: first } = yield* http("POST", hook.path, of(7))
  for (const query of ["", "?wait=true"]) {
    const skipped = yield* http("POST", hook.path + query, of(7))
    expect(skipped.status).toBe(200)
    expect(skipped.json).toEqual({
      status: "ignored",
      reason: "A run with the same key is queued or in progress.",
      run_id: first.run_id
    })
  }
  expect(yield* history(hook.id)).toHaveLength(1)
  yield* admin("POST", `/api/runs/${first.run_id}/cancel`)
  expect((yield* http("POST", hook.path, of(7))).status).toBe(202)
})

it.live(
  "an event for which cancel_if holds cancels the key's runs, also of a paused webhook, and starts none",
  function* () {
    const { admin, http, history, team, webhook } = yield* start()
    const gate = yield* Deferred.make<void>()
    const leader: Leader = (delivery) =>
      delivery.prompt.prompt === "1" ? Effect.andThen(Deferred.await(gate), failing(delivery)) : silent(delivery)
    const settings = {
      pause_after_failures: 1,
      singleton: { key, on_new: "queue" },
      cancel_if: "action == 'closed'",
      accept_if: "action == 'push'",
      max_runs_per_day: 4
    }
    const hook = yield* webhook(yield* team("slow", leader), "{{number}}", settings)
    const push = (number: number) =>
      Effect.map(http("POST", hook.path, of(number, { action: "push" })), ({ json }) => json.run_id)
    const close = (number: number) =>
      Effect.map(http("POST", hook.path, of(number, { action: "closed" })), ({ json, status }) => [status, json])
    yield* push(1)
    const ids = [yield* push(7), yield* push(7), yield* push(8)]
    // A test cancels nothing.
    const tested = yield* admin("POST", `/api/webhooks/${hook.id}/runs`, of(7, { action: "closed" }))
    expect([tested.status, tested.json]).toEqual([200, { status: "cancelled", run_ids: [] }])
    const preview = yield* admin("POST", `/api/webhooks/${hook.id}/preview`, of(7, { action: "closed" }))
    expect(preview.json).toMatchObject({ cancels: true })
    yield* Deferred.succeed(gate, undefined)
    const isPaused = ({ json }: { readonly json: any }) => json.paused_at !== undefined
    yield* repeatUntil(admin("GET", `/api/webhooks/${hook.id}`), isPaused)
    const [status, { run_ids, ...rest }] = yield* close(7)
    expect([status, rest, run_ids.toSorted()]).toEqual([200, { status: "cancelled" }, ids.slice(0, 2)])
    expect(yield* close(7)).toEqual([200, { status: "cancelled", run_ids: [] }])
    const runs = yield* history(hook.id)
    expect(runs.map((run: any) => run.cancelled_by)).toEqual([undefined, "event", "event", undefined])
    const received = yield* admin("GET", `/api/webhooks/${hook.id}/requests?ignored=true`)
    const details = received.json.data.map(({ detail }: { readonly detail: string }) => detail)
    expect(details).toContain("`cancel_if` holds: 2 runs were cancelled.")
    // An edit holds for the very next request.
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { cancel_if: "action == 'merged'" } })
    expect(yield* close(8)).toEqual([200, { status: "ignored" }])
  }
)

it.live("a window combines only requests with the same key", function* () {
  const { history, http, team, webhook } = yield* start()
  const settings = { singleton: { key, on_new: "supersede" }, coalesce: { key: "repo", within: 600 } }
  const hook = yield* webhook(yield* team("slow", silent), "{{number}}", settings)
  const post = (number: number) => Effect.map(http("POST", hook.path, of(number)), ({ json }) => json.run_id)
  const [first, other] = [yield* post(7), yield* post(8)]
  expect(other).not.toBe(first)
  expect(yield* post(7)).toBe(first)
  expect(yield* history(hook.id)).toHaveLength(2)
})

it.live("a repeated event cancels no newer run", function* () {
  const { http, team, webhook } = yield* start()
  const settings = { singleton: { key, on_new: "queue" }, cancel_if: "action == 'closed'" }
  const hook = yield* webhook(yield* team("slow", silent), "{{number}}", settings)
  const post = (action: string, delivery: string) =>
    http("POST", hook.path, { ...of(7, { action }), headers: { "idempotency-key": delivery } })
  const opened = yield* post("opened", "d1")
  expect((yield* post("closed", "d2")).json.run_ids).toEqual([opened.json.run_id])
  expect((yield* post("reopened", "d3")).status).toBe(202)
  expect((yield* post("closed", "d2")).json.run_ids).toEqual([])
})

it.live("cancel_if needs a key, and both are checked when they are saved", function* () {
  const { admin, team } = yield* start()
  const draft = { name: "x", team: yield* team("ops"), prompt_template: "{{number}}" }
  const faults = (settings: object) =>
    Effect.map(admin("POST", "/api/webhooks", { body: { ...draft, ...settings } }), ({ json }) => json.errors)
  expect(yield* faults({ cancel_if: "number == `7`" })).toEqual([
    { pointer: "/cancel_if", detail: "needs `singleton`: its key says which runs are cancelled" }
  ])
  const singleton = { key: "{{number", on_new: "skip" }
  expect(yield* faults({ singleton, cancel_if: "number ==" })).toMatchObject([
    { pointer: "/singleton", detail: expect.stringMatching(/^line 1, column 1/) },
    { pointer: "/cancel_if" }
  ])
  expect(yield* faults({ singleton: { key: "{{number}}", on_new: "replace" } })).toMatchObject([
    { pointer: expect.stringMatching(/^\/singleton/) }
  ])
  const { json } = yield* admin("POST", "/api/webhooks", {
    body: { ...draft, singleton: { key: "{{number}}", on_new: "skip" }, cancel_if: "number == `7`" }
  })
  const edit = (body: object) => admin("PATCH", `/api/webhooks/${json.webhook.id}`, { body })
  expect(refusal(yield* edit({ singleton: null }))).toEqual([422, "invalid"])
  expect((yield* edit({ singleton: null, cancel_if: null })).status).toBe(200)
})
