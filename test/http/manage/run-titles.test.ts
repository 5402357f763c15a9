import { Effect } from "effect"
import { expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { repeatUntil } from "../../support/Until.ts"
import { pointers, refusal } from "../Client.ts"
import { start } from "../Server.ts"

const run_title = "{{payload.repo}}#{{payload.number}}"
const workspace_ref = "refs/pull/{{payload.number}}/head"

it.live("a run's title is shown with the run, in lists, exports, previews, events and messages", function* () {
  const { admin, http, team } = yield* start()
  yield* team("ops")
  const draft = { name: "Review", team: "ops", prompt_template: "Review it", input: "payload", workspace_ref }
  const created = yield* admin("POST", "/api/webhooks", { body: { ...draft, run_title } })
  const { trigger_url, webhook } = created.json
  expect(webhook.run_title).toBe(run_title)
  const { port, received, url } = yield* receiver(200)
  const destinations = `/api/webhooks/${webhook.id}/destinations`
  for (const body of [{ url }, { kind: "slack", url: `http://127.0.0.1:${port}/slack` }]) {
    expect((yield* admin("POST", destinations, { body })).status).toBe(201)
  }
  const trigger = (body: object) => http("POST", `${new URL(trigger_url).pathname}?wait=true`, { body })
  const title = "shop#7"
  const { run_id } = (yield* trigger({ repo: "shop", number: 7 })).json
  expect((yield* admin("GET", `/api/runs/${run_id}`)).json.title).toBe(title)
  expect((yield* admin("GET", "/api/runs")).json.data).toMatchObject([{ run_id, title }])
  expect((yield* admin("GET", "/api/runs/export.csv")).text).toContain(`,${title},`)
  yield* repeatUntil(
    Effect.sync(() => received.length),
    (count) => count === 2
  )
  const bodies = received.map(({ body }) => JSON.parse(body))
  expect(bodies.find(({ data }) => data)?.data.title).toBe(title)
  expect(bodies.find(({ blocks }) => blocks)?.text).toBe("shop#7 · Review ✅ succeeded")

  const untitled = (yield* trigger({ repo: "shop" })).json
  expect((yield* admin("GET", `/api/runs/${untitled.run_id}`)).json).not.toHaveProperty("title")

  const preview = (payload: object) => admin("POST", `/api/webhooks/${webhook.id}/preview`, { body: { payload } })
  expect((yield* preview({ repo: "shop", number: 7 })).json).toEqual({
    ...{ prompt: "Review it", missing: [], title },
    workspace_ref: "refs/pull/7/head"
  })
  expect((yield* preview({ repo: "shop" })).json).toEqual({ prompt: "Review it", missing: [] })

  const secret = { run_title: "{{headers.authorization}}" }
  const refused = yield* admin("PATCH", `/api/webhooks/${webhook.id}`, { body: secret })
  expect([refusal(refused), pointers(refused)]).toStrictEqual([[422, "invalid"], ["/run_title"]])
})
