/** `PUT /api/config`: what a server should have, in one request. */
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { pointers, refusal } from "../Client.ts"
import { start } from "../Server.ts"

const secret = "0123456789abcdefghij"
const slack = "https://hooks.slack.com/services/T000/B000/XXXXabcd"

const ci = { description: "CI", url: "http://127.0.0.1:1/", headers: { "x-key": secret } }
const deploy = { name: "Deploy", team: "ops", prompt_template: "{{text}}", verification: { preset: "github" }, secret }
const config = {
  teams: [{ team: "ops" }],
  webhooks: [
    { name: "Log", team: "ops", prompt_template: "{{text}}", shares: "Deploy" },
    { ...deploy, destinations: [ci] }
  ],
  alert_destinations: [{ description: "on call", kind: "slack", url: slack }],
  alert_rules: [{ condition: "cost", webhook: "Log", threshold: 2, destinations: ["on call"] }]
}

/** A server, and requests with a configuration. */
const withConfig = Effect.map(start(), (server) => {
  const keyOf = (role: string, teams?: ReadonlyArray<string>) =>
    Effect.map(server.admin("POST", "/api/keys", { body: { name: role, role, teams } }), ({ json }) => ({
      authorization: `Bearer ${json.key}`
    }))
  const put = (body: unknown, query = "", headers = {}) =>
    server.admin("PUT", `/api/config?${query}`, { body, headers })
  const plan = (body: unknown, query = "", headers = {}) => put(body, `dry_run=true&${query}`, headers)
  const all = Effect.map(
    Effect.forEach(["teams", "webhooks", "alerts/destinations", "alerts/rules"], (list) =>
      server.admin("GET", `/api/${list}`)
    ),
    (lists) => lists.map(({ json }) => json.data)
  )
  return { ...server, keyOf, put, plan, all }
})

const actions = ({ json }: { readonly json: any }) =>
  json.steps.map(({ action, kind, name }: any) => `${action} ${kind} ${name}`)
const faults = ({ json }: { readonly json: any }) =>
  json.errors.map(({ detail, pointer }: any) => `${pointer} ${detail}`)

describe("a configuration", () => {
  it.live("is planned without a change, applied in one request, and then asks for nothing", function* () {
    const { admin, all, plan, put } = yield* withConfig
    const before = yield* all
    const planned = yield* plan(config)
    expect([planned.status, planned.json.created]).toStrictEqual([200, []])
    const steps = [
      ...["team ops", "webhook Log", "webhook Deploy", "destination CI"],
      ...["alert_destination on call", "alert_rule cost of the webhook Log"]
    ]
    expect(actions(planned)).toStrictEqual(steps.map((step) => `create ${step}`))
    expect(planned.json.steps[1].changes).toContainEqual({ field: "shares", to: "Deploy" })
    expect(planned.json.steps[3]).toMatchObject({ webhook: "Deploy", pointer: "/webhooks/1/destinations/0" })
    expect(yield* all).toStrictEqual(before)
    expect((yield* admin("GET", "/api/audit?action=webhook.created")).json.data).toStrictEqual([])

    const applied = yield* put(config, "", { "if-match": `"${planned.json.version}"` })
    expect([applied.status, applied.json.steps]).toStrictEqual([200, planned.json.steps])
    const [token, signing] = applied.json.created
    expect(token).toMatchObject({ webhook: "Deploy", token: expect.stringMatching(/^whk_/) })
    expect(token.trigger_url).toContain(token.token)
    expect(signing).toMatchObject({ webhook: "Deploy", destination: "CI", secret: expect.stringMatching(/^whsec_/) })
    const [[team], [one, other], [alerts], [rule]] = yield* all
    expect([team.team, one.secret_hint, other.shares]).toStrictEqual(["ops", "…ghij", one.id])
    expect(rule).toMatchObject({ webhook_id: other.id, threshold: 2, destination_ids: [alerts.id] })
    const { data: events } = (yield* admin("GET", "/api/audit")).json
    expect(events.map(({ action }: any) => action).toReversed()).toStrictEqual([
      ...["team.created", "webhook.created", "destination.created", "webhook.created"],
      ...["destination.created", "alert_rule.created"]
    ])

    const again = yield* put(config)
    expect(actions(again)).toStrictEqual(steps.map((step) => `unchanged ${step}`))
    expect((yield* all)[1]).toStrictEqual([one, other])
    // A secret that the client does not know is not compared.
    const unknown = { webhooks: [{ ...deploy, secret: null, destinations: [{ ...ci, headers: { "x-key": null } }] }] }
    expect(actions(yield* plan(unknown))).toStrictEqual(["unchanged webhook Deploy", "unchanged destination CI"])
    for (const { text } of [planned, applied, again]) {
      for (const hidden of [secret, slack]) expect(text).not.toContain(hidden)
    }
  })

  it.live("is refused with each fault at its place, and nothing of it is done", function* () {
    const { all, plan, put, team } = yield* withConfig
    yield* team("ops")
    const before = yield* all
    const wrong = {
      teams: [{ team: "new" }, { team: "new" }],
      webhooks: [
        { ...deploy, team: "new" },
        {
          ...deploy,
          name: "x",
          team: "none",
          prompt_template: "{{",
          destinations: [{ kind: "github", target: "a/b#1" }]
        },
        { ...deploy, name: "y", verification: undefined, secret: undefined, shares: "nobody" },
        { ...deploy, name: "z", secret: undefined, timeout: 1 },
        { ...deploy, name: "unverified", secret: undefined }
      ],
      alert_rules: [
        { condition: "cost", webhook: "nobody", team: "ops" },
        { condition: "cost", webhook: "gone" },
        { condition: "queue_age", team: "none", destinations: ["nowhere"] }
      ]
    }
    for (const send of [plan, put]) {
      const answer = yield* send(wrong)
      expect(refusal(answer)).toStrictEqual([422, "invalid"])
      expect(faults(answer)).toStrictEqual([
        "/teams/1/team is listed twice",
        "/webhooks/3/timeout is not a field that can be set",
        expect.stringMatching(/^\/webhooks\/1\/prompt_template line 1, column 1: /),
        "/webhooks/1/team does not exist",
        "/webhooks/1/destinations/0/token is required by the kind github",
        "/webhooks/4/secret is required by `verification`",
        '/webhooks/2/shares does not exist: "nobody"',
        "/alert_rules/0/webhook cannot be set together with `team`",
        '/alert_rules/1/webhook does not exist: "gone"',
        "/alert_rules/2/team does not exist",
        '/alert_rules/2/destinations/0 does not exist: "nowhere"'
      ])
    }
    expect(yield* all).toStrictEqual(before)
    // Only a plan may lack a secret.
    const unknown = { webhooks: [{ ...deploy, secret: null }] }
    expect((yield* plan(unknown)).status).toBe(200)
    expect(pointers(yield* put(unknown))).toStrictEqual(["/webhooks/0/secret"])
    // What the last object lacks is found when the others are stored.
    const rule = { condition: "no_run" }
    yield* put({ alert_rules: [rule] })
    const late = yield* put({ webhooks: [deploy], alert_rules: [rule, { condition: "cost", threshold: 0 }] })
    expect(pointers(late)).toStrictEqual(["/alert_rules/1/threshold"])
    expect((yield* all)[1]).toStrictEqual([])
  })

  it.live("is applied as it was planned, or not at all", function* () {
    const { admin, all, plan, put } = yield* withConfig
    yield* put(config)
    const wanted = { webhooks: [{ ...deploy, timeout_seconds: 9 }], alert_rules: [] }
    const { version } = (yield* plan(wanted, "prune=true")).json
    const [, [webhook], , [rule]] = yield* all
    yield* admin("PATCH", `/api/alerts/rules/${rule.id}`, { body: { threshold: 7 } })
    const refused = yield* put(wanted, "prune=true", { "if-match": `"${version}"` })
    expect(refusal(refused)).toStrictEqual([412, "edit_conflict"])
    const [, [same], , rules] = yield* all
    expect([same, rules]).toMatchObject([webhook, [{ id: rule.id, threshold: 7 }]])
  })

  it.live("deletes what its lists do not have if asked to, and says what could not be deleted", function* () {
    const { all, keyOf, plan, put, team, webhook } = yield* withConfig
    yield* put(config)
    yield* team("other")
    const left = (yield* plan({ webhooks: [deploy], teams: [] })).json
    expect([left.left, left.steps.length]).toStrictEqual([["webhook Log", "team other"], 1])
    expect((yield* plan({ webhooks: [deploy] }, "prune=true")).json.left).toStrictEqual([])

    // A webhook of another team shares the URL, which the key of this one does not know.
    const [, [{ id }]] = yield* all
    yield* webhook("other", "{{text}}", { shares: id })
    const ofOps = yield* keyOf("editor", ["ops"])
    const pruned = yield* put({ webhooks: [] }, "prune=true", ofOps)
    expect(actions(pruned)).toStrictEqual(["delete webhook Deploy", "delete webhook Log"])
    expect(pruned.json.not_deleted).toMatchObject([
      { kind: "webhook", name: "Deploy", detail: expect.stringContaining("1 of other teams") }
    ])
    expect((yield* all)[1].map(({ name }: any) => name)).not.toContain("Log")
    const rest = { teams: [], webhooks: [], alert_destinations: [], alert_rules: [] }
    expect((yield* put(rest, "prune=true")).json.not_deleted).toStrictEqual([])
    expect(yield* all).toStrictEqual([[], [], [], []])
  })

  it.live("changes what the key may change with the single requests", function* () {
    const { all, keyOf, plan, put, team, webhook } = yield* withConfig
    yield* team("ops")
    yield* webhook(yield* team("other"), "x")
    const before = yield* all
    const [viewer, editor, ofOps] = [yield* keyOf("viewer"), yield* keyOf("editor"), yield* keyOf("admin", ["ops"])]
    expect((yield* plan(config, "", viewer)).status).toBe(200)
    const refused = yield* put({}, "", viewer)
    expect(refused.json.detail).toBe("This needs the role `editor`. Your role is `viewer`.")
    for (const headers of [editor, ofOps]) {
      const ofTeams = yield* put({ teams: [{ team: "new" }] }, "", headers)
      expect(ofTeams.json.detail).toBe("Creating and deleting teams needs the role `admin`, for all teams.")
    }
    for (const list of ["alert_destinations", "alert_rules"]) {
      const ofAlerts = yield* plan({ [list]: [] }, "", ofOps)
      expect([refusal(ofAlerts)[0], ofAlerts.json.detail]).toStrictEqual([
        403,
        "`alert_destinations` and `alert_rules` need access to all teams. Yours is limited to certain teams."
      ])
    }
    // As if other teams did not exist.
    expect(faults(yield* put({ webhooks: [{ ...deploy, team: "other" }] }, "", ofOps))).toStrictEqual([
      "/webhooks/0/team does not exist"
    ])
    expect((yield* put({ webhooks: [] }, "prune=true", ofOps)).json).toMatchObject({ steps: [], left: [] })
    expect(yield* all).toStrictEqual(before)
    expect((yield* put({ webhooks: [deploy] }, "", ofOps)).json.created).toHaveLength(1)
  })

  it.live("has to be a document of up to 8 MiB", function* () {
    const { admin, plan } = yield* withConfig
    const refused = (raw: string, type = "application/json") =>
      Effect.map(admin("PUT", "/api/config", { raw, headers: { "content-type": type } }), refusal)
    expect(yield* refused("{")).toStrictEqual([400, "invalid_body"])
    expect(yield* refused("[]")).toStrictEqual([400, "invalid_body"])
    expect(yield* refused("{}", "text/yaml")).toStrictEqual([415, "unsupported_media_type"])
    expect(yield* refused(" ".repeat(8 * 1024 * 1024 + 1))).toStrictEqual([413, "body_too_large"])
    const garbage = { teams: "ops", hooks: [] }
    expect(pointers(yield* plan(garbage))).toStrictEqual(["/teams", "/hooks"])
    const entries = { teams: [null], webhooks: [1, { name: 7, destinations: ["x"] }], alert_rules: [{}] }
    const answer = yield* plan(entries)
    expect(refusal(answer)).toStrictEqual([422, "invalid"])
    expect(pointers(answer)).toContain("/webhooks/1/name")
    expect((yield* plan({})).json).toMatchObject({ steps: [], left: [], created: [], not_deleted: [] })
  })
})
