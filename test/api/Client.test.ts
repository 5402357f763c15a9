import { FetchHttpClient } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { DateTime, Effect, Redacted } from "effect"
import * as Client from "../../src/api/Client.ts"
import { adminKey, start } from "../http/Server.ts"

describe("the typed client", () => {
  it.scopedLive("covers the whole flow: team, webhook, trigger, run, history", () =>
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
        path: { token },
        urlParams: { wait: "true" },
        headers: {},
        payload: { variables: { a: 1 } }
      })
      const { data, next_cursor } = yield* client.webhooks.runs({ path: { id: webhook.id }, urlParams: { limit: 5 } })
      expect(answered).toMatchObject({ status: "success", response: "echo: 1", run_id: data[0]!.run_id })
      expect(next_cursor).toBe(null)
      const { sizes, truncated, ...listed } = data[0]!
      expect(yield* client.runs.show({ path: { run_id: data[0]!.run_id } })).toStrictEqual(listed)
      expect([truncated, sizes]).toStrictEqual([false, { variables: 7, prompt: 1, response: 7 }])
      yield* client.webhooks.delete({ path: { id: webhook.id }, headers: {} })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("returns errors as values, with their code", () =>
    Effect.gen(function* () {
      const { origin } = yield* start()
      const client = yield* Client.make({ url: origin })
      const refused = yield* Effect.flip(client.webhooks.list())
      expect(refused).toMatchObject({ status: 401, code: "unauthorized" })
      const missing = yield* Effect.flip(
        client.trigger.trigger({ path: { token: "x" }, urlParams: {}, headers: {}, payload: { variables: {} } })
      )
      expect(missing).toMatchObject({ status: 404, code: "not_found" })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
