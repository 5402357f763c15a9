/**
 * What services send becomes the prompt, by the recipes for them, sent with curl. Alertmanager's requests are its own
 * (`recorded/README.md`), and GitHub's is one of its own examples. The other samples have the shape that the service documents
 * (`documentation` of the recipe says where), with values of our own; what its examples leave out, have empty or write
 * in another way is sent too.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Queue, Scope } from "effect"
import { curlExample } from "../../../src/api/run/CurlExample.ts"
import type { Prompt } from "../../../src/bus/Bus.ts"
import type { Recipe } from "../../../src/recipes/Recipe.ts"
import { recipeNames, recipes } from "../../../src/recipes/Recipes.ts"
import { exampleFor, sampleFor } from "../../../src/recipes/SampleFor.ts"
import { exec } from "../../support/Process.ts"
import { refusal } from "../Client.ts"
import { start } from "../Server.ts"
import { draftOf, requestOf, type Sent, secretFor, sentAs } from "../SignedRequests.ts"

/** Without the marks around values from strangers. */
const unfenced = (prompt: string): string => {
  const key = /^Text between <data-([0-9a-f]{16})>/.exec(prompt)?.[1]
  return key === undefined
    ? prompt
    : prompt.slice(prompt.indexOf("\n\n") + 2).replaceAll(new RegExp(`</?data-${key}>`, "g"), "")
}

const curl = (url: string, { headers, raw }: Sent) =>
  Effect.promise(async () => {
    const options = ["--silent", "--show-error", "--write-out", "\\n%{http_code}", "--data-binary", "@-"]
    const lines = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`])
    const running = exec("curl", [...options, ...lines, url])
    running.child.stdin!.end(raw)
    const [, text, status] = /^(.*)\n(\d+)$/s.exec((await running).stdout)!
    return { status: Number(status), text: text! }
  })

const recorded = (name: string) => readFileSync(new URL(`recorded/${name}.json`, import.meta.url), "utf8")

const scope = Effect.runSync(Scope.make())
let server: Effect.Effect.Success<ReturnType<typeof start>>
let teams = 0
beforeAll(async () => {
  server = await Effect.runPromise(Scope.extend(start(), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** A webhook of the recipe and a team of its own, without a window in which its triggers would wait. */
const setUp = (recipe: Recipe, secret = secretFor(recipe)) =>
  Effect.gen(function* () {
    const prompts = yield* Queue.unbounded<Prompt>()
    const team = yield* Scope.extend(
      server.team(`team-${teams++}`, ({ prompt, reply }) =>
        Effect.zipRight(Queue.offer(prompts, prompt), reply({ _tag: "Answered", response: "done" }))
      ),
      scope
    )
    const { prompt_template, name, ...draft } = draftOf(recipe, secret)
    const hook = yield* server.webhook(team, prompt_template, { name, ...draft, coalesce: undefined })
    const deliver = ({ raw, headers }: Sent) => server.http("POST", hook.path, { raw, headers })
    const send = (sent: Sent) => curl(`${server.origin}${hook.path}`, sent)
    return {
      hook,
      secret,
      team,
      deliver,
      send,
      next: Effect.map(Queue.take(prompts), ({ prompt }) => unfenced(prompt))
    }
  })

interface Delivery {
  readonly secret?: string
  /** In place of the recipe's sample. */
  readonly raw?: string
  /** In place of 202. */
  readonly answer?: string
}

const delivers = (title: string, recipe: Recipe, prompt: string, options: Delivery = {}) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const { next, secret, send } = yield* setUp(recipe, options.secret)
      const sent = options.raw === undefined ? requestOf(recipe, secret) : sentAs(recipe, secret, options.raw)
      const answer = yield* send(sent)
      expect([answer.status, answer.text], answer.text).toStrictEqual(
        options.answer === undefined ? [202, expect.stringContaining("accepted")] : [200, options.answer]
      )
      expect(yield* next).toBe(prompt)
    })
  )

/** The recipe's sample, changed. */
const sample = ({ sample: { payload } }: Recipe, change: (payload: any) => unknown): string => {
  const changed = structuredClone(payload)
  change(changed)
  return JSON.stringify(changed)
}

/** The recipe's sample, each of its members on a line. */
const inLines = ({ sample: { payload } }: Recipe): string => JSON.stringify(payload, undefined, 2)

const mergeRequest = `A merge request of acme/shop, changed by Rosa Diaz (open):

!16 Round half a cent to even
https://gitlab.example.com/acme/shop/-/merge_requests/16
From half-cents into main.
Last commit: Round half a cent to even


As banks do.

Review the changes, and list what must change before it is merged.`

const alerts = (last: string) => `5 alerts (agents):
- FIRING InstanceDown on db-1:9100 since 2026-11-22T06:50:12.345Z: db-1:9100 has been down for more than 5 minutes
- FIRING InstanceDown on db-2:9100 since 2026-11-22T06:50:12.345Z: db-2:9100 has been down for more than 5 minutes
- FIRING InstanceDown on web-1:9100 since 2026-11-22T06:50:12.345Z: web-1:9100 has been down for more than 5 minutes
- FIRING InstanceDown on web-2:9100 since 2026-11-22T06:50:12.345Z: web-2:9100 has been down for more than 5 minutes
- ${last} InstanceDown on web-3:9100 since 2026-11-22T06:50:12.345Z: web-3:9100 has been down for more than 5 minutes

Find the likely cause, and say what to do first.`

describe("what a service sends becomes the prompt", () => {
  delivers("a GitLab merge request with a secret token", recipes.gitlab, mergeRequest)

  delivers("a GitLab merge request that is signed, over several lines and with escapes", recipes.gitlab, mergeRequest, {
    secret: secretFor(recipes["standard-webhooks"]),
    raw: inLines(recipes.gitlab).replaceAll("@", "\\u0040").replaceAll("'", "\\u0027")
  })

  delivers(
    "a group of Alertmanager with five alerts, with a bearer token: a line for each",
    recipes.alertmanager,
    alerts("FIRING"),
    { raw: recorded("alertmanager-firing") }
  )

  delivers(
    "the group when one of them has ended, with Basic authentication",
    { ...recipes.alertmanager, verification: { preset: "alertmanager", username: "alerts" } },
    alerts("RESOLVED"),
    { raw: recorded("alertmanager-partly-resolved") }
  )

  delivers(
    "alerts of Grafana, with their values",
    recipes.grafana,
    `[FIRING:2]  (shop)
- FIRING Memory nearly full: Memory of eu-1 is nearly full (values: {"B":96.239437375,"C":1})
  https://grafana.example.com/alerting/grafana/dek5xq1/view
- FIRING Processor busy: Processors of us-1 are busy (values: {"B":99.5,"C":1})
  https://grafana.example.com/alerting/grafana/dek5xq2/view

Find the likely cause, and say what to do first.`
  )

  delivers(
    "an issue of Sentry",
    recipes.sentry,
    `A new issue in front-end: FRONT-END-9 (error)

TypeError: total is undefined
In checkout(total), platform javascript, first seen 2026-05-04T08:15:12.345000Z.
https://acme.sentry.io/issues/1170820242/

Find the cause in the code, and propose a fix.`
  )

  delivers(
    "a slash command of Slack, which is answered with a text",
    recipes["slack-command"],
    `steve (U2147483697) asks in the channel support with /ask:

why was order 4711 refunded?

When you are done, answer there: POST {"text": "your answer"} as JSON to https://hooks.slack.com/commands/1234/5678 within 30 minutes.`,
    { answer: "On it. The answer comes here." }
  )

  delivers(
    "an event of Stripe, over several lines",
    recipes.stripe,
    `Stripe reports invoice.payment_failed (event evt_1NG8Du2eZvKYlo2CUI79vXWy, live: false).

Invoice in_1MtHbELkdIwHu7ixl4OzzPMv of customer cus_NeZwdNtLEOXuvB: 4200 eur, in the currency's smallest unit.
Attempt 1.
https://invoice.stripe.com/i/acct_1/test_1

Find out why the payment failed, and draft a message to the customer.`,
    { raw: inLines(recipes.stripe) }
  )

  delivers(
    "an issue of Sentry that comes without links, as in the example of its documentation",
    recipes.sentry,
    `A new issue in front-end: FRONT-END-9 (error)

TypeError: total is undefined
In checkout(total), platform javascript, first seen 2026-05-04T08:15:12.345000Z.


Find the cause in the code, and propose a fix.`,
    {
      raw: sample(recipes.sentry, ({ data }) =>
        ["url", "web_url", "project_url"].map((name) => delete data.issue[name])
      )
    }
  )

  delivers(
    "a GitLab merge request without a description, which is empty then",
    recipes.gitlab,
    mergeRequest.replace("As banks do.", ""),
    { raw: sample(recipes.gitlab, ({ object_attributes }) => (object_attributes.description = "")) }
  )

  delivers(
    "an issue of Jira without a description, which is null then",
    recipes.jira,
    `A new Bug in Shop, created by Rosa Diaz:

SHOP-17 The total is wrong with two coupons



Find what the issue is about, and propose how to solve it.`,
    { raw: sample(recipes.jira, ({ issue }) => (issue.fields.description = null)) }
  )

  it.live("a slash command is answered at once, also while nobody is there to work on it", () =>
    Effect.gen(function* () {
      const recipe = recipes["slack-command"]
      const { prompt_template, ...draft } = draftOf(recipe, secretFor(recipe))
      const team = yield* Scope.extend(server.team("away", "no leader"), scope)
      const { id, path } = yield* server.webhook(team, prompt_template, draft)
      const answer = yield* server.http("POST", path, requestOf(recipe))
      expect([answer.status, answer.text]).toStrictEqual([200, "On it. The answer comes here."])
      expect(yield* server.history(id)).toMatchObject([{ status: "queued" }])
    })
  )

  it.live("a pull request of GitHub, as its own example has it", () =>
    Effect.gen(function* () {
      const examples: ReadonlyArray<{ name: string; examples: ReadonlyArray<any> }> = createRequire(import.meta.url)(
        "@octokit/webhooks-examples"
      )
      const payload = examples
        .find(({ name }) => name === "pull_request")!
        .examples.find(({ action }) => action === "opened")
      const { next, secret, send } = yield* setUp(recipes.github)
      expect((yield* send(requestOf(recipes.github, secret, payload))).status).toBe(202)
      expect(yield* next).toBe(`A pull request of Codertocat/Hello-World, opened by Codertocat:

#2 Update the README with new information.
https://github.com/Codertocat/Hello-World/pull/2
From changes into master.

This is a pretty simple change that we need to pull into master.

Review the changes, and list what must change before it is merged.`)
    })
  )
})

describe("a storm of alerts, as many as a request may have, starts a run", () => {
  for (const recipe of [recipes.alertmanager, recipes.grafana]) {
    it.live(recipe.label, () =>
      Effect.gen(function* () {
        const { deliver, next, secret } = yield* setUp(recipe)
        const { payload } = recipe.sample
        const times = Math.floor(1_000_000 / JSON.stringify(payload.alerts).length)
        const alerts = Array.from({ length: times }, () => payload.alerts).flat()
        const answer = yield* deliver(requestOf(recipe, secret, { ...payload, alerts }))
        expect(answer.status, answer.text).toBe(202)
        const prompt = yield* next
        expect(prompt).toContain("he first 100 of")
        expect(prompt.match(/^- /gm)).toHaveLength(100)
      })
    )

    it.live(`${recipe.label}, with long texts, and the number of those that are left out`, () =>
      Effect.gen(function* () {
        const { deliver, next, secret } = yield* setUp(recipe)
        const payload: any = structuredClone(recipe.sample.payload)
        const [alert] = payload.alerts
        alert.labels = { alertname: "警".repeat(300), instance: "機".repeat(300) }
        alert.annotations = { summary: "報".repeat(2_000) }
        alert.values &&= { 値: "値".repeat(300) }
        alert.generatorURL = `https://alerts.example.com/${"a".repeat(300)}`
        payload.alerts = Array.from({ length: 105 }, () => alert)
        payload.truncatedAlerts = 100_000
        const answer = yield* deliver(requestOf(recipe, secret, payload))
        expect(answer.status, answer.text).toBe(202)
        const prompt = yield* next
        expect(prompt).toContain("100105 alerts")
        expect(prompt.match(/^- /gm)).toHaveLength(100)
        expect(prompt).toContain("報".repeat(390))
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

describe("each recipe", () => {
  for (const name of recipeNames) {
    const recipe: Recipe = recipes[name]
    it.live(`${recipe.label}: takes its sample, only with the right secret, and ignores what it is not about`, () =>
      Effect.gen(function* () {
        const { deliver, hook, next, secret, team } = yield* setUp(recipe)
        const { headers, payload } = recipe.sample
        const other = secret.startsWith("whsec_") ? "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" : "Another secret"
        expect(refusal(yield* deliver(requestOf(recipe, other)))).toStrictEqual([401, "not_verified"])
        const { accept_if } = recipe.settings
        const preview = yield* server.admin("POST", `/api/webhooks/${hook.id}/preview`, { body: { headers, payload } })
        expect(preview.json).toStrictEqual({
          ...(accept_if !== undefined && { accepted: true }),
          prompt: expect.any(String),
          missing: []
        })
        if (accept_if !== undefined) {
          const ignored = yield* deliver(requestOf(recipe, secret, { about: "something else" }))
          expect(ignored.text).toBe('{"status":"ignored"}')
        }
        expect(yield* server.history(hook.id)).toStrictEqual([])
        yield* deliver(requestOf(recipe, secret))
        expect(yield* next).toBe(unfenced(preview.json.prompt))
        // As it stands, with the window in which several become one.
        const complete = yield* server.admin("POST", "/api/webhooks", { body: { team, ...draftOf(recipe, secret) } })
        expect(complete.status, complete.text).toBe(201)
      })
    )
  }

  for (const name of recipeNames) {
    const recipe: Recipe = recipes[name]
    it.live(`${recipe.label}: its webhook is called by the example, which passes the filter`, () =>
      Effect.gen(function* () {
        const { hook, next, secret } = yield* setUp(recipe)
        const { json: webhook } = yield* server.admin("GET", `/api/webhooks/${hook.id}`)
        const target = (search: string) => `'${server.origin}${hook.path}${search}'`
        const sample = exampleFor(webhook)
        const script = curlExample(webhook, { sample, target, waits: false, pretty: true, flags: ["--fail-with-body"] })
        yield* Effect.promise(() =>
          exec("/bin/sh", ["-c", `${script} --silent`], {
            env: { PATH: process.env.PATH ?? "", WEBHOOK_SECRET: secret }
          })
        )
        const whole = sampleFor(webhook)
        const body = { payload: whole.body, headers: whole.headers, query: whole.query }
        const preview = yield* server.admin("POST", `/api/webhooks/${hook.id}/preview`, { body })
        expect(preview.json.accepted).not.toBe(false)
        expect(yield* next).toBe(unfenced(preview.json.prompt))
      })
    )
  }
})
