import { Effect } from "effect"
import * as Program from "../cli/Program.ts"
import { describe, expect, it } from "../support/It.ts"
import { until } from "../support/Until.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"

describe("the server's standard output", () => {
  it.live("has each audit event as a line of JSON, with the fields of the API and no secret", function* () {
    const server = yield* Program.serve({
      ...{ ADMIN_API_KEY, AUDIT_LOG: "stdout", LOG_FORMAT: "json" },
      DATA_DIR: yield* Program.newFolder
    })
    const api = (method: string, path: string, body?: object) =>
      Effect.promise(async () => {
        const headers = { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" }
        const answer = await fetch(`${server.url}${path}`, {
          method,
          headers,
          body: body ? JSON.stringify(body) : null
        })
        return answer.json() as Promise<any>
      })
    yield* api("POST", "/api/teams", { team: "ops" })
    const draft = { name: 'a "name"\nof two lines', team: "ops", prompt_template: "{{text}}" }
    const { token, webhook } = yield* api("POST", "/api/webhooks", draft)
    yield* api("PATCH", `/api/webhooks/${webhook.id}`, { enabled: false })
    yield* Effect.promise(() => until("the edit is written", async () => server.welcome().includes("webhook.edited")))
    yield* api("POST", `/api/webhooks/${webhook.id}/token`)
    const { data } = yield* api("GET", "/api/audit?limit=100")

    // The last event is written by the stop.
    const { stdout } = yield* server.end("SIGTERM")
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    const events = lines.filter(({ type }) => type === "audit")
    expect(events).toEqual(data.toReversed().map((event: object) => ({ type: "audit", ...event })))
    expect(events.slice(-4).map(({ action }) => action)).toEqual([
      "team.created",
      "webhook.created",
      "webhook.edited",
      "webhook.token_regenerated"
    ])
    for (const secret of [token, ADMIN_API_KEY]) expect(JSON.stringify(events)).not.toContain(secret)
  })
})
