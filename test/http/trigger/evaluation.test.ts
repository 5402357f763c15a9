/** Expressions that take long hold nobody up, and get no more CPU time than their webhook or API key may use. */

import { Array as Arrays, Effect, Fiber } from "effect"
import { expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { pointers, refusal } from "../Client.ts"
import { hello, start } from "../Server.ts"

const doubled = {
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries(
    Arrays.makeBy(30, (n) => [
      `d${n}`,
      n === 29 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }
    ])
  )
}
const loops = "{% for i in (1..1000000) %}{% for j in (1..1000000) %}x{% endfor %}{% endfor %}"
const draft = { name: "draft", team: "ops", prompt_template: "x" }

it.live.each([
  [
    "a schema whose parts refer to each other twice",
    { webhooks: [{ ...draft, schema: doubled }] },
    "/webhooks/0/schema"
  ],
  [
    "twenty destinations with loops in loops",
    {
      webhooks: [
        {
          ...draft,
          destinations: Arrays.makeBy(20, (n) => ({ url: `https://a.example/${n}`, body: "template", template: loops }))
        }
      ]
    },
    "/webhooks/0/destinations/0/template"
  ],
  [
    "long templates with loops in loops",
    {
      webhooks: [
        { ...draft, template_language: "liquid", prompt_template: loops + "x".repeat(60_000), thread_key: loops }
      ]
    },
    "/webhooks/0/prompt_template"
  ]
])("what is checked before it is saved holds nobody up: %s", ([, body, pointer]) =>
  Effect.gen(function* () {
    const { admin, http, team, webhook } = yield* start()
    const other = yield* webhook(yield* team("ops"))
    const checked = yield* Effect.forkChild(admin("PUT", "/api/config?dry_run=true", { body }))
    expect((yield* http("POST", other.path, { body: hello })).status).toBe(202)
    // Held up by the check, the answers would come together.
    expect(yield* Effect.sync(() => checked.pollUnsafe())).toBeUndefined()
    const answer = yield* Fiber.join(checked)
    if (answer.status === 503) expect(refusal(answer)).toStrictEqual([503, "unavailable"])
    else expect(pointers(answer)).toContain(pointer)
  })
)

const items = (length: number) => Arrays.makeBy(length, (n) => length - n)

/** Sends `x` to a webhook with these settings many times at once. Returns the answers, and how to send more. */
const flooded = (settings: object, x: unknown, times = 100) =>
  Effect.gen(function* () {
    const { http, team, webhook } = yield* start()
    const slow = yield* webhook(yield* team("ops"), "{{x}}", settings)
    const other = yield* webhook("ops")
    const post = (x: unknown) => http("POST", slow.path, { body: { variables: { x } } })
    const flood = yield* Effect.forkChild(Effect.replicateEffect(post(x), times, { concurrency: "unbounded" }))
    expect((yield* http("POST", other.path, { body: hello })).status).toBe(202)
    expect(yield* Effect.sync(() => flood.pollUnsafe())).toBeUndefined()
    return { answers: yield* Fiber.join(flood), post }
  })

it.live.each<readonly [what: string, schema: object, value: unknown]>([
  ["a regular expression", { pattern: "^(a+)+$" }, `${"a".repeat(62)}!`],
  ["distinct items", { uniqueItems: true }, items(60_000)]
])("callers hold nobody up with %s, nor use more than the webhook's CPU time", ([, x, value]) =>
  Effect.gen(function* () {
    const { answers } = yield* flooded({ schema: { properties: { x } } }, value)
    const refused = answers.filter(({ status }) => status !== 422)
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of refused) {
      expect(refusal(answer)).toStrictEqual([503, "unavailable"])
      expect(answer.headers.get("retry-after")).toMatch(/^\d+$/)
      // A machine that is busy with other work has no CPU time for them.
      expect(answer.json.detail).toMatch(/used up their CPU time|too busy/)
    }
  })
)

it.live.each<readonly [what: string, settings: object]>([
  ["a filter", { accept_if: "length(x[].length($.x[?@ > `0`])) > `0`" }],
  [
    "loops in loops",
    { template_language: "liquid", prompt_template: "{% for i in x %}{% for j in x %}{% endfor %}{% endfor %}" }
  ]
])("callers hold nobody up with %s, and what is quick needs no CPU time of the webhook", ([, settings]) =>
  Effect.gen(function* () {
    const { answers, post } = yield* flooded(settings, items(20_000), 40)
    for (const { status } of answers) expect([422, 503]).toContain(status)
    expect((yield* post([1])).status).toBe(202)
  })
)

it.live("a large body is not parsed while the webhook's CPU time is used up", function* () {
  const { http, team, webhook } = yield* start()
  const slow = yield* webhook(yield* team("ops"), "{{x}}", { schema: { properties: { x: { pattern: "^(a+)+$" } } } })
  const use = http("POST", slow.path, { body: { variables: { x: `${"a".repeat(62)}!` } } })
  yield* Effect.forkScoped(Effect.forever(use))
  const broken = (length: number) => http("POST", slow.path, { raw: "{".repeat(length) })
  yield* repeatUntil(broken(20_000), ({ status }) => status === 503)
  expect(refusal(yield* broken(10_000))).toStrictEqual([400, "invalid_body"])
})
