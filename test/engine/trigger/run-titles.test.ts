/** `run_title`: what a run is called. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { edit, replay, runOf } from "../replay/ReplaySteps.ts"
import { echo, lead, makeTeam, makeWebhook, onEngine, until } from "../Scenario.ts"

const run_title = "{{text.repo}}#{{text.number}}: {{text.title?}}"
const about = { repo: "acme/shop", number: 7, title: "Add\nretries" }

onEngine("is filled in at the acceptance, in one short line; an edit changes later runs", function* () {
  const team = yield* makeTeam("deploy")
  yield* echo(team)
  const webhook = yield* makeWebhook(team, { run_title })
  const titled = yield* webhook.submit(about)
  const long = yield* webhook.submit({ ...about, title: "x".repeat(1_000) })
  yield* edit(webhook.id, { run_title: "{{text.repo}}" })
  const edited = yield* webhook.submit(about)
  expect((yield* runOf(titled)).title).toBe("acme/shop#7: Add retries")
  expect((yield* runOf(long)).title).toHaveLength(120)
  expect((yield* runOf(edited)).title).toBe("acme/shop")
  const { data } = yield* (yield* Repo).runs({ webhook_id: webhook.id, limit: 3 })
  expect(data.map(({ title }) => title)).toEqual(["acme/shop", expect.stringMatching(/…$/), "acme/shop#7: Add retries"])
})

onEngine("refuses no request: a run without a value for it, or whose title takes too long, has none", function* () {
  const team = yield* makeTeam("deploy")
  yield* echo(team)
  const simple = yield* makeWebhook(team, { run_title })
  const liquid = yield* makeWebhook(team, {
    template_language: "liquid",
    run_title: "{% for i in (1..1000000) %}{% for j in (1..1000000) %}{{ i }}{% endfor %}{% endfor %}"
  })
  for (const id of [
    yield* simple.submit({ repo: "acme/shop" }),
    yield* liquid.submit("hello"),
    yield* (yield* makeWebhook(team)).submit(about)
  ]) {
    expect(Object.keys(yield* runOf(id))).not.toContain("title")
  }
})

onEngine("stays with a replay and a retry, and is made of a replay's new values", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* makeWebhook(team, { run_title })
  yield* edit(webhook.id, { retries: { max_retries: 1, backoff_seconds: 1 } })
  const first = yield* webhook.submit(about)
  yield* leader.next
  yield* leader.fail("no disk")
  yield* until(Effect.map(runOf(first), ({ retry_at }) => retry_at !== undefined))
  yield* advance("2 seconds")
  yield* until(Effect.map(runOf(first), ({ retried_by }) => retried_by !== undefined))
  const retry = (yield* runOf(first)).retried_by!
  const again = yield* replay(first)
  const other = yield* replay(first, { prompt: "template", variables: { text: { ...about, number: 8 } } })
  for (const id of [retry, again]) expect((yield* runOf(id)).title).toBe("acme/shop#7: Add retries")
  expect((yield* runOf(other)).title).toBe("acme/shop#8: Add retries")
})

onEngine("is that of the last request of a burst", function* () {
  const team = yield* makeTeam("deploy")
  const webhook = yield* makeWebhook(team, { run_title, coalesce: { key: "text.repo", within: 30 } })
  yield* echo(team)
  const id = yield* webhook.submit(about)
  expect(yield* webhook.submit({ ...about, title: "Add fewer" })).toBe(id)
  expect((yield* runOf(id)).title).toBe("acme/shop#7: Add fewer")
})

onEngine("a run has the ref that its agent works on in the same way, with what is asked of the agent", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* makeWebhook(team, { workspace_ref: "refs/pull/{{text.number}}/head" })
  const id = yield* webhook.submit(about)
  expect((yield* leader.next).prompt.agent).toEqual({ workspace_ref: "refs/pull/7/head" })
  yield* leader.answer("done")
  yield* until(Effect.map(runOf(id), ({ status }) => status === "success"))
  yield* replay(id)
  expect((yield* leader.next).prompt.agent).toEqual({ workspace_ref: "refs/pull/7/head" })
  yield* leader.answer("done")
  yield* replay(id, { prompt: "template", variables: { text: { ...about, number: 8 } } })
  expect((yield* leader.next).prompt.agent).toEqual({ workspace_ref: "refs/pull/8/head" })
  yield* leader.answer("done")
  yield* webhook.submit({ repo: "acme/shop" })
  expect((yield* leader.next).prompt.agent).toBeUndefined()
  const refused = yield* Effect.flip(webhook.submit({ ...about, number: "7".repeat(500) }))
  expect(refused).toMatchObject({
    _tag: "TemplateFailed",
    reason: expect.stringContaining("more than 500 characters")
  })
})
