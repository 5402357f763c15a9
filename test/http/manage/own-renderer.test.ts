/** A host's own renderer, with another grammar: the engine, the API and the editor have theirs from it. */

import { Effect, Layer } from "effect"
import { TemplateFailed, TemplateInvalid, Unavailable } from "../../../src/domain/Errors.ts"
import { Renderer } from "../../../src/engine/prompt/Renderer.ts"
import { expect, it } from "../../support/It.ts"
import { pointers, refusal } from "../Client.ts"
import { start } from "../Server.ts"

const placeholder = /<<(\w+)>>/g

/** `<<name>>` for a value, and nothing else. A value may be an order to fail. */
const angles = Renderer.of({
  placeholders: (template) => {
    const offset = template.replace(placeholder, (found) => ".".repeat(found.length)).indexOf("<<")
    return offset < 0
      ? Effect.succeed([...new Set(Array.from(template.matchAll(placeholder), ([, name]) => name!))])
      : Effect.fail(new TemplateInvalid({ offset, line: 1, column: offset + 1, reason: "`<<` without `>>`" }))
  },
  places: (template) =>
    Array.from(template.matchAll(placeholder), ({ 0: { length }, index }) => ({ start: index, end: index + length })),
  render: (template, variables) => {
    if (variables.who === "nobody") return new TemplateFailed({ line: 1, column: 7, reason: "there is nobody" })
    if (variables.who === "away") return new Unavailable({ what: "server", detail: "The templates' store is away." })
    if (variables.who === "a bug") return Effect.die(new Error("a bug"))
    const prompt = template.replace(placeholder, (_, name) => String(variables[name]))
    return Effect.succeed({ prompt })
  }
})

const started = Effect.gen(function* () {
  const server = yield* start({ renderer: Layer.succeed(Renderer, angles), settings: { maxPrompt: 1_000 } })
  const hook = yield* server.webhook(yield* server.team("ops"), "Greet <<who>> {{")
  const trigger = (who: string) => server.http("POST", `${hook.path}?wait=true`, { body: { variables: { who } } })
  const draft = (body: object) => server.admin("POST", "/api/templates/preview", { body })
  return { ...server, hook, trigger, draft }
})

it.live("checks templates when they are saved, by its grammar alone", function* () {
  const { admin, hook, trigger } = yield* started
  const saved = yield* admin("GET", `/api/webhooks/${hook.id}`)
  expect(saved.json.variables).toEqual(["who"])
  expect((yield* trigger("Ada")).json.response).toBe("echo: Greet Ada {{")
  const refused = yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { prompt_template: "Greet <<who" } })
  expect([refusal(refused), pointers(refused)]).toEqual([[422, "invalid"], ["/prompt_template"]])
  expect(refused.json.errors[0].detail).toBe("line 1, column 7: `<<` without `>>`")
  // What is no template has the grammar of paths.
  const coalesce = (key: string) => ({ body: { coalesce: { key, within: 5 } } })
  expect((yield* admin("PATCH", `/api/webhooks/${hook.id}`, coalesce("who"))).status).toBe(200)
  expect(pointers(yield* admin("PATCH", `/api/webhooks/${hook.id}`, coalesce("a b")))).toEqual(["/coalesce"])
})

it.live("is held to the limit of a prompt, and to text that can be stored", function* () {
  const { admin, hook, runs, trigger } = yield* Effect.map(started, (server) => ({
    ...server,
    runs: server.history(server.hook.id)
  }))
  expect(refusal(yield* trigger("x".repeat(1_000)))).toEqual([422, "prompt_too_large"])
  const preview = yield* admin("POST", `/api/webhooks/${hook.id}/preview`, {
    body: { variables: { who: "é".repeat(500) } }
  })
  expect(refusal(preview)).toEqual([422, "prompt_too_large"])
  expect(yield* runs).toEqual([])
  yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { prompt_template: "<<who>>" } })
  expect((yield* trigger("x".repeat(1_000))).status).toBe(200)
  const [run] = yield* runs
  yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { prompt_template: "<<who>>!" } })
  const replay = yield* admin("POST", `/api/runs/${run.run_id}/replay`, { body: { prompt: "template" } })
  expect(refusal(replay)).toEqual([422, "prompt_too_large"])
})

it.live("fails with a problem that says what it said", function* () {
  const { hook, history, trigger } = yield* started
  const failed = yield* trigger("nobody")
  expect(refusal(failed)).toEqual([422, "template_failed"])
  expect(failed.json.detail).toBe("Line 1, column 7 of the template: there is nobody.")
  const away = yield* trigger("away")
  expect([...refusal(away), away.json.detail]).toEqual([503, "unavailable", "The templates' store is away."])
  expect(refusal(yield* trigger("a bug"))).toEqual([500, "internal_error"])
  expect(yield* history(hook.id)).toEqual([])
})

it.live("is what the web UI's editor asks", function* () {
  const { draft } = yield* started
  const prompt_template = "Greet <<who>> {{"
  const places = [{ start: 6, end: 13 }]
  const known = { variables: ["who"], places }
  expect((yield* draft({ prompt_template, variables: { who: "Ada" } })).json).toEqual({
    ...known,
    prompt: [{ text: "Greet Ada {{" }]
  })
  expect((yield* draft({ prompt_template, variables: { who: "nobody" } })).json).toEqual({
    ...known,
    refused: "The template cannot be filled in with this input. Line 1, column 7 of the template: there is nobody."
  })
  expect((yield* draft({ prompt_template: "Greet <<who" })).json).toEqual({
    variables: [],
    fault: { offset: 6, line: 1, column: 7, reason: "`<<` without `>>`" }
  })
  const wrong = yield* draft({ prompt_template: "", fence: 1 })
  expect([refusal(wrong)[0], pointers(wrong).sort()]).toEqual([422, ["/fence", "/prompt_template"]])
})

it.live("in its place the service's own marks values, in both languages", function* () {
  const { admin } = yield* start()
  const draft = (body: object) => Effect.map(admin("POST", "/api/templates/preview", { body }), ({ json }) => json)
  expect(yield* draft({ prompt_template: "{{a}}-{{b?}}", variables: { a: "1" } })).toEqual({
    variables: ["a", "b"],
    places: [
      { start: 0, end: 5, optional: false },
      { start: 6, end: 12, optional: true }
    ],
    prompt: [{ text: "1", name: "a" }, { text: "-" }, { text: "", name: "b" }]
  })
  const liquid = yield* draft({
    prompt_template: "{% for a in payload.all %}{{ a | upcase }}{% endfor %}",
    ...{ template_language: "liquid", input: "payload", payload: { all: ["x", "y"] } }
  })
  expect(liquid.prompt.map(({ text }: { text: string }) => text).join("")).toBe("XY")
})
