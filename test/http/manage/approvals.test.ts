/** Runs that wait for a person's approval, for those who decide. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { hello, start } from "../Server.ts"

const guarded = Effect.gen(function* () {
  const server = yield* start()
  const { admin, http } = server
  const hook = yield* server.webhook(yield* server.team("ops"), "{{text}}", { approval: "required" })
  const trigger = Effect.map(http("POST", hook.path, { body: hello }), ({ json }) => json.run_id as string)
  const shown = (id: string) => Effect.map(admin("GET", `/api/runs/${id}`), ({ json }) => json)
  const asking = Effect.map(admin("GET", "/api/runs?asks=true"), ({ json }) => json.data.map((run: any) => run.run_id))
  const decide = (id: string, decision: string, headers = {}) =>
    admin("POST", `/api/runs/${id}/approval`, { body: { decision }, headers })
  return { ...server, hook, trigger, shown, asking, decide }
})

describe("a run that waits for approval", () => {
  it.live(
    "is listed as one that asks, and is sent or cancelled by the first decision, which is recorded",
    function* () {
      const { admin, asking, decide, hook, http, shown, trigger } = yield* guarded
      expect(refusal(yield* http("POST", `${hook.path}?wait=true`, { body: hello }))).toEqual([400, "invalid_wait"])
      const [one, other] = [yield* trigger, yield* trigger]
      expect(yield* asking).toEqual([other, one])
      expect(yield* shown(one)).toMatchObject({
        ...{ status: "queued", waits_for: { code: "approval" }, conversation: { prompt: "hello" } },
        ...{ held_for: "approval", held_until: expect.any(String) }
      })
      expect(yield* decide(one, "approve")).toMatchObject({ status: 200, json: { decided_by: "admin key" } })
      const ended = yield* untilEffect(
        "it has run",
        Effect.map(shown(one), (run) => run.status === "success" && run)
      )
      expect(ended.held_for).toBeUndefined()
      expect(yield* decide(other, "deny")).toMatchObject({
        json: { status: "cancelled", cancelled_by: "denied", decided_by: "admin key" }
      })
      for (const [id, detail] of [
        [one, "It was approved before, by admin key."],
        [other, "It was denied before, by admin key."]
      ] as const) {
        const late = yield* decide(id, "approve")
        expect(refusal(late)).toEqual([409, "approval_over"])
        expect(late.json.detail).toBe(detail)
      }
      expect(refusal(yield* decide(one, "perhaps"))).toEqual([422, "invalid"])
      expect(yield* asking).toEqual([])
      const { json } = yield* admin("GET", "/api/audit")
      expect(json.data.map(({ action, object }: any) => [action, object])).toEqual(
        expect.arrayContaining([
          ["run.approved", one],
          ["run.denied", other]
        ])
      )
    }
  )

  it.live("needs no approval if a person starts or replays it", function* () {
    const { admin, decide, hook, shown, trigger } = yield* guarded
    const started = yield* admin("POST", `/api/webhooks/${hook.id}/runs?wait=true`, { body: hello })
    expect(started).toMatchObject({ status: 200, json: { response: "echo: hello" } })
    const denied = yield* trigger
    yield* decide(denied, "deny")
    const replayed = yield* admin("POST", `/api/runs/${denied}/replay?wait=true`, { body: {} })
    expect(replayed).toMatchObject({ status: 200 })
    expect((yield* shown(replayed.json.run_id)).decided_by).toBeUndefined()
  })

  it.live("is told to the destinations that want it, once, with its prompt", function* () {
    const { port, received } = yield* receiver(200)
    const { admin, decide, hook, trigger } = yield* guarded
    const body = {
      ...{ kind: "slack", url: `http://127.0.0.1:${port}/slack` },
      events: ["run.awaiting_approval", "run.cancelled"]
    }
    yield* admin("POST", `/api/webhooks/${hook.id}/destinations`, { body })
    const id = yield* trigger
    yield* untilEffect(
      "it is told",
      Effect.sync(() => received.length === 1)
    )
    const { blocks, text } = JSON.parse(received[0]!.body)
    expect(text).toBe("a webhook ❓ waits for approval")
    expect(JSON.stringify(blocks)).toContain("hello")
    yield* decide(id, "deny")
    yield* untilEffect(
      "its end is told",
      Effect.sync(() => received.length === 2)
    )
    expect(JSON.parse(received[1]!.body).text).toBe("a webhook 🚫 cancelled")
  })
})
