/** Each recipe takes what its service sends, also in large numbers and with parts missing. */

import { Effect, Scope } from "effect"
import { curlExample } from "../../../src/api/run/CurlExample.ts"
import type { Recipe } from "../../../src/recipes/Recipe.ts"
import { recipeNames, recipes } from "../../../src/recipes/Recipes.ts"
import { exampleFor, sampleFor } from "../../../src/recipes/SampleFor.ts"
import { describe, expect, it } from "../../support/It.ts"
import { exec } from "../../support/Process.ts"
import { refusal } from "../Client.ts"
import { draftOf, requestOf, secretFor } from "../SignedRequests.ts"
import { serve, withFixedMarks } from "./Sources.ts"

const { scope, server, setUp } = serve()

it.live("a slash command is answered at once, also while nobody is there to work on it", function* () {
  const recipe = recipes["slack-command"]
  const { prompt_template, ...draft } = draftOf(recipe, secretFor(recipe))
  const team = yield* Scope.provide(server().team("away", "no leader"), scope)
  const { id, path } = yield* server().webhook(team, prompt_template, draft)
  const answer = yield* server().http("POST", path, requestOf(recipe))
  expect([answer.status, answer.text]).toStrictEqual([200, "On it. The answer comes here."])
  expect(yield* server().history(id)).toMatchObject([{ status: "queued" }])
})

describe("a storm of alerts, as many and as long as a request may have, starts a run", () => {
  for (const recipe of [recipes.alertmanager, recipes.grafana]) {
    for (const length of [20, 2_700]) {
      it.live(`${recipe.label}, texts of ${length} characters`, function* () {
        const { deliver, next, secret } = yield* setUp(recipe)
        const payload: any = structuredClone(recipe.sample.payload)
        const [alert] = payload.alerts
        alert.labels = { alertname: "警".repeat(length / 20), instance: "機".repeat(length / 20) }
        alert.annotations = { summary: "報".repeat(length) }
        alert.values &&= { 値: "値".repeat(length / 20) }
        const sent = Math.floor(1_040_000 / Buffer.byteLength(JSON.stringify(alert)))
        payload.alerts = Array(sent).fill(alert)
        payload.truncatedAlerts = 100_000
        const answer = yield* deliver(requestOf(recipe, secret, payload))
        expect(answer.status, answer.text).toBe(202)
        const prompt = yield* next
        expect(prompt).toContain(`Alerts: ${sent} firing, 0 resolved, 100000 not sent`)
        expect(prompt).toContain(`(The first 100 of ${100_000 + sent} alerts.)`)
        expect(prompt.match(/^FIRING /gm)).toHaveLength(20)
        expect(prompt.match(/^- FIRING /gm)).toHaveLength(80)
        expect(prompt).toContain("報".repeat(length))
      })
    }
  }
})

describe("a request that contains its own URL is stored without the token", () => {
  const cases: ReadonlyArray<readonly [recipe: Recipe, put: (payload: any, url: string) => unknown]> = [
    [recipes.trello, (payload, url) => (payload.webhook = { id: "1", active: true, callbackURL: url })],
    [recipes.twitch, ({ subscription }, url) => (subscription.transport.callback = url)]
  ]
  for (const [recipe, put] of cases) {
    it.live(recipe.label, () =>
      Effect.gen(function* () {
        const { deliver, hook, next, secret, url } = yield* setUp(recipe)
        const at = `/api/webhooks/${hook.id}`
        yield* server().admin("PATCH", at, {
          body: { store_requests: "all", template_language: "simple", prompt_template: "{{payload}}" }
        })
        const payload = structuredClone(recipe.sample.payload)
        put(payload, url)
        expect((yield* deliver(requestOf(recipe, secret, payload, url))).status).toBe(202)
        const listed = yield* server().admin("GET", `${at}/requests?accepted=true`)
        const shown = yield* server().admin("GET", `${at}/requests/${listed.json.data[0].request_id}`)
        const token = url.split("/").at(-1)!
        for (const text of [listed.text, shown.text, yield* next]) expect(text).not.toContain(token)
        expect(shown.json.body).toContain("/webhook/trigger/whk_redacted")
      })
    )
  }
})

describe("a request without what need not be there starts a run, as it would be lost if it were refused", () => {
  const cases: ReadonlyArray<readonly [without: string, recipe: Recipe, remove: (payload: any) => unknown]> = [
    [
      "a merge request of GitLab without a commit",
      recipes.gitlab,
      (payload) => (payload.object_attributes.last_commit = null)
    ],
    ["an alert of Alertmanager without a name", recipes.alertmanager, ({ alerts: [alert] }) => (alert.labels = {})],
    ["an alert of Grafana without a name", recipes.grafana, ({ alerts: [alert] }) => (alert.labels = {})],
    [
      "a group of Grafana without what it says will be removed, whose alerts have no values",
      recipes.grafana,
      (payload) => {
        for (const name of ["title", "state", "message"]) delete payload[name]
        for (const alert of payload.alerts) Object.assign(alert, { values: null, dashboardURL: undefined })
      }
    ],
    ["an issue of Sentry without a culprit", recipes.sentry, ({ data }) => delete data.issue.culprit],
    ["a command of Slack without a user's name", recipes["slack-command"], (payload) => delete payload.user_name],
    ["a command of Slack with nothing after it", recipes["slack-command"], (payload) => (payload.text = "")],
    ["an invoice of Stripe without a customer", recipes.stripe, ({ data }) => delete data.object.customer],
    ["an issue of Jira without a user", recipes.jira, (payload) => delete payload.user],
    [
      "an issue of Linear without team and address",
      recipes.linear,
      (payload) => [delete payload.data.team, delete payload.url]
    ]
  ]
  for (const [without, recipe, remove] of cases) {
    it.live(without, () =>
      Effect.gen(function* () {
        const { deliver, next, secret } = yield* setUp(recipe)
        const payload: any = structuredClone(recipe.sample.payload)
        remove(payload)
        const answer = yield* deliver(requestOf(recipe, secret, payload))
        expect([200, 202], answer.text).toContain(answer.status)
        expect(yield* next).not.toBe("")
      })
    )
  }
})

/** Which conversation the recipes' samples belong to. */
const threads = new Map<string, string>([
  ["github", "octo-org/hello-world#42"],
  ["slack", "C2147483705/1700000000.000100"]
])

describe("each recipe", () => {
  for (const name of recipeNames) {
    const recipe: Recipe = recipes[name]
    it.live(
      `${recipe.label}: takes its sample, only with the right secret, and ignores what it is not about`,
      function* () {
        const { deliver, hook, next, secret, team, url } = yield* setUp(recipe)
        const { headers, payload } = recipe.sample
        const other = secret.startsWith("whsec_") ? "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" : "Another secret"
        expect(refusal(yield* deliver(requestOf(recipe, other, payload, url)))).toStrictEqual([401, "not_verified"])
        const { accept_if, cancel_if, thread_key, workspace_ref } = recipe.settings
        const preview = yield* server().admin("POST", `/api/webhooks/${hook.id}/preview`, {
          body: { headers, payload }
        })
        expect(preview.json).toStrictEqual({
          ...(accept_if !== undefined && { accepted: true }),
          ...(cancel_if !== undefined && { cancels: false }),
          prompt: expect.any(String),
          missing: [],
          ...(thread_key !== undefined && { thread_key: threads.get(recipe.verification.preset) }),
          title: expect.any(String),
          ...(workspace_ref !== undefined && { workspace_ref: expect.stringMatching(/^[0-9a-f]{40}$/) })
        })
        if (accept_if !== undefined) {
          const ignored = yield* deliver(requestOf(recipe, secret, { about: "something else" }, url))
          expect(ignored.text).toBe('{"status":"ignored"}')
        }
        expect(yield* server().history(hook.id)).toStrictEqual([])
        yield* deliver(requestOf(recipe, secret, payload, url))
        expect(yield* next).toBe(withFixedMarks(preview.json.prompt))
        // As it stands, with the window in which several become one.
        const complete = yield* server().admin("POST", "/api/webhooks", { body: { team, ...draftOf(recipe, secret) } })
        expect(complete.status, complete.text).toBe(201)
      }
    )
  }

  // Only Amazon SNS and Discord have their private keys.
  for (const name of recipeNames.filter((name) => name !== "aws-sns" && name !== "discord")) {
    const recipe: Recipe = recipes[name]
    it.live(`${recipe.label}: its webhook is called by the example, which passes the filter`, function* () {
      const { hook, next, secret } = yield* setUp(recipe)
      const { json: webhook } = yield* server().admin("GET", `/api/webhooks/${hook.id}`)
      const target = (search: string) => `'${server().origin}${hook.path}${search}'`
      const sample = exampleFor(webhook)
      const script = curlExample(webhook, { sample, target, waits: false, pretty: true, flags: ["--fail-with-body"] })
      yield* Effect.promise(() =>
        exec("/bin/sh", ["-c", `${script} --silent`], {
          env: { PATH: process.env.PATH ?? "", WEBHOOK_SECRET: secret }
        })
      )
      const whole = sampleFor(webhook)
      const body = { payload: whole.body, headers: whole.headers, query: whole.query }
      const preview = yield* server().admin("POST", `/api/webhooks/${hook.id}/preview`, { body })
      expect(preview.json.accepted).not.toBe(false)
      expect(yield* next).toBe(withFixedMarks(preview.json.prompt))
    })
  }
})
