/** What a key that is limited to teams can reach. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, refusal } from "../Client.ts"
import { openEvents } from "../events/EventReader.ts"
import { hello } from "../Server.ts"
import { bearer, managementEndpoints, nameOf, pathWith, statusOf } from "./Endpoints.ts"
import { twoTeams } from "./TwoTeams.ts"

const notFound = [404, "not_found"]

/** Not about an object in the path: about the whole server, or answered with what the key may see. */
const aboutTheServer = [
  ...["POST /api/teams", "GET /api/keys", "POST /api/keys", "DELETE /api/keys/:id", "GET /api/audit"],
  ...["GET /api/audit/export.csv", "GET /api/audit/export.jsonl"],
  ...["GET /api/sessions", "DELETE /api/sessions/:id", "DELETE /api/sessions"],
  ...managementEndpoints.map(nameOf).filter((name) => / \/api\/alerts\/(rules|destinations|deliveries)/.test(name))
]
const aboutMany = [
  ...["GET /api/teams", "GET /api/webhooks", "POST /api/webhooks", "GET /api/runs", "GET /api/runs/usage"],
  ...["GET /api/runs/export.csv", "GET /api/runs/export.jsonl", "POST /api/runs/cancel", "POST /api/runs/replay"],
  ...[
    "GET /api/alerts",
    "GET /api/access",
    "GET /api/server",
    "GET /api/activity",
    "GET /api/totals",
    "GET /api/now",
    "POST /api/templates/preview",
    "GET /api/events"
  ],
  "PUT /api/config"
]

describe("a key that is limited to a team", () => {
  it.live("finds no object of another team at any endpoint, and its own ones", function* () {
    const { a, b, server } = yield* twoTeams()
    const pathFor = (path: string, { hook, values }: typeof a) =>
      pathWith(path, { ...values, id: path.includes("leader-keys") ? values.leader_key_id : hook.id })
    for (const endpoint of managementEndpoints) {
      const at = nameOf(endpoint)
      if (aboutMany.includes(at)) continue
      const foreign = { ...endpoint, path: pathFor(endpoint.path, b) }
      const { code, detail, status } = yield* statusOf(server.origin, foreign, bearer(a.key))
      const expected = aboutTheServer.includes(at) ? [403, "forbidden"] : notFound
      expect([status, code], `${at}: ${detail}`).toStrictEqual(expected)
    }
    // Nothing was changed by that, and the owner finds all of it.
    for (const endpoint of managementEndpoints.filter(({ method }) => method === "GET")) {
      const at = nameOf(endpoint)
      if (
        aboutTheServer.includes(at) ||
        /_id|requests\/|events/.test(endpoint.path.replace(/:(run|thread|destination)_id/g, ""))
      )
        continue
      const own = { ...endpoint, path: pathFor(endpoint.path, b) }
      expect([at, (yield* statusOf(server.origin, own, bearer(b.key))).status]).toStrictEqual([at, 200])
    }
    expect((yield* b.as("DELETE", `/api/webhooks/${b.hook.id}`)).status).toBe(204)
  })

  it.live("sees in lists, sums and exports only what is of its team, in full pages", function* () {
    const { a, b, keyFor, server } = yield* twoTeams()
    for (const { hook } of [b, a, b]) {
      for (const _ of [1, 2, 3]) yield* server.http("POST", `${hook.path}?wait=true`, { body: hello })
    }
    const namesIn = (path: string, field: string) =>
      Effect.map(a.as("GET", path), ({ json }) => json.data.map((each: Record<string, unknown>) => each[field]))
    expect(yield* namesIn("/api/teams", "team")).toStrictEqual(["a"])
    expect(yield* namesIn("/api/webhooks", "id")).toStrictEqual([a.hook.id])
    expect(yield* namesIn("/api/activity", "webhook_id")).toStrictEqual([a.hook.id])
    const ended = (totals: Answer["json"]) => totals.days.reduce((sum: number, day: any) => sum + day.success, 0)
    const runsOf = Effect.map(a.as("GET", "/api/totals"), ({ json }) => [ended(json), json.last_day.success])
    expect(yield* runsOf).toStrictEqual([4, 4])
    expect(ended((yield* server.admin("GET", "/api/totals")).json)).toBe(11)
    const pages: Array<ReadonlyArray<string>> = []
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { json }: Answer = yield* a.as("GET", `/api/runs?limit=2${cursor && `&cursor=${cursor}`}`)
      pages.push(json.data.map(({ team }: { team: string }) => team))
      cursor = json.next_cursor
    }
    // One run, three more, and a message.
    expect(pages).toStrictEqual([["a", "a"], ["a", "a"], ["a"]])
    expect((yield* a.as("GET", "/api/runs/usage")).json.runs).toBe(5)
    expect((yield* server.admin("GET", "/api/runs/usage")).json.runs).toBe(13)
    for (const format of ["csv", "jsonl"]) {
      const { text } = yield* a.as("GET", `/api/runs/export.${format}`)
      expect(text).toContain(a.run_id)
      expect(text).toContain("secret of a")
      expect(text).not.toContain(b.run_id)
      expect(text).not.toContain("secret of b")
    }
    for (const query of [`search=${b.run_id}`, "search=secret of b", "team=b", `thread_id=${b.values.thread_id}`]) {
      expect((yield* a.as("GET", `/api/runs?${query}`)).json.data, query).toStrictEqual([])
    }
    for (const path of ["/api/runs", "/api/runs/usage", "/api/runs/export.csv", "/api/runs/export.jsonl"]) {
      expect(refusal(yield* a.as("GET", `${path}?webhook_id=${b.hook.id}`)), path).toStrictEqual(notFound)
    }
    const both = yield* keyFor(["a", "b"], "viewer")
    expect((yield* both.as("GET", "/api/runs/usage")).json.runs).toBe(13)
    expect((yield* both.as("GET", "/api/webhooks")).json.data).toHaveLength(2)
  })

  it.live("cannot cancel or replay runs of another team among others", function* () {
    const { a, b, server } = yield* twoTeams()
    for (const { values } of [a, b]) yield* server.admin("POST", `/api/teams/${values.team}/pause`)
    const trigger = (path: string) => Effect.map(server.http("POST", path, { body: hello }), ({ json }) => json.run_id)
    const [mine, theirs]: ReadonlyArray<string> = [yield* trigger(a.hook.path), yield* trigger(b.hook.path)]
    const cancelled = (yield* a.as("POST", "/api/runs/cancel", { body: { run_ids: [theirs, mine] } })).json
    expect(cancelled).toMatchObject({ cancelled: [mine], refused: [{ run_id: theirs, code: "not_found" }] })
    expect((yield* server.admin("GET", `/api/runs/${theirs}`)).json.status).toBe("queued")

    const replayed = (yield* a.as("POST", "/api/runs/replay", { body: { run_ids: [b.run_id, a.run_id] } })).json
    expect(replayed.replayed).toMatchObject([{ replay_of: a.run_id }])
    expect(replayed.refused).toMatchObject([{ replay_of: b.run_id, code: "not_found" }])
    for (const which of [{ webhook_id: b.hook.id }, { team: "b" }]) {
      const body = { ...which, status: ["success"] }
      expect(refusal(yield* a.as("POST", "/api/runs/replay", { body }))).toStrictEqual(notFound)
    }
    expect((yield* server.admin("GET", `/api/runs/${b.run_id}/replays`)).json.data).toStrictEqual([])
  })
})

it.live("a key opens no team that gets the name of a deleted one", function* () {
  const { a, b, keyFor, server } = yield* twoTeams()
  const both = yield* keyFor(["a", "b"])
  const { admin } = server
  const signedIn = yield* server.http("POST", "/api/session", { body: { key: a.key } })
  const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!
  yield* admin("PATCH", `/api/webhooks/${a.hook.id}`, { body: { team: "b" } })
  expect((yield* admin("DELETE", "/api/teams/a")).status).toBe(204)
  yield* admin("POST", "/api/teams", { body: { team: "a" } })

  expect(refusal(yield* a.as("GET", "/api/teams"))).toStrictEqual([401, "unauthorized"])
  expect((yield* server.http("GET", "/api/teams", { headers: { cookie } })).status).toBe(401)
  const namesOf = (as: typeof a.as) =>
    Effect.map(as("GET", "/api/teams"), ({ json }) => json.data.map(({ team }: { team: string }) => team))
  expect(yield* namesOf(both.as)).toStrictEqual(["b"])
  const { data } = (yield* admin("GET", "/api/keys")).json
  const limits = data.map((key: any) => [key.name, key.teams, key.revoked_at !== undefined])
  expect(limits).toContainEqual(["a", ["a"], true])
  expect(limits).toContainEqual(["a,b", ["b"], false])

  // The new team's key sees nothing of the one before.
  const later = yield* keyFor(["a", "b"])
  expect(yield* namesOf(later.as)).toStrictEqual(["a", "b"])
  for (const path of [`/api/runs/${a.run_id}`, `/api/threads/${a.values.thread_id}`]) {
    expect(refusal(yield* later.as("GET", path)), path).toStrictEqual(notFound)
  }
  expect((yield* later.as("GET", "/api/teams/a/threads")).json.data).toStrictEqual([])
  expect((yield* later.as("GET", `/api/runs/${b.run_id}`)).status).toBe(200)
})

describe("a key that is limited to a team", () => {
  it.live("cannot move a webhook to another team, nor create or copy one there", function* () {
    const { a, b } = yield* twoTeams()
    const draft = { name: "n", prompt_template: "x" }
    const refusals = [
      yield* a.as("POST", "/api/webhooks", { body: { ...draft, team: "b" } }),
      yield* a.as("POST", "/api/webhooks", { body: { ...draft, team: "none" } }),
      yield* a.as("PATCH", `/api/webhooks/${a.hook.id}`, { body: { team: "b" } }),
      yield* a.as("POST", `/api/webhooks/${a.hook.id}/duplicate`, { body: { team: "b" } })
    ]
    for (const answer of refusals) {
      expect(refusal(answer)).toStrictEqual([422, "invalid"])
      // As for a team that does not exist.
      expect(answer.json.errors).toStrictEqual([{ pointer: "/team", detail: "does not exist" }])
    }
    expect((yield* b.as("GET", "/api/webhooks")).json.data).toHaveLength(1)
    expect((yield* a.as("POST", "/api/webhooks", { body: { ...draft, team: "a" } })).status).toBe(201)
    expect((yield* a.as("PATCH", `/api/webhooks/${a.hook.id}`, { body: { team: "a" } })).status).toBe(200)
  })

  it.live("gets the changes of its team only, until it is revoked", function* () {
    const { a, b, server } = yield* twoTeams()
    const { data: keys } = (yield* server.admin("GET", "/api/keys")).json
    const reader = yield* openEvents(`${server.origin}/api/events`, {
      headers: { authorization: `Bearer ${a.key}` }
    })
    let run_id = ""
    for (const { hook } of [b, a]) {
      run_id = (yield* server.http("POST", `${hook.path}?wait=true`, { body: hello })).json.run_id
      yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { name: "m" } })
    }
    const ofRuns = new Set<string>()
    const ofWebhooks = new Set<string>()
    let hasEnded = false
    while (!ofWebhooks.has(a.hook.id) || !hasEnded) {
      const { data } = yield* reader.next
      expect(data.incomplete).toBe(false)
      for (const run of data.runs) {
        ofRuns.add(run.team)
        hasEnded ||= run.run_id === run_id && run.finished_at !== undefined
      }
      for (const id of [...data.webhooks, ...data.requests]) ofWebhooks.add(id)
    }
    expect([[...ofRuns], [...ofWebhooks]]).toStrictEqual([["a"], [a.hook.id]])
    const { id } = keys.find(({ teams }: { teams: ReadonlyArray<string> }) => teams[0] === "a")
    yield* server.admin("DELETE", `/api/keys/${id}`)
    yield* server.http("POST", `${a.hook.path}?wait=true`, { body: hello })
    expect((yield* reader.rest).flatMap(({ data }) => data.runs)).toStrictEqual([])
  })
})
