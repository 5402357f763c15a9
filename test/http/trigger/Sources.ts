/** Webhooks by the recipes, which get what their services send. */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Exit, Queue, Scope } from "effect"
import type { Prompt } from "../../../src/bus/Bus.ts"
import type { Recipe } from "../../../src/recipes/Recipe.ts"
import { exec } from "../../support/Process.ts"
import { start } from "../Server.ts"
import { draftOf, type Sent, secretFor } from "../SignedRequests.ts"

/** The prompt, with the same marks around its data each time. */
export const withFixedMarks = (prompt: string): string =>
  prompt.replaceAll(/(?<=<\/?data-)[0-9a-f]{16}(?=>)/g, "0".repeat(16))

const curl = (url: string, { headers, raw }: Sent) =>
  Effect.promise(async () => {
    const options = ["--silent", "--show-error", "--write-out", "\\n%{http_code}", "--data-binary", "@-"]
    const lines = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`])
    const running = exec("curl", [...options, ...lines, url])
    running.child.stdin!.end(raw)
    const [, text, status] = /^(.*)\n(\d+)$/s.exec((await running).stdout)!
    return { status: Number(status), text: text! }
  })

export const recorded = (name: string) => readFileSync(new URL(`recorded/${name}.json`, import.meta.url), "utf8")

/** A server for the tests of a file. */
export const serve = () => {
  const scope = Effect.runSync(Scope.make())
  let server: Effect.Success<ReturnType<typeof start>>
  let teams = 0
  beforeAll(async () => {
    server = await Effect.runPromise(Scope.provide(start(), scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  /** A webhook of the recipe and a team of its own, without a window in which its triggers would wait. */
  const setUp = (recipe: Recipe, secret = secretFor(recipe)) =>
    Effect.gen(function* () {
      const prompts = yield* Queue.unbounded<Prompt>()
      const team = yield* Scope.provide(
        server.team(`team-${teams++}`, ({ prompt, reply }) =>
          Effect.andThen(Queue.offer(prompts, prompt), reply({ _tag: "Answered", response: "done" }))
        ),
        scope
      )
      const { prompt_template, name, ...draft } = draftOf(recipe, secret)
      const hook = yield* server.webhook(team, prompt_template, { name, ...draft, coalesce: undefined })
      const url = `${server.origin}${hook.path}`
      return {
        hook,
        secret,
        team,
        url,
        deliver: ({ raw, headers }: Sent) => server.http("POST", hook.path, { raw, headers }),
        /** The same from another program. */
        send: (sent: Sent) => curl(url, sent),
        next: Effect.map(Queue.take(prompts), ({ prompt }) => withFixedMarks(prompt))
      }
    })

  return { scope, server: () => server, setUp }
}
