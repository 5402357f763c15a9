import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repoOnPostgres } from "../../support/RealServices.ts"
import { untilEffect } from "../../support/Until.ts"
import { adminKey, hello, type Options, start } from "../Server.ts"

/** Two webhooks of two teams, and the runs of each. */
const twoOn = (options: Options) =>
  Effect.gen(function* () {
    const server = yield* start(options)
    yield* server.team("ops", ({ reply }) => reply({ _tag: "Answered", response: "42" }))
    yield* server.team("other")
    const first = yield* server.webhook("ops", "{{text}}", { name: "first" })
    const second = yield* server.webhook("other", "{{webhook.name}} said {{response}}, to {{variables.text}}")
    const link = (from: string, target: string, more: object = {}, key?: string) =>
      server.http("POST", `/api/webhooks/${from}/destinations`, {
        body: { kind: "chain", target, ...more },
        headers: { authorization: `Bearer ${key ?? adminKey}` }
      })
    const deliveries = (of: string) =>
      Effect.map(server.admin("GET", `/api/webhooks/${of}/deliveries`), (a) => a.json.data)
    const ended = (of: string, count: number) =>
      untilEffect(
        `${count} runs have ended`,
        Effect.map(server.history(of), (runs) => {
          const all = runs as ReadonlyArray<any>
          return all.length >= count && all.every(({ status }) => status === "success") && all
        })
      )
    const settled = (of: string) =>
      untilEffect(
        "no delivery is pending",
        Effect.map(deliveries(of), (all) => all.length > 0 && all.every((one: any) => one.status !== "pending") && all)
      )
    const run = (run_id: string) => Effect.map(server.admin("GET", `/api/runs/${run_id}`), ({ json }) => json)
    const trigger = server.http("POST", `${first.path}?wait=true`, { body: hello })
    return { ...server, first, second, link, deliveries, ended, settled, run, trigger }
  })

const two = twoOn({})

describe("a destination that is another webhook", () => {
  it.live(
    "starts one run with the answer, which names its origin; a delivery that is sent again starts no other",
    function* () {
      const { admin, ended, first, link, run, second, settled, trigger } = yield* two
      const created = yield* link(first.id, second.id, { events: ["run.succeeded"] })
      expect([created.status, created.json.secret]).toStrictEqual([201, undefined])
      expect(created.json.destination).toMatchObject({ kind: "chain", target: second.id, body: "full" })
      const origin = (yield* trigger).json.run_id
      const [delivery] = yield* settled(first.id)
      const [{ run_id }] = yield* ended(second.id, 1)
      expect(delivery).toMatchObject({ status: "delivered", attempts: [{ http_status: 202, started_run: run_id }] })
      const chained = yield* run(run_id)
      expect(chained).toMatchObject({ chained_from: origin, chain_depth: 1, team: "other" })
      expect(chained.conversation.prompt).toBe("first said 42, to hello")
      yield* admin("POST", `/api/webhooks/${first.id}/deliveries/${delivery.id}/resend`)
      const again = yield* untilEffect(
        "it was sent again",
        Effect.map(settled(first.id), ([one]) => one.attempts.length === 2 && one)
      )
      expect(again.attempts.map((one: any) => one.started_run)).toEqual([run_id, run_id])
      expect(yield* ended(second.id, 1)).toHaveLength(1)
      // A replay has the same place in the chain.
      const replay = yield* admin("POST", `/api/runs/${run_id}/replay`)
      expect(yield* run(replay.json.run_id)).toMatchObject({
        chained_from: origin,
        chain_depth: 1,
        replay_of: run_id
      })
    }
  )

  it.live("ends a chain of webhooks that start each other after five runs, and says so", function* () {
    const { ended, first, link, run, second, settled, trigger } = yield* two
    const body = { body: "template", template: '{"text": "{{ run.status }}"}' }
    expect((yield* link(first.id, second.id)).status).toBe(201)
    expect((yield* link(second.id, first.id, body)).status).toBe(201)
    yield* trigger
    const last = yield* ended(second.id, 3)
    const [failed] = yield* settled(second.id)
    expect(yield* ended(first.id, 3)).toHaveLength(3)
    expect(last).toHaveLength(3)
    expect(failed).toMatchObject({ status: "failed", run_id: last[0].run_id, attempts: [{ http_status: 508 }] })
    expect(failed.attempts[0].error).toMatch(/^at most 5 runs may follow the first run of a chain/)
    expect(yield* run(last[0].run_id)).toMatchObject({ chain_depth: 5, delivery_failed: true })
  })

  it.live("is refused for a webhook that the key may not use, and stops when one moves to another team", function* () {
    const { admin, first, link, second, settled, team, trigger, webhook } = yield* two
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "ops", role: "editor", teams: ["ops"] } })).json
    const own = yield* webhook("ops")
    const faultOf = (answer: any) => [answer.status, answer.json.errors?.[0]]
    const notThere = [422, { pointer: "/target", detail: "is not a webhook that you can use" }]
    expect(faultOf(yield* link(first.id, second.id, {}, key))).toStrictEqual(notThere)
    const unknown = "019b7d08-0000-7000-8000-000000000000"
    expect(faultOf(yield* link(first.id, unknown))).toStrictEqual(notThere)
    expect(faultOf(yield* link(first.id, first.id))[1]).toMatchObject({ detail: "must be another webhook" })
    expect(faultOf(yield* link(first.id, "second"))[1]).toMatchObject({ detail: "must be the ID of a webhook" })
    const within = yield* link(first.id, own.id, { events: ["run.failed"] }, key)
    expect(within.status).toBe(201)
    const at = `/api/webhooks/${first.id}/destinations/${within.json.destination.id}`
    const edit = { body: { target: second.id }, headers: { authorization: `Bearer ${key}` } }
    expect(faultOf(yield* admin("PATCH", at, edit))).toStrictEqual(notThere)

    const allowed = yield* link(first.id, second.id)
    expect(allowed.status).toBe(201)
    yield* team("third")
    yield* admin("PATCH", `/api/webhooks/${second.id}`, { body: { team: "third" } })
    yield* trigger
    const [failed] = yield* settled(first.id)
    expect(failed).toMatchObject({ status: "failed", attempts: [{ http_status: 403 }] })
    expect(failed.attempts[0].error).toMatch(/moved to another team/)
    const again = `/api/webhooks/${first.id}/destinations/${allowed.json.destination.id}`
    expect((yield* admin("PATCH", again, { body: { target: second.id } })).status).toBe(200)
    yield* admin("POST", `/api/webhooks/${first.id}/deliveries/${failed.id}/resend`)
    yield* untilEffect(
      "it is delivered",
      Effect.map(settled(first.id), ([one]) => one.status === "delivered")
    )
  })

  it.live("is edited and tested only by a key that may use the target, except to switch it off", function* () {
    const { admin, first, history, http, link, second } = yield* two
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "ops", role: "editor", teams: ["ops"] } })).json
    const template = (text: string) => JSON.stringify({ webhook: { name: "a" }, response: "b", variables: { text } })
    const fixed = { body: "template", template: template("fixed") }
    const { id } = (yield* link(first.id, second.id, fixed)).json.destination
    const at = `/api/webhooks/${first.id}/destinations/${id}`
    const headers = { authorization: `Bearer ${key}` }
    const edit = (body: object) => http("PATCH", at, { body, headers })
    for (const body of [{ template: template("another") }, { events: ["run.failed"] }, { enabled: true }]) {
      const refused = yield* edit(body)
      expect([refused.status, refused.json.errors[0].pointer]).toStrictEqual([422, "/target"])
    }
    const tested = yield* http("POST", `${at}/test`, { headers })
    expect(tested.json).toMatchObject({ http_status: 403, error: "you cannot use the webhook that it starts" })
    expect(yield* history(second.id)).toHaveLength(0)
    expect((yield* edit({ enabled: false, description: "stopped" })).status).toBe(200)

    const { started_run } = (yield* admin("POST", `${at}/test`)).json
    const [event] = (yield* admin("GET", `/api/audit?object=${second.id}&action=webhook.run_started`)).json.data
    expect(event).toMatchObject({ object: second.id, after: { run_id: started_run } })
  })

  it.live("is sent again only by a key that may use the target, one delivery or all that failed", function* () {
    const { admin, ended, first, history, http, link, second, settled, trigger, webhook } = yield* two
    const { key } = (yield* admin("POST", "/api/keys", { body: { name: "ops", role: "editor", teams: ["ops"] } })).json
    const headers = { authorization: `Bearer ${key}` }
    const noObject = { body: "template", template: '{"other": "{{ event }}"}' }
    const { id } = (yield* link(first.id, second.id, noObject)).json.destination
    const at = `/api/webhooks/${first.id}`
    yield* trigger
    const [failed] = yield* settled(first.id)
    expect(failed.status).toBe("failed")
    yield* admin("PATCH", `${at}/destinations/${id}`, { body: { body: "full" } })
    const all = `${at}/destinations/${id}/resend?since=2020-01-01T00:00:00Z`
    for (const path of [`${at}/deliveries/${failed.id}/resend`, all]) {
      const refused = yield* http("POST", path, { headers })
      expect([refused.status, refused.json.errors]).toStrictEqual([
        422,
        [{ pointer: "", detail: "you cannot use the webhook that it starts" }]
      ])
    }
    expect((yield* settled(first.id))[0].attempts).toHaveLength(1)
    expect(yield* history(second.id)).toEqual([])
    expect((yield* admin("POST", all)).json).toStrictEqual({ resent: 1 })
    yield* ended(second.id, 1)

    const own = yield* webhook("ops", "{{response}}")
    const mine = (yield* link(first.id, own.id, {}, key)).json.destination
    yield* trigger
    const sent = (yield* settled(first.id)).find((one: any) => one.destination_id === mine.id)
    expect((yield* http("POST", `${at}/deliveries/${sent.id}/resend`, { headers })).status).toBe(200)
  })

  it.live("fills in each text of its template by itself, so an answer cannot change other fields", function* () {
    const { admin, ended, link, run, team, webhook } = yield* two
    yield* team("third", ({ reply }) => reply({ _tag: "Answered", response: 'ok", "branch": "main' }))
    const origin = yield* webhook("third", "{{text}}")
    const target = yield* webhook("ops", "{{branch}}: {{text}} {{size}} {{run}}")
    const of = (template: string) => link(origin.id, target.id, { body: "template", template })
    const refused = yield* of('{"branch": "safe", "text": {{ run.response | json }}}')
    expect([refused.status, refused.json.errors[0].pointer]).toStrictEqual([422, "/template"])
    expect(refused.json.errors[0].detail).toMatch(/^must be a JSON object/)
    const broken = yield* of('{"text": {"a": "{{ run.response"}}')
    expect(broken.json.errors[0].detail).toMatch(/^\/text\/a line 1/)
    const many = yield* of(JSON.stringify({ text: Array.from({ length: 101 }, () => "{{ event }}") }))
    expect(many.json.errors[0].detail).toBe("must have at most 100 texts with placeholders")
    const good = { branch: "safe", text: "{{ run.response }}", size: 3, run: "{{ values | json }}" }
    expect((yield* of(JSON.stringify(good))).status).toBe(201)
    yield* admin("POST", `/api/webhooks/${origin.id}/runs`, { body: { variables: { text: "hello" } } })
    const [{ run_id }] = yield* ended(target.id, 1)
    const { variables } = yield* run(run_id)
    expect(variables).toMatchObject({
      branch: "safe",
      text: 'ok", "branch": "main',
      size: 3,
      run: { text: "hello" }
    })
  })

  it.live(
    "starts a target once for a run and at most three targets, and nothing before the last attempt",
    function* () {
      const { admin, deliveries, first, history, link, second, team, webhook } = yield* twoOn({ repo: repoOnPostgres })
      yield* team("third", ({ reply }) => reply({ _tag: "Failed", message: "No." }))
      const body = { body: "template", template: '{"text": "{{ run.status }}"}' }
      const [a, b, c] = [yield* webhook("other"), yield* webhook("other"), yield* webhook("other")]
      const detailOf = (answer: any) => [answer.status, answer.json.errors?.[0].detail]
      const twice = [422, "is already started by another destination of this webhook"]
      expect(detailOf(yield* link(first.id, a.id, body))).toStrictEqual([201, undefined])
      expect(detailOf(yield* link(first.id, a.id, body))).toStrictEqual(twice)
      const other = (yield* link(first.id, b.id, body)).json.destination
      const at = `/api/webhooks/${first.id}/destinations/${other.id}`
      expect(detailOf(yield* admin("PATCH", at, { body: { target: a.id } }))).toStrictEqual(twice)
      expect(detailOf(yield* admin("PATCH", at, { body: { target: b.id } }))).toStrictEqual([200, undefined])
      expect(detailOf(yield* link(first.id, c.id, body))).toStrictEqual([201, undefined])
      expect(detailOf(yield* link(first.id, second.id))).toStrictEqual([
        422,
        "chain: there may be at most 3 of a webhook"
      ])

      const planned = (targets: ReadonlyArray<string>, headers = {}) => {
        const destinations = targets.map((target, at) => ({ kind: "chain", target, description: `${at}`, ...body }))
        const webhooks = [{ name: "n", team: "ops", prompt_template: "x", destinations }]
        return Effect.map(
          admin("PUT", "/api/config?dry_run=true", { body: { webhooks }, headers }),
          ({ json, status }) => (status === 200 ? [] : json.errors.map(({ detail, pointer }: any) => [pointer, detail]))
        )
      }
      const unknown = "019b7d08-0000-7000-8000-000000000000"
      const notThere = "is not a webhook that you can use"
      const ofN = "/webhooks/0/destinations"
      expect(yield* planned([a.id, b.id, c.id])).toStrictEqual([])
      expect(yield* planned([a.id, unknown, a.id])).toStrictEqual([
        [`${ofN}/1/target`, notThere],
        [`${ofN}/2/target`, twice[1]]
      ])
      expect(yield* planned([a.id, b.id, c.id, second.id])).toStrictEqual([
        [`${ofN}/3/kind`, "chain: there may be at most 3 of a webhook"]
      ])
      const { key } = (yield* admin("POST", "/api/keys", { body: { name: "ops", role: "viewer", teams: ["ops"] } }))
        .json
      expect(yield* planned([a.id], { authorization: `Bearer ${key}` })).toStrictEqual([[`${ofN}/0/target`, notThere]])

      const targets = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => webhook("other"))
      const { id: busy } = yield* webhook("ops")
      const added = yield* Effect.forEach(targets, ({ id }) => link(busy, id, body), { concurrency: "unbounded" })
      expect(added.map(({ status }) => status).toSorted()).toStrictEqual([201, 201, 201, 422, 422, 422])

      const failing = yield* webhook("third", "{{text}}", { retries: { max_retries: 1, backoff_seconds: 1 } })
      yield* link(failing.id, a.id, body)
      yield* admin("POST", `/api/webhooks/${failing.id}/runs`, { body: hello })
      const [one] = yield* untilEffect(
        "the last attempt has ended",
        Effect.map(deliveries(failing.id), (all) => all.length > 0 && all)
      )
      const [last, before] = yield* history(failing.id)
      expect([before.retried_by, one.run_id]).toStrictEqual([last.run_id, last.run_id])
    }
  )

  it.live("is switched off when its target was deleted, and waits while the target is disabled", function* () {
    const { admin, deliveries, first, link, second, trigger } = yield* two
    const { id } = (yield* link(first.id, second.id)).json.destination
    const destination = Effect.map(admin("GET", `/api/webhooks/${first.id}/destinations/${id}`), (a) => a.json)
    const attempted = (count: number) =>
      untilEffect(
        "an attempt was made",
        Effect.map(
          deliveries(first.id),
          (all) => all.filter((one: any) => one.attempts.length > 0).length === count && all
        )
      )
    yield* admin("PATCH", `/api/webhooks/${second.id}`, { body: { enabled: false } })
    yield* trigger
    const [waiting] = yield* attempted(1)
    expect(waiting).toMatchObject({ status: "pending", attempts: [{ http_status: 409 }] })
    expect(yield* destination).not.toHaveProperty("failing_since")
    yield* admin("DELETE", `/api/webhooks/${second.id}`)
    yield* trigger
    yield* untilEffect(
      "it is switched off",
      Effect.map(destination, ({ disabled_reason, enabled }) => disabled_reason === "gone" && !enabled)
    )
  })

  it.live("shows the variables of another team's webhook to nobody of this team", function* () {
    const { admin, first, link, settled, trigger, webhook } = yield* two
    const errorOf = (target: { readonly id: string }) =>
      Effect.gen(function* () {
        const { id } = (yield* link(first.id, target.id)).json.destination
        yield* trigger
        const [{ attempts }] = yield* settled(first.id)
        yield* admin("DELETE", `/api/webhooks/${first.id}/destinations/${id}`)
        return attempts[0].error
      })
    expect(yield* errorOf(yield* webhook("other", "{{ticket}}"))).toBe("the webhook does not accept these values")
    expect(yield* errorOf(yield* webhook("ops", "{{ticket}}"))).toBe("no value for ticket")
  })

  it.live("is not combined with triggers outside of the chain", function* () {
    const { first, history, http, link, run, settled, trigger, webhook } = yield* two
    const target = yield* webhook("ops", "{{text}}", { coalesce: { key: "text", within: 60 } })
    yield* link(first.id, target.id, { body: "template", template: '{"text": "hello"}' })
    yield* http("POST", target.path, { body: hello })
    yield* trigger
    yield* settled(first.id)
    const runs = yield* Effect.forEach(yield* history(target.id), ({ run_id }) => run(run_id))
    expect(runs.map(({ chain_depth }) => chain_depth)).toStrictEqual([1, undefined])
  })
})
