import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { adminKey, failing, hello, repoWithClock, silent, start, unusedId } from "../Server.ts"
import { type Event, openEvents } from "./EventReader.ts"
import { makeLeader } from "./StepLeader.ts"

const stream = { accept: "text/event-stream" }
const post = { method: "POST", body: JSON.stringify(hello), headers: { "content-type": "application/json", ...stream } }
const byAdmin = { headers: { authorization: `Bearer ${adminKey}` } }

const names = (events: ReadonlyArray<Event>) => events.map(({ event }) => event)

const textOf = (events: ReadonlyArray<Event>) =>
  events.reduce((text, { data: { restart, text: more = "" } }) => (restart ? "" : text) + more, "")

/** A server with a webhook whose leader does what the test says. */
const startLed = Effect.gen(function* () {
  const { does, leader } = yield* makeLeader
  const server = yield* start()
  const hook = yield* server.webhook(yield* server.team("ops", leader))
  const url = `${server.origin}${hook.path}`
  return { ...server, hook, url, does, eventsOf: (run_id: string) => `${url}/runs/${run_id}/events` }
})

describe("a trigger that asks for events", () => {
  it.live("gets them until the run ends, the last with the body of the JSON answer", function* () {
    const { admin, does, http, hook, url } = yield* startLed
    const { headers, next, rest } = yield* openEvents(url, post)
    expect(headers).toMatchObject({ "x-accel-buffering": "no", "cache-control": "no-store, no-transform" })
    const accepted = yield* next
    const { run_id } = accepted.data
    expect(accepted).toStrictEqual({ event: "accepted", id: "0", data: { status: "accepted", run_id } })
    expect(headers.location).toBe(`${hook.path}/runs/${run_id}`)
    const started = yield* next
    expect(started).toMatchObject({ event: "started", id: "1", data: { status: "running", run_id } })
    yield* does({ seq: 0, text: "Hel", activity: "Greeting" })
    expect(yield* next).toMatchObject({ event: "progress", data: { text: "Hel", activity: "Greeting" } })
    yield* does({ seq: 1, text: "lo" })
    expect(yield* next).toMatchObject({ event: "progress", data: { text: "lo" } })
    yield* does({ seq: 2, activity: "Waving" })
    const waving = yield* next
    expect(waving.data).toStrictEqual({ activity: "Waving" })
    yield* does({ answer: "Hello" })
    expect(yield* rest).toStrictEqual([
      { event: "success", id: "end", data: { status: "success", response: "Hello", run_id } }
    ])
    const { mode } = (yield* admin("GET", `/api/runs/${run_id}`)).json
    expect(mode).toBe("wait")
    const { started_at } = (yield* http("GET", `${hook.path}/runs/${run_id}`)).json
    expect(started.data).toStrictEqual({ status: "running", run_id, started_at })
  })

  it.live("can leave the run asynchronous, and a repeat with its key gets the events of the same run", function* () {
    const { admin, does, url } = yield* startLed
    const keyed = { ...post, headers: { ...post.headers, "idempotency-key": "k" } }
    const first = yield* openEvents(`${url}?wait=false`, keyed)
    const { data } = yield* first.next
    const repeat = yield* openEvents(`${url}?wait=false`, keyed)
    yield* does({ answer: "once" })
    expect(names(yield* first.rest)).toStrictEqual(["started", "success"])
    const events = yield* repeat.rest
    expect(names(events)).toStrictEqual(["accepted", "started", "success"])
    expect(events[0]!.data.run_id).toBe(data.run_id)
    expect((yield* admin("GET", `/api/runs/${data.run_id}`)).json.mode).toBe("async")
  })

  it.live("gets the JSON problem of a refusal, and of a filter that does not hold its JSON", function* () {
    const { history, http, team, webhook } = yield* start()
    const idle = yield* webhook(yield* team("idle", "no leader"))
    const ask = (path: string, body: object = hello) => http("POST", path, { body, headers: stream })
    expect(refusal(yield* ask("/webhook/trigger/whk_x"))).toStrictEqual([404, "not_found"])
    expect(refusal(yield* ask(idle.path))).toStrictEqual([409, "team_not_running"])
    const ops = yield* team("ops")
    const hook = yield* webhook(ops)
    expect(refusal(yield* ask(hook.path, { variables: {} }))).toStrictEqual([422, "missing_variables"])
    expect(refusal(yield* ask(`${hook.path}?format=sse`))).toStrictEqual([400, "invalid_parameter"])
    expect(refusal(yield* ask(`${hook.path}?wait=perhaps`))).toStrictEqual([400, "invalid_wait"])
    const json = { body: hello, headers: { accept: "application/json" } }
    const unacceptable = yield* http("POST", `${hook.path}?format=ai-sdk`, json)
    expect(refusal(unacceptable)).toStrictEqual([406, "not_acceptable"])
    expect(yield* history(hook.id)).toStrictEqual([])
    const filtered = yield* webhook(ops, "{{text}}", { accept_if: "text == 'no'" })
    expect((yield* ask(filtered.path)).json).toStrictEqual({ status: "ignored" })
  })

  it.live("starts as usual if it excludes events or only has a format of its own", function* () {
    const { http, team, webhook } = yield* start()
    const hook = yield* webhook(yield* team("ops"))
    const excluded = { body: hello, headers: { accept: "application/json, text/event-stream;q=0" } }
    expect((yield* http("POST", hook.path, excluded)).status).toBe(202)
    expect((yield* http("POST", `${hook.path}?format=grafana`, { body: hello })).status).toBe(202)
  })
})

describe("the events of a run", () => {
  it.live("are the same for callers, with the token in the path or in a header, and for admins", function* () {
    const { does, eventsOf, hook, http, origin } = yield* startLed
    const { run_id } = (yield* http("POST", hook.path, { body: hello })).json
    const followers = [
      yield* openEvents(eventsOf(run_id)),
      yield* openEvents(`${origin}/webhook/trigger/runs/${run_id}/events`, {
        headers: { authorization: `Bearer ${hook.token}`, accept: "text/*" }
      }),
      yield* openEvents(`${origin}/api/runs/${run_id}/events`, byAdmin)
    ]
    yield* does({ seq: 0, text: "a" })
    const first = yield* Effect.forEach(followers, ({ next }) => Effect.replicateEffect(next, 3))
    yield* does({ seq: 1, text: "b" }, { answer: "c" })
    const all = yield* Effect.forEach(followers, ({ rest }, n) => Effect.map(rest, (rest) => [...first[n]!, ...rest]))
    expect(names(all[0]!.slice(0, 3))).toStrictEqual(["accepted", "started", "progress"])
    expect(all[0]!.at(-1)).toStrictEqual({
      event: "success",
      id: "end",
      data: { status: "success", response: "c", run_id }
    })
    expect(all[1]).toStrictEqual(all[0])
    expect(all[2]).toStrictEqual(all[0])
  })

  it.live("continue after the last one received, on any server, without a gap or a repetition", function* () {
    const { does, eventsOf, hook, http, repo } = yield* startLed
    const replica = yield* start({ repo })
    const { run_id } = (yield* http("POST", hook.path, { body: hello })).json
    const urls = [eventsOf(run_id), `${replica.origin}${hook.path}/runs/${run_id}/events`]
    const received: Array<Event> = []
    const parts = ["one ", "two ", "three ", "four ", "five "]
    for (const [n, text] of parts.entries()) {
      yield* does({ seq: n, text })
      const headers = received.length === 0 ? {} : { "last-event-id": received.at(-1)!.id! }
      const { close, next } = yield* openEvents(urls[n % 2]!, { headers })
      while (textOf(received).length < parts.slice(0, n + 1).join("").length) received.push(yield* next)
      yield* close
    }
    expect(names(received)).toStrictEqual(["accepted", "started", ...parts.map(() => "progress")])
    yield* does({ answer: "done" })
    const ids = received.map(({ id }) => id!)
    const ended = yield* Effect.forEach(ids, (id) =>
      Effect.flatMap(openEvents(urls[1]!, { headers: { "last-event-id": id } }), ({ rest }) => rest)
    )
    for (const [n, rest] of ended.entries()) {
      expect([...received.slice(0, n + 1), ...rest].map(({ id }) => id)).toStrictEqual([...ids, "end"])
      expect(textOf([...received.slice(0, n + 1), ...rest])).toBe(parts.join(""))
    }
  })

  it.live("of a run that has ended come from the stored run, and none after the last one", function* () {
    const { admin, http, origin, team, webhook } = yield* start()
    const hook = yield* webhook(yield* team("ops"))
    const { run_id } = (yield* http("POST", `${hook.path}?wait=true`, { body: hello })).json
    for (const [url, init] of [
      [`${origin}${hook.path}/runs/${run_id}/events`, {}],
      [`${origin}/api/runs/${run_id}/events`, byAdmin]
    ] as const) {
      const { rest } = yield* openEvents(url, init)
      const events = yield* rest
      expect(names(events)).toStrictEqual(["accepted", "started", "success"])
      expect(events.at(-1)!.data).toStrictEqual({ status: "success", response: "echo: hello", run_id })
    }
    const after = { headers: { "last-event-id": "end" } }
    expect((yield* http("GET", `${hook.path}/runs/${run_id}/events`, after)).status).toBe(204)
    expect((yield* admin("GET", `/api/runs/${run_id}/events`, after)).status).toBe(204)
  })

  it.live("end with an error, a timeout or a cancellation, as the JSON answer does", function* () {
    const { admin, http, origin, team, webhook } = yield* start()
    const ofEnd = (path: string) =>
      Effect.gen(function* () {
        const { next } = yield* openEvents(`${origin}${path}`, post)
        for (;;) {
          const event = yield* next
          if (event.id === "end") return event
        }
      })
    const failed = yield* webhook(yield* team("failing", failing))
    const error = yield* ofEnd(failed.path)
    const answer = (yield* http("POST", `${failed.path}?wait=true`, { body: hello })).json
    expect(error).toStrictEqual({ event: "error", id: "end", data: { ...answer, run_id: error.data.run_id } })

    const quiet = yield* webhook(yield* team("silent", silent), "{{text}}", { timeout_seconds: 1 })
    const { data, event } = yield* ofEnd(quiet.path)
    expect([event, data]).toStrictEqual(["timeout", { status: "timeout", run_id: data.run_id }])

    const patient = yield* webhook("silent")
    const { next, rest } = yield* openEvents(`${origin}${patient.path}`, post)
    const { run_id } = (yield* next).data
    yield* admin("POST", `/api/runs/${run_id}/cancel`)
    const cancelled = (yield* rest).at(-1)!
    expect([cancelled.event, cancelled.id]).toStrictEqual(["cancelled", "end"])
    expect(cancelled.data).toMatchObject({ status: 409, code: "cancelled", run_id })
  })

  it.live("say that the text starts over when the work does", function* () {
    const { does, url } = yield* startLed
    const { next, rest } = yield* openEvents(url, post)
    yield* does({ seq: 5, text: "first try" })
    const events = [yield* next, yield* next, yield* next]
    yield* does({ seq: 0, text: "second" })
    events.push(yield* next, yield* next)
    expect(events.slice(3).map(({ data }) => data)).toStrictEqual([{ restart: true }, { text: "second" }])
    expect(textOf(events)).toBe("second")
    yield* does({ answer: "done" })
    expect(names(yield* rest)).toStrictEqual(["success"])
  })

  it.live("are refused with a problem", function* () {
    const { admin, http, team, webhook } = yield* start()
    const ops = yield* team("ops")
    const [hook, other] = [yield* webhook(ops), yield* webhook(ops)]
    const { run_id } = (yield* http("POST", hook.path, { body: hello })).json
    const at = `${hook.path}/runs/${run_id}/events`
    const ask = (path: string, headers: Record<string, string> = {}) => http("GET", path, { headers })
    expect(refusal(yield* ask(at, { accept: "application/json" }))).toStrictEqual([406, "not_acceptable"])
    expect(refusal(yield* ask(`${at}?format=x`))).toStrictEqual([400, "invalid_parameter"])
    expect(refusal(yield* ask(at, { "last-event-id": "x" }))).toStrictEqual([400, "invalid_parameter"])
    expect(refusal(yield* http("POST", at))).toStrictEqual([405, "method_not_allowed"])
    const unknown = yield* ask(`${hook.path}/runs/${unusedId}/events`)
    const ofOther = yield* ask(`${other.path}/runs/${run_id}/events`)
    const noToken = yield* ask(`/webhook/trigger/whk_x/runs/${run_id}/events`)
    expect(refusal(unknown)).toStrictEqual([404, "not_found"])
    expect([ofOther.text, noToken.text]).toStrictEqual([unknown.text, unknown.text])
    expect(refusal(yield* ask(`/api/runs/${run_id}/events`))).toStrictEqual([401, "unauthorized"])
    expect(refusal(yield* admin("GET", `/api/runs/${unusedId}/events`))).toStrictEqual([404, "not_found"])
    expect(refusal(yield* admin("GET", `/api/runs/${run_id}/events?format=x`))).toStrictEqual([
      400,
      "invalid_parameter"
    ])
  })

  it.live("end with the token, with the deletion of the run, and when the server stops", function* () {
    const { admin, origin, shutdown, team, webhook } = yield* start()
    const quiet = yield* team("silent", silent)
    const open = Effect.gen(function* () {
      const hook = yield* webhook(quiet)
      const reader = yield* openEvents(`${origin}${hook.path}`, post)
      const { data } = yield* reader.next
      const events = `/api/runs/${data.run_id}/events`
      return { hook, reader, ofAdmin: yield* openEvents(`${origin}${events}`, byAdmin) }
    })
    const finals = ["success", "error", "timeout", "cancelled"]
    const endsEarly = (reader: { readonly rest: Effect.Effect<ReadonlyArray<Event>> }) =>
      Effect.map(reader.rest, (events) => expect(names(events).filter((name) => finals.includes(name))).toEqual([]))

    const replaced = yield* open
    yield* admin("POST", `/api/webhooks/${replaced.hook.id}/token`)
    yield* endsEarly(replaced.reader)

    const disabled = yield* open
    yield* admin("PATCH", `/api/webhooks/${disabled.hook.id}`, { body: { enabled: false } })
    yield* endsEarly(disabled.reader)

    const deleted = yield* open
    yield* admin("DELETE", `/api/webhooks/${deleted.hook.id}`)
    yield* endsEarly(deleted.reader)
    yield* endsEarly(deleted.ofAdmin)

    const stopped = yield* open
    yield* shutdown.stopWaiting
    yield* endsEarly(stopped.reader)
    yield* endsEarly(stopped.ofAdmin)
    yield* endsEarly(replaced.ofAdmin)
  })

  it.live("continue after the database was out of reach", function* () {
    const { does, faults, url } = yield* startLed
    const { next, rest } = yield* openEvents(url, post)
    expect([(yield* next).event, (yield* next).event]).toStrictEqual(["accepted", "started"])
    faults.add("database")
    yield* untilEffect(
      "the database was asked for news in vain",
      Effect.sync(() => faults.failed.includes("newsOf"))
    )
    faults.clear()
    yield* does({ seq: 0, text: "still here" })
    expect((yield* next).data).toStrictEqual({ text: "still here" })
    yield* does({ answer: "done" })
    expect(names(yield* rest)).toStrictEqual(["success"])
  })
})

describe("the steps of a run", () => {
  it.live("come with its events to people, not to callers, and stay with it, in its export too", function* () {
    const { admin, does, origin, url } = yield* startLed
    const caller = yield* openEvents(url, post)
    const { run_id } = (yield* caller.next).data
    const { next, rest } = yield* openEvents(`${origin}/api/runs/${run_id}/events`, byAdmin)
    expect(names([yield* next, yield* next])).toStrictEqual(["accepted", "started"])
    const call = { id: "a", kind: "tool", title: "Reading <b>a.ts</b>", tool: "Read", detail: "a.ts" } as const
    yield* does({ seq: 0, text: "I look.", steps: [{ ...call, status: "running" }] })
    const reported = yield* next
    expect(reported.data).toMatchObject({ text: "I look.", activity: call.title, steps: [call] })
    yield* does({ seq: 1, steps: [{ id: "a", status: "ok", result_bytes: 7, duration_ms: 30 }] })
    expect((yield* next).data).toMatchObject({ steps: [{ id: "a", status: "ok" }] })
    yield* does({ answer: "Done" })
    yield* rest
    const [, ...forCaller] = yield* caller.rest
    expect(forCaller.map(({ data }) => data)).toStrictEqual([
      { text: "I look.", activity: call.title },
      { status: "success", response: "Done", run_id }
    ])
    const step = { ...call, status: "ok", result_bytes: 7, duration_ms: 30, at: reported.data.steps[0].at }
    const { data } = (yield* admin("GET", `/api/runs/${run_id}/steps`)).json
    expect(data).toStrictEqual([step])
    const [line] = (yield* admin("GET", "/api/runs/export.jsonl")).text.split("\n")
    expect(JSON.parse(line!)).toMatchObject({ run_id, steps: [step] })
    expect(refusal(yield* admin("GET", `/api/runs/${unusedId}/steps`))).toStrictEqual([404, "not_found"])
    yield* admin("DELETE", `/api/webhooks/${(yield* admin("GET", `/api/runs/${run_id}`)).json.webhook_id}`)
    expect(refusal(yield* admin("GET", `/api/runs/${run_id}/steps`))).toStrictEqual([404, "not_found"])
  })

  it.live("are not for keys of the role caller either", function* () {
    const { admin, does, hook, http, origin } = yield* startLed
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "caller", role: "caller" } })).json
    const headers = { authorization: `Bearer ${key}` }
    const begun = yield* http("POST", `/api/webhooks/${hook.id}/runs`, { headers, body: hello })
    const { rest } = yield* openEvents(`${origin}/api/runs/${begun.json.run_id}/events`, { headers })
    yield* does({ seq: 0, text: "I look.", steps: [{ id: "a", kind: "tool", title: "Read", status: "running" }] })
    yield* does({ answer: "Done" })
    const progress = (yield* rest).filter(({ event }) => event === "progress")
    expect(progress.map(({ data }) => data)).toStrictEqual([{ text: "I look.", activity: "Read" }])
    const steps = yield* http("GET", `/api/runs/${begun.json.run_id}/steps`, { headers })
    expect(refusal(steps)).toStrictEqual([403, "forbidden"])
  })

  it.live("say in a run that timed out what its agent had reported last", function* () {
    const { does, leader } = yield* makeLeader
    const { putAhead, repo } = repoWithClock()
    const { admin, http, origin, team, webhook } = yield* start({ repo })
    const hook = yield* webhook(yield* team("ops", leader), "{{text}}", { timeout_seconds: 60 })
    yield* does({ seq: 0, steps: [{ kind: "retry", title: "Retrying: 429 (4 of 10)" }] })
    const { next, rest } = yield* openEvents(`${origin}${hook.path}`, post)
    const begun = [yield* next, yield* next, yield* next]
    putAhead(60_000)
    const events = [...begun, ...(yield* rest)]
    expect(names(events)).toStrictEqual(["accepted", "started", "progress", "timeout"])
    const { run_id } = events[0]!.data
    const timeout = { status: "timeout", run_id, last_step: "Retrying: 429 (4 of 10)" }
    // It is the body of the 408.
    expect(events.at(-1)!.data).toStrictEqual(timeout)
    expect((yield* admin("GET", `/api/runs/${run_id}`)).json).toMatchObject(timeout)
    expect((yield* http("GET", `${hook.path}/runs/${run_id}`)).json).toMatchObject(timeout)
    yield* does({ answer: "late" })
  })

  it.live("do not say in a run that timed out which command its agent ran last", function* () {
    const { does, leader } = yield* makeLeader
    const { putAhead, repo } = repoWithClock()
    const { admin, http, origin, team, webhook } = yield* start({ repo })
    const hook = yield* webhook(yield* team("ops", leader), "{{text}}", { timeout_seconds: 60 })
    yield* does({ seq: 0, steps: [{ kind: "tool", title: "Bash: env" }] })
    const { next, rest } = yield* openEvents(`${origin}${hook.path}`, post)
    const { run_id } = (yield* next).data
    yield* next
    yield* next
    putAhead(60_000)
    expect((yield* rest).at(-1)!.data).toStrictEqual({ status: "timeout", run_id })
    expect((yield* admin("GET", `/api/runs/${run_id}`)).json).toMatchObject({ last_step: "Bash: env" })
    expect((yield* http("GET", `${hook.path}/runs/${run_id}`)).json).not.toHaveProperty("last_step")
    yield* does({ answer: "late" })
  })
})
