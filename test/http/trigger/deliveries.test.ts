/** Verified deliveries on a real PostgreSQL, over several servers. */
import { join } from "node:path"
import { DateTime, Effect, Layer, Redacted } from "effect"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { LaneStore } from "../../../src/repo/run/LaneStore.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { expect, it } from "../../support/It.ts"
import { postgresBin } from "../../support/Postgres.ts"
import { exec } from "../../support/Process.ts"
import { command } from "../../support/System.ts"
import { hello, start } from "../Server.ts"
import { deliverTo, secret } from "./Github.ts"

/** On one database, with a team that has no leader. */
const twoServers = Effect.gen(function* () {
  const url = yield* freshDatabase
  const repo = Layer.orDie(Layer.provide(RepoSql.layer, PostgresClient.layer({ url: Redacted.make(url) })))
  const server = yield* start({ repo })
  const replica = yield* start({ repo: Layer.fresh(repo) })
  return { idle: yield* server.team("idle", "no leader"), replica, repo, server, url }
})

it.live(
  "a delivery is one run over two servers and after a restart, and no dump of the database shows the secret",
  function* () {
    const { idle, replica, repo, server, url } = yield* twoServers
    const hook = yield* server.webhook(idle, "{{text}}", {
      ...{ verification: { preset: "github" }, secret, when_team_stopped: "queue", store_requests: "refused" }
    })
    const id = { "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958" }
    const deliver = (to: typeof server, key = secret) => deliverTo(to, hook.path)(hello, key, id)
    expect((yield* deliver(server, "a secret of somebody else")).status).toBe(401)
    const ten = yield* Effect.forEach(
      Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? server : replica)),
      (to) => deliver(to),
      { concurrency: "unbounded" }
    )
    expect(ten.map(({ status }) => status)).toStrictEqual(ten.map(() => 202))
    const restarted = yield* start({ repo: Layer.fresh(repo) })
    const ids = [...ten, yield* deliver(restarted)].map(({ json }) => json.run_id)
    expect(new Set(ids).size).toBe(1)
    expect(yield* server.history(hook.id)).toHaveLength(1)
    yield* server.admin("GET", `/api/webhooks/${hook.id}/requests`)

    const program = command(join(postgresBin()!, "pg_dump"), ["--dbname", url, "--inserts"])
    const { stdout: dump } = yield* Effect.promise(() => exec(program.program, [...program.args]))
    expect(dump).toContain(hook.id)
    for (const text of [secret, Buffer.from(secret).toString("base64"), Buffer.from(secret).toString("hex")]) {
      // In SQL a quote stands twice.
      expect(dump.replaceAll("''", "'")).not.toContain(text.replace(/=+$/, ""))
    }
  }
)

it.live(
  "a signed body is one run for 7 days, with whatever headers and query it comes again, and one id does not hide another",
  function* () {
    const { idle, replica, server } = yield* twoServers
    const create = (verification: object) =>
      server.webhook(idle, "{{payload.n}} {{headers.x-event?}} {{query.q?}}", {
        ...{ input: "payload", verification, secret, when_team_stopped: "queue", name: JSON.stringify(verification) }
      })
    const send = (to: typeof server, path: string, n: number, more: Record<string, string>, query = "") =>
      Effect.map(deliverTo(to, path + query)({ n }, secret, more), ({ json }) => json.run_id as string)
    const github = yield* create({ preset: "github" })
    const first = yield* send(server, github.path, 1, { "x-github-delivery": "a" })
    expect(yield* send(replica, github.path, 1, { "x-github-delivery": "b", "x-event": "inject" }, "?q=inject")).toBe(
      first
    )
    expect(yield* send(server, github.path, 1, {})).toBe(first)
    const second = yield* send(replica, github.path, 2, { "x-github-delivery": "a" })
    expect(second).not.toBe(first)
    const prompts = Effect.map(server.history(github.id), (runs) => runs.map((run) => run.conversation.prompt))
    expect(yield* prompts).toStrictEqual(["2  ", "1  "])

    const timer = yield* create({ preset: "github", unique_for_seconds: 0 })
    const ids = yield* Effect.forEach(["a", "b", "a"], (id) => send(server, timer.path, 1, { "x-github-delivery": id }))
    expect(new Set(ids).size).toBe(2)
    expect(ids[2]).toBe(ids[0])
  }
)

it.live("a delivery that became part of a run stays part of it, sent again to any server, at any time", function* () {
  const { idle, replica, repo, server } = yield* twoServers
  const hook = yield* server.webhook(idle, "{{payload.commit}}", {
    ...{ input: "payload", verification: { preset: "github" }, secret, when_team_stopped: "queue" },
    coalesce: { key: "payload.branch", within: 3_600 }
  })
  const deliver = (commit: number, to = server) => {
    const delivered = deliverTo(to, hook.path)({ branch: "main", commit }, secret, {
      "x-github-delivery": `delivery ${commit}`
    })
    return Effect.map(delivered, ({ json }) => json.run_id ?? json.code)
  }
  const run_id = yield* deliver(1)
  expect(yield* Effect.forEach([2, 3], (commit) => deliver(commit, replica))).toStrictEqual([run_id, run_id])
  const prompt = Effect.map(server.history(hook.id), ([run]) => run.conversation.prompt)
  const redelivered = (to: typeof server) => Effect.forEach([2, 1, 3], (commit) => deliver(commit, to))
  const same = [run_id, run_id, run_id]
  expect(yield* redelivered(server)).toStrictEqual(same)
  // What is sent again is no news.
  expect(yield* prompt).toBe("3")

  const closed = DateTime.makeUnsafe(Date.now() + 3_600_000)
  yield* Effect.flatMap(LaneStore, (lanes) => lanes.endHolds(closed)).pipe(Effect.provide(server.repo))
  const restarted = yield* start({ repo: Layer.fresh(repo) })
  expect(yield* redelivered(replica)).toStrictEqual(same)
  expect(yield* redelivered(restarted)).toStrictEqual(same)
  // Nor when nothing else would be taken any more, or as it was then.
  const edit = { coalesce: null, when_team_stopped: null }
  yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: edit })
  expect(yield* redelivered(server)).toStrictEqual(same)
  expect(yield* deliver(4)).toBe("team_not_running")
  expect(yield* server.history(hook.id)).toHaveLength(1)
})

it.live("a delivery of a cancelled run that is sent again starts a new run, also one that had joined it", function* () {
  const { idle, replica, server } = yield* twoServers
  const hook = yield* server.webhook(idle, "{{payload.commit}}", {
    ...{ input: "payload", verification: { preset: "github" }, secret, when_team_stopped: "queue" },
    coalesce: { key: "payload.branch", within: 3_600 }
  })
  const send = (commit: number, to: typeof server, more = {}) =>
    deliverTo(to, hook.path)({ branch: "main", commit }, secret, more)
  const deliver = (commit: number, to = server) => Effect.map(send(commit, to), ({ json }) => json.run_id)
  const first = yield* deliver(1)
  expect(yield* deliver(2, replica)).toBe(first)
  expect((yield* server.admin("POST", `/api/runs/${first}/cancel`)).status).toBe(200)
  const second = yield* deliver(2, replica)
  expect(second).not.toBe(first)
  // The other one joins it, and both are part of it from then on.
  expect(yield* Effect.forEach([1, 2, 1], (commit) => deliver(commit))).toStrictEqual([second, second, second])
  const history = yield* server.history(hook.id)
  expect(history.map(({ status }: { status: string }) => status)).toStrictEqual(["queued", "cancelled"])
  // The delivery counts, and the answer says so.
  const keyed = yield* send(2, server, { "idempotency-key": "another" })
  expect([keyed.json.run_id, keyed.headers.get("idempotency-key-status")]).toStrictEqual([second, "ignored"])
  expect((yield* send(2, server)).headers.get("idempotency-key-status")).toBe(null)
})
