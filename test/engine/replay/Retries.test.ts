import { DateTime, Duration, Effect, Exit, Layer, Logger, Scope } from "effect"
import { LeaderBus } from "../../../src/bus/Bus.ts"
import type { RunId, WebhookId } from "../../../src/domain/Id.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Webhooks } from "../../../src/engine/manage/Webhooks.ts"
import { Replay } from "../../../src/engine/replay/Replay.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { engine, engineInMemory, lead, makeTeam, makeWebhook, onEngine, onPorts, until } from "../Scenario.ts"

const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))
const edit = (id: WebhookId, fields: object) =>
  Effect.gen(function* () {
    yield* (yield* Repo).updateWebhook(id, { ...fields, updated_at: yield* DateTime.now })
  })
const historyOf = (webhook_id: WebhookId) =>
  Effect.flatMap(Repo, (repo) => Effect.map(repo.runs({ webhook_id, limit: 100 }), ({ data }) => data.toReversed()))
const replayable = (webhook_id: WebhookId) =>
  Effect.flatMap(Replay, (replays) =>
    Effect.map(replays.matching({ of: { webhook_id }, statuses: ["error"] }, { limit: 9 }), ({ ids }) => ids)
  )

/** A leader that fails its first `failures` prompts. */
const flaky = (team: TeamName, failures: number) =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    yield* (yield* LeaderBus).lead(team, ({ prompt, reply }) => {
      seen.push(prompt.prompt)
      return reply(
        seen.length <= failures ? { _tag: "Failed", message: "no disk" } : { _tag: "Answered", response: "done" }
      )
    })
    return seen
  })

const failing = (failures: number, retries: { readonly max_retries: number; readonly backoff_seconds: number }) =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* Scope.fork(yield* Effect.scope, "sequential")
    const seen = yield* Scope.provide(flaky(team, failures), leader)
    const webhook = yield* makeWebhook(team)
    yield* edit(webhook.id, { retries })
    /** Then the team has no leader. */
    const leave = Scope.close(leader, Exit.void)
    return { team, seen, webhook, leave }
  })
const ended = (id: RunId) => until(Effect.map(runOf(id), ({ finished_at }) => finished_at !== undefined))
/** The failed run's next attempt, once there is one. */
const retryOf = (id: RunId) =>
  Effect.gen(function* () {
    yield* until(Effect.map(runOf(id), ({ retried_by }) => retried_by !== undefined))
    return (yield* runOf(id)).retried_by!
  })

onEngine("tries an accepted run again without approval, if its webhook asks for that since", function* () {
  const { seen, webhook } = yield* failing(1, { max_retries: 1, backoff_seconds: 8 })
  const first = yield* webhook.submit("api")
  yield* ended(first)
  yield* edit(webhook.id, { approval: "required" })
  const later = yield* webhook.submit("later")
  yield* advance("9 seconds")
  const second = yield* retryOf(first)
  yield* ended(second)
  expect(yield* runOf(second)).toMatchObject({ status: "success", attempt: 2 })
  expect(yield* runOf(later)).toMatchObject({ status: "queued", held_for: "approval" })
  expect(seen).toEqual(["api", "api"])
})

onEngine(
  "tries a failed run again with the prompt as it was, after a time that doubles, until it succeeds",
  function* () {
    const { seen, webhook } = yield* failing(2, { max_retries: 5, backoff_seconds: 8 })
    const first = yield* webhook.submit("api")
    yield* ended(first)
    yield* edit(webhook.id, { prompt_template: "other {{text}}" })
    const failed = yield* runOf(first)
    expect(failed).toMatchObject({ status: "error", attempt: 1, max_attempts: 6 })
    expect(DateTime.distance(failed.finished_at!, failed.retry_at!)).toEqual(Duration.seconds(8))
    yield* advance("6 seconds")
    expect(seen).toHaveLength(1)
    // What is to be tried again is not repeated by hand with all that has failed.
    expect(yield* replayable(webhook.id)).toEqual([])

    yield* advance("4 seconds")
    const second = yield* retryOf(first)
    yield* ended(second)
    const { webhook_version } = failed
    expect(yield* runOf(first)).not.toHaveProperty("retry_at")
    const again = yield* runOf(second)
    expect(again).toMatchObject({ attempt: 2, max_attempts: 6, retry_of: first, status: "error", webhook_version })
    expect(DateTime.distance(again.finished_at!, again.retry_at!)).toEqual(Duration.seconds(16))

    yield* advance("20 seconds")
    const third = yield* retryOf(second)
    yield* ended(third)
    expect(yield* runOf(third)).toMatchObject({ attempt: 3, retry_of: second, status: "success" })
    expect(seen).toEqual(["api", "api", "api"])
    yield* advance("5 seconds")
    expect(yield* historyOf(webhook.id)).toHaveLength(3)
  }
)

onEngine(
  "gives up after its attempts; a caller that waits is told at once, and that run is not tried again",
  function* () {
    const { seen, webhook } = yield* failing(99, { max_retries: 1, backoff_seconds: 1 })
    const first = yield* webhook.submit("api")
    yield* ended(first)
    yield* advance("3 seconds")
    const second = yield* retryOf(first)
    yield* ended(second)
    expect(yield* runOf(second)).not.toHaveProperty("retry_at")
    const waited = yield* webhook.ask("api")
    expect(waited.status).toBe("error")
    expect(waited).not.toHaveProperty("attempt")
    yield* advance("5 seconds")
    expect(seen).toHaveLength(3)
    expect(yield* replayable(webhook.id)).toEqual([second, waited.run_id])
  }
)

it.effect("a budget of cost that does not count unknown costs is warned about", () => {
  const lines: Array<string> = []
  return Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const draft = { name: "nightly", team: yield* makeTeam("deploy"), prompt_template: "{{text}}" }
    const { webhook } = yield* webhooks.create(draft)
    expect(lines).toEqual([])
    yield* webhooks.edit(webhook.id, { max_cost_per_day: 0.5 }, undefined)
    expect(lines).toEqual([expect.stringContaining("WEBHOOK_UNKNOWN_COST")])
  }).pipe(
    Effect.provide(engineInMemory()),
    Effect.provide(
      Logger.layer([Logger.make(({ logLevel, message }) => logLevel === "Warn" && lines.push(String(message)))])
    )
  )
})

onEngine("a retry is not sent once its webhook's budget of cost is used up, and is the last one", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* makeWebhook(team)
  yield* edit(webhook.id, { retries: { max_retries: 5, backoff_seconds: 1 }, max_cost_per_day: 0.5 })
  const first = yield* webhook.submit("api")
  yield* leader.fail("no disk", { usage: { cost_usd: 0.75 } })
  yield* ended(first)
  yield* advance("3 seconds")
  const second = yield* retryOf(first)
  yield* ended(second)
  const retry = yield* runOf(second)
  expect(retry).toMatchObject({ status: "error", error: { code: "budget_exceeded" }, attempt: 2 })
  expect(retry).not.toHaveProperty("retry_at")
})

onEngine("a webhook that is switched off, or has no retries any more, tries nothing again", function* () {
  const { seen, webhook } = yield* failing(99, { max_retries: 3, backoff_seconds: 5 })
  for (const fields of [{ enabled: false }, { enabled: true, retries: null }]) {
    yield* edit(webhook.id, { enabled: true, retries: { max_retries: 3, backoff_seconds: 5 } })
    const id = yield* webhook.submit("api")
    yield* ended(id)
    yield* edit(webhook.id, fields)
    yield* advance("8 seconds")
    yield* until(Effect.map(runOf(id), ({ retry_at }) => retry_at === undefined))
    expect(yield* runOf(id)).not.toHaveProperty("retried_by")
  }
  expect(seen).toHaveLength(2)
  expect(yield* replayable(webhook.id)).toHaveLength(2)
})

onEngine("a retry waits for a place in its webhook's queue, and does not hold up those of others", function* () {
  const { leave, webhook, team } = yield* failing(99, { max_retries: 3, backoff_seconds: 5 })
  const other = yield* makeWebhook(team)
  yield* edit(other.id, { retries: { max_retries: 3, backoff_seconds: 6 } })
  const stuck = yield* Effect.forEach(
    Array.from({ length: 60 }, (_, n) => `${n}`),
    (text) => webhook.submit(text)
  )
  const free = yield* other.submit("free")
  for (const id of [...stuck, free]) yield* ended(id)
  yield* leave
  yield* edit(webhook.id, { when_team_stopped: "queue", max_queued: 1 })
  yield* advance("9 seconds")
  yield* retryOf(free)
  const placed = Effect.map(Effect.forEach(stuck, runOf), (runs) => runs.filter((run) => run.retried_by))
  expect((yield* placed).map(({ run_id }) => run_id)).toEqual([stuck[0]])

  yield* edit(webhook.id, { max_queued: 100 })
  yield* advance("12 seconds")
  yield* until(Effect.map(placed, (runs) => runs.length === 60))
  const seen = yield* flaky(team, 0)
  yield* advance("3 seconds")
  yield* until(Effect.sync(() => seen.length === 61))
  expect(seen.filter((text) => text !== "free")).toEqual(stuck.map((_, n) => `${n}`))
})

onEngine("a failed run is not tried again in the team that its webhook was moved to", function* () {
  const { seen, webhook } = yield* failing(99, { max_retries: 3, backoff_seconds: 5 })
  const first = yield* webhook.submit("api")
  yield* ended(first)
  const other = yield* makeTeam("other")
  const seenByOther = yield* flaky(other, 0)
  yield* edit(webhook.id, { team: other })
  yield* advance("5 seconds")
  yield* until(Effect.map(runOf(first), ({ retry_at }) => retry_at === undefined))
  expect(yield* runOf(first)).not.toHaveProperty("retried_by")
  expect([...seen, ...seenByOther]).toEqual(["api"])
})

onPorts("what became due while no server ran is tried again by the next two, once", function* () {
  const { first, webhook, team } = yield* Effect.gen(function* () {
    const { webhook, team } = yield* failing(1, { max_retries: 3, backoff_seconds: 60 })
    const first = yield* webhook.submit("api")
    yield* ended(first)
    return { first, webhook, team }
  }).pipe(Effect.scoped, Effect.provide(Layer.fresh(engine())))
  yield* advance("2 hours")

  const seen = yield* flaky(team, 0)
  yield* Layer.build(Layer.fresh(engine()))
  yield* Layer.build(Layer.fresh(engine()))
  yield* advance("3 seconds")
  const second = yield* retryOf(first)
  yield* ended(second)
  yield* advance("5 seconds")
  expect(seen).toEqual(["api"])
  expect((yield* historyOf(webhook.id)).map(({ status }) => status)).toEqual(["error", "success"])
})
