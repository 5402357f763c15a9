/** GitHub's own examples of what it sends, all of them: each is taken with its signature, and fills a template in. */
import { createRequire } from "node:module"
import { expect, it } from "@effect/vitest"
import { Effect, Queue, References } from "effect"
import { nameOf } from "../../../src/domain/prompt/Path.ts"
import { start } from "../Server.ts"
import { deliverTo, github, secret } from "./Github.ts"

interface Event {
  readonly name: string
  readonly examples: ReadonlyArray<object>
}

const events: ReadonlyArray<Event> = createRequire(import.meta.url)("@octokit/webhooks-examples")

/** The texts, numbers and truth values in a payload, as a prompt shows them, by the paths at which they are. */
const valuesIn = (value: unknown, path = ["payload"]): ReadonlyArray<readonly [path: string, text: string]> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, member]) => valuesIn(member, [...path, name]))
    : value === null
      ? []
      : [[nameOf(path), String(value)]]

it.live("every payload of GitHub's own examples is a run, whose prompt has what is at the paths of its template", () =>
  Effect.gen(function* () {
    const prompts = yield* Queue.unbounded<string>()
    const server = yield* start()
    const team = yield* server.team("ops", ({ prompt, reply }) =>
      Effect.andThen(Queue.offer(prompts, prompt.prompt), reply({ _tag: "Answered", response: "done" }))
    )
    const hook = yield* server.webhook(team, "{{payload}}", { input: "payload", ...github })
    const deliver = (event: string, payload: object) =>
      deliverTo(server, hook.path)(payload, secret, { "x-github-event": event })
    let deliveries = 0
    for (const { name, examples: all } of events.filter(({ name }) => name !== "ping")) {
      // A few stand there twice, which would be one run.
      const examples = [...new Map(all.map((payload) => [JSON.stringify(payload), payload])).values()]
      const found = examples.map((payload) => new Map(valuesIn(payload)))
      const paths = [...found[0]!.keys()].filter((path) => found.every((values) => values.has(path)))
      expect(paths.length, name).toBeGreaterThan(10)
      const prompt_template = ["headers.x-github-event", ...paths].map((path) => `${path}: {{${path}}}`).join("\n")
      const edited = yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { prompt_template } })
      expect(edited.status, edited.text).toBe(200)
      const answers = yield* Effect.forEach(examples, (payload) => deliver(name, payload), { concurrency: 4 })
      for (const { status, text } of answers) expect(status, `${name}: ${text}`).toBe(202)
      const expected = found.map((values) =>
        [`headers.x-github-event: ${name}`, ...paths.map((path) => `${path}: ${values.get(path)}`)].join("\n")
      )
      expect([...(yield* Queue.takeN(prompts, examples.length))].sort()).toStrictEqual(expected.sort())
      deliveries += examples.length
    }
    expect(deliveries).toBeGreaterThan(300)
  }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
)
