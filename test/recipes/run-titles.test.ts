/** What a run of each service is called, for the sample of its recipe. */
import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { makeWebhookId } from "../../src/domain/Id.ts"
import type { Variables } from "../../src/domain/run/Run.ts"
import { Renderer } from "../../src/engine/prompt/Renderer.ts"
import * as RunTexts from "../../src/engine/prompt/RunTexts.ts"
import { Settings } from "../../src/engine/Settings.ts"
import type { Recipe } from "../../src/recipes/Recipe.ts"
import { recipes } from "../../src/recipes/Recipes.ts"

it.live("says what a run of each service is about", () =>
  Effect.gen(function* () {
    const textsOf = yield* RunTexts.make
    const id = yield* makeWebhookId
    const texts = yield* Effect.forEach(Object.entries<Recipe>(recipes), ([name, { sample, settings }]) =>
      Effect.gen(function* () {
        const input = { payload: sample.payload, headers: sample.headers, query: {} } as Variables
        return [name, yield* textsOf({ id, ...settings }, input)] as const
      })
    )
    const refs = texts.flatMap(([name, { workspace_ref }]) =>
      workspace_ref === undefined ? [] : [[name, workspace_ref]]
    )
    expect(refs).toEqual([
      ["github", expect.stringMatching(/^[\da-f]{40}$/)],
      ["gitlab", expect.stringMatching(/^[\da-f]{40}$/)]
    ])
    expect(Object.fromEntries(texts.map(([name, { title }]) => [name, title]))).toMatchInlineSnapshot(`
      {
        "alertmanager": "KubePodCrashLooping: 2 firing, Pod is crash looping.",
        "aws-sns": "ALARM: "shop-5xx" in EU (Frankfurt)",
        "calendly": "Rosa Diaz: 30 Minute Meeting, 2026-05-06 14:00 UTC",
        "discord": "/ask why was order 4711 refunded?",
        "event-grid": "Microsoft.Storage.BlobCreated: /blobServices/default/containers/orders/blobs/4711.csv",
        "generic": "{"event":"deployed","app":"shop","version":"1.2.3"}",
        "github": "octo-org/hello-world#42: Answer with 404 for a team that is gone",
        "github-comment": "octo-org/hello-world#42: @agent why is 404 right here?",
        "gitlab": "acme/shop!16: Round half a cent to even",
        "grafana": "[FIRING:2] (shop)",
        "hubspot": "Tickets 1246965, 1246978",
        "jira": "SHOP-17: The total is wrong with two coupons",
        "linear": "SHOP-123: The total is wrong with two coupons",
        "meta": "Rosa Diaz: Where is my order 4711?",
        "microsoft-graph": "Users/622eaaff-0683-4862-9de4-f2ec83c2bd98/Messages/AAMkAGUwNjQ4ZjIxLTQ3Y2YtNDViMi1iZjc4",
        "mux": "video.asset.errored: course-4711/lesson-3",
        "paddle": "txn_01hv8wptq8987qeep44cyrewp9: declined",
        "pagerduty": "#2: The checkout answers slowly",
        "sentry": "FRONT-END-9: TypeError: total is undefined",
        "slack-command": "/ask why was order 4711 refunded?",
        "slack-mention": "<@U0LAN0Z89> why was order 4711 refunded?",
        "square": "Dispute ORSEVtZAJxb37RA1EiGw: NOT_AS_DESCRIBED",
        "standard-webhooks": "contact.created",
        "stripe": "Invoice A1B2C3D4-0002: Jenny Rosen",
        "teams": "Rosa Diaz: Agent why was order 4711 refunded?",
        "trello": "Shop: The total is wrong with two coupons",
        "twilio": "+15035550142: Where is my order 4711? It was due on Friday.",
        "twitch": "RosaDiaz in Cool_User",
        "zendesk": "#5158: The total is wrong with two coupons",
        "zoom": "Coupons: what to build first",
      }
    `)
  }).pipe(Effect.provide(Renderer.layer.pipe(Layer.provide(Settings.layer()))))
)
