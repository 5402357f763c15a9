import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { DateTime, Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { expectTypeOf } from "vitest"
import * as Client from "../../src/api/Client.ts"
import { tags } from "../../src/api/Problem.ts"
import type { ProblemCode } from "../../src/api/ProblemTitles.ts"
import { adminKey, failing, silent, start } from "../http/Server.ts"

describe("the typed client", () => {
  it.live("covers the whole flow: team, webhook, trigger, run, history", () =>
    Effect.gen(function* () {
      const { origin, team } = yield* start()
      const client = yield* Client.make({ url: origin, adminKey: Redacted.make(adminKey) })
      yield* team("ops")
      const [shown] = (yield* client.teams.list()).data
      expect([shown!.team as string, shown!.running]).toStrictEqual(["ops", true])
      expect(DateTime.isDateTime(shown!.created_at)).toBe(true)
      const { webhook, token } = yield* client.webhooks.create({
        payload: { name: "n", team: shown!.team, prompt_template: "{{a}}" }
      })
      const answered = yield* client.trigger.trigger({
        params: { token: token! },
        query: { wait: true },
        payload: { variables: { a: 1 } }
      })
      const { data, next_cursor } = yield* client.webhooks.runs({ params: { id: webhook.id }, query: { limit: 5 } })
      expect(answered).toMatchObject({ status: "success", response: "echo: 1", run_id: data[0]!.run_id })
      expect(next_cursor).toBe(null)
      const { sizes, truncated, ...listed } = data[0]!
      expect(yield* client.runs.show({ params: { run_id: data[0]!.run_id } })).toStrictEqual(listed)
      expect([truncated, sizes]).toStrictEqual([false, { variables: 7, prompt: 1, response: 7 }])
      yield* client.webhooks.delete({ params: { id: webhook.id }, headers: {} })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.live("gives a trigger's result the type of its wait", () =>
    Effect.gen(function* () {
      const { origin, team, webhook } = yield* start()
      yield* team("ops")
      const { token } = yield* webhook("ops")
      const client = yield* Client.make({ url: origin })
      const request = { params: { token }, payload: { variables: { text: "hi" } } }

      const waited = yield* client.trigger.trigger({ ...request, query: { wait: true } })
      expectTypeOf(waited.status).toEqualTypeOf<"success" | "ignored" | "cancelled">()
      expect(waited.status).toBe("success")

      const accepted = yield* client.trigger.trigger(request)
      expectTypeOf(accepted.status).toEqualTypeOf<"accepted" | "ignored" | "cancelled">()
      expect(accepted.status).toBe("accepted")

      const [result, response] = yield* client.trigger.trigger({ ...request, responseMode: "decoded-and-response" })
      expectTypeOf(result.status).toEqualTypeOf<"accepted" | "ignored" | "cancelled">()
      expect([result.status, response.status]).toStrictEqual(["accepted", 202])

      const unknown = (wait: boolean) => client.trigger.trigger({ ...request, query: { wait } })
      expectTypeOf<Effect.Success<ReturnType<typeof unknown>>["status"]>().toEqualTypeOf<
        "success" | "accepted" | "ignored" | "cancelled"
      >()
      expect((yield* unknown(true)).status).toBe("success")
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.live("tags errors: problems by their status, and runs that ended otherwise", () =>
    Effect.gen(function* () {
      const { admin, origin, team, webhook } = yield* start()
      yield* team("failing", failing)
      yield* team("silent", silent)
      const client = yield* Client.make({ url: origin })
      const trigger = (token: string) =>
        client.trigger
          .trigger({ params: { token }, query: { wait: true }, payload: { variables: { text: "hi" } } })
          .pipe(
            Effect.as("answered"),
            Effect.catchTags({
              NotFound: ({ code }) => {
                expectTypeOf(code).toEqualTypeOf<ProblemCode>()
                return Effect.succeed(`not found: ${code}`)
              },
              Failed: ({ error }) => Effect.succeed(`failed: ${error.message}`),
              TimedOut: ({ status }) => Effect.succeed(`timed out: ${status}`)
            })
          )
      expect(yield* trigger("x")).toBe("not found: not_found")
      expect(yield* trigger((yield* webhook("failing")).token)).toBe("failed: no disk")
      expect(yield* trigger((yield* webhook("silent", "{{text}}", { timeout_seconds: 1 })).token)).toBe(
        "timed out: timeout"
      )
      const refused = yield* Effect.flip(client.webhooks.list())
      expect(refused).toMatchObject({ _tag: "Unauthorized", status: 401, code: "unauthorized" })
      // Responses themselves have none.
      const { text } = yield* admin("GET", "/api/webhooks/x")
      expect(text).toContain('"not_found"')
      expect(text).not.toContain("_tag")
      const invalid = yield* admin("POST", "/api/teams", { body: { team: "!" } })
      expect([invalid.status, invalid.json._tag]).toStrictEqual([422, undefined])
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})

it("the page on the client lists the tags of all problems", () => {
  const page = readFileSync(new URL("../../docs/reference/client.md", import.meta.url), "utf8")
  const [row] = page.split("\n").filter((line) => line.startsWith("| `BadRequest`"))
  expect([...row!.split(" | ")[0]!.matchAll(/`(\w+)`/g)].map(([, tag]) => tag)).toStrictEqual(Object.values(tags))
})
