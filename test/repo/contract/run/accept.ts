import { expect } from "@effect/vitest"
import { Duration, Effect, Result } from "effect"
import { NotFound, TooManyQueued } from "../../../../src/domain/Errors.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { type NewRun, WebhookEdited } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptAll,
  acceptOne,
  admitNext,
  at,
  count,
  createWebhook,
  drain,
  endOne,
  keyed,
  newMessage,
  newRun,
  newTokenHash,
  ops,
  step,
  team,
  timeout,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const accepted = { _tag: "Accepted" } as const

export const accept = (test: Test): void => {
  test("stores a run as it was given", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const variables = JSON.parse(
      '{"z":1,"a":"𝄞 \\u0000 \\"","__proto__":{"x":[1.5,null,true]},"constructor":"","10":"ten"}'
    )
    const prompt = "Zeile 1\nЗапуск $1 'x' \\ \u0001"
    const run = yield* newRun(webhook, {
      mode: "wait",
      title: "Zeile",
      prompt,
      variables,
      timeout: Duration.seconds(7),
      deadline_at: at(5_000),
      accepted_at: at(123)
    })
    expect(yield* acceptOne(run)).toEqual(accepted)
    const stored = yield* repo.run(run.run_id)
    expect(stored).toEqual({
      run_id: run.run_id,
      source: "webhook",
      webhook_id: webhook.id,
      webhook_version: 1,
      team: "ops",
      mode: "wait",
      status: "queued",
      accepted_at: at(123),
      title: "Zeile",
      variables,
      conversation: { prompt }
    })
    expect(JSON.stringify(stored.variables)).toBe(JSON.stringify(variables))
    const { admitted } = yield* step({ teams: [ops] })
    expect(admitted).toMatchObject([{ prompt, timeout_ms: 7_000, deadline_at: at(5_000) }])
    const message = yield* newMessage()
    yield* acceptOne(message)
    expect(Object.keys(yield* repo.run(message.run_id))).not.toContain("webhook_id")
  })

  test("refuses a webhook that is disabled, deleted or has another token, and a team that is gone", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const refused = Effect.fnUntraced(function* (run: NewRun) {
      expect(yield* Effect.flip(acceptOne(run))).toEqual(new NotFound())
      expect(yield* Effect.flip(repo.run(run.run_id))).toEqual(new NotFound())
    })
    yield* repo.updateWebhook(webhook.id, { enabled: false, updated_at: at(1) })
    yield* refused(yield* newRun(webhook))
    yield* repo.updateWebhook(webhook.id, { enabled: true, updated_at: at(2) })
    const { version } = yield* repo.webhookRow(webhook.id)
    yield* acceptOne(yield* newRun({ ...webhook, version }))
    const token_hash = yield* newTokenHash
    yield* repo.updateWebhook(webhook.id, { token_hash, updated_at: at(3) })
    yield* refused(yield* newRun(webhook))
    yield* repo.deleteWebhook(webhook.id)
    yield* refused(yield* newRun({ ...webhook, token_hash }))
    yield* refused(yield* newMessage({ team: team("nowhere") }))
  })

  test("refuses a run that was made from an earlier version of its webhook, also one that repeats an earlier run", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* keyed(webhook, "key")
    expect(yield* acceptOne(first)).toEqual(accepted)
    yield* repo.updateWebhook(webhook.id, { prompt_template: "Deploy {{service}} now", updated_at: at(1) })
    expect(yield* Effect.flip(acceptOne(yield* newRun(webhook)))).toEqual(new WebhookEdited())
    expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "key")))).toEqual(new WebhookEdited())
    const { version } = yield* repo.webhookRow(webhook.id)
    const again = yield* keyed({ ...webhook, version }, "key")
    expect(yield* acceptOne(again)).toMatchObject({ run: { run_id: first.run_id } })
    expect(yield* acceptOne(yield* newRun({ ...webhook, version }))).toEqual(accepted)
    expect((yield* repo.queued(10)).all).toBe(2)
  })

  test("refuses only the runs that are to be refused, of those in one call", function* () {
    const repo = yield* Repo
    const good = yield* createWebhook()
    const bad = yield* createWebhook({ enabled: false })
    const runs = yield* Effect.forEach(count(60), (i) => newRun(i % 3 === 0 ? bad : good))
    const answers = yield* acceptAll(runs)
    expect(answers).toEqual(
      count(60).map((i) => (i % 3 === 0 ? Result.fail(new NotFound()) : Result.succeed(accepted)))
    )
    expect((yield* repo.queued(100)).all).toBe(40)
    expect(yield* acceptAll([])).toEqual([])
  })

  test("puts runs into the lane in the order in which they are given, and each caller's calls in theirs", function* () {
    const webhook = yield* createWebhook()
    const newRuns = Effect.forEach(count(10), () => newRun(webhook))
    const group = yield* newRuns
    const callers = yield* Effect.forEach(count(10), () => newRuns)
    yield* acceptAll(group)
    yield* Effect.forEach(callers, (runs) => Effect.forEach(runs, (run) => acceptOne(run)), together)
    const lane = yield* drain()
    expect(lane).toHaveLength(110)
    expect(lane.slice(0, 10)).toEqual(group.map((run) => run.run_id))
    for (const runs of callers) {
      const places = runs.map((run) => lane.indexOf(run.run_id))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
    }
  })

  test("takes exactly as many as may wait, and more when one has left", function* () {
    const webhook = yield* createWebhook()
    const limit = { maxQueued: 5 }
    const full = Result.fail(new TooManyQueued({ of: "server", limit: 5 }))
    const answers = yield* acceptAll(yield* Effect.forEach(count(20), () => newRun(webhook)), limit)
    expect(answers).toEqual(count(20).map((i) => (i < 5 ? Result.succeed(accepted) : full)))
    const another = yield* newMessage()
    expect(yield* acceptAll([another], limit)).toEqual([full])
    yield* admitNext()
    expect(yield* acceptOne(another, limit)).toEqual(accepted)
    yield* endOne(another.run_id, timeout, 9)
    expect(yield* acceptOne(yield* newMessage(), limit)).toEqual(accepted)
    expect(yield* acceptAll([yield* newMessage()], limit)).toEqual([full])
  })

  test("counts the runs that wait only when it is asked to", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [first, second, third] = [yield* newRun(webhook), yield* newRun(webhook), yield* newRun(webhook)]
    yield* acceptAll([first], { maxQueued: 1 })
    const answers = yield* acceptAll([second], { maxQueued: 1, countQueued: false })
    expect(answers.map(Result.getOrThrow)).toEqual([accepted])
    expect(yield* Effect.flip(acceptOne(third, { maxQueued: 1 }))).toEqual(
      new TooManyQueued({ of: "server", limit: 1 })
    )
    expect([yield* repo.queued(1), yield* repo.queued(10)]).toMatchObject([{ all: 1 }, { all: 2 }])
  })
}
