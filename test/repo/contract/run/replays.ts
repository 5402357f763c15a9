import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { makeWebhookId, runIdAt } from "../../../../src/domain/Id.ts"
import type { Outcome } from "../../../../src/domain/run/Run.ts"
import type { FinalStatus } from "../../../../src/domain/run/RunStatus.ts"
import type { ReplayableQuery } from "../../../../src/repo/history/HistoryStore.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptOne,
  at,
  count,
  createWebhook,
  endOne,
  epoch,
  newMessage,
  outcomes,
  queueRun,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const failed: ReadonlyArray<FinalStatus> = ["error", "timeout"]

/** A request for replays, and the idempotency key of a run that it made. */
const requestOf = (text: string) => ({ keyPrefix: "replay\n", request_hash: Buffer.from(text.padEnd(32)) })

const keyOf = (text: string) => {
  const { keyPrefix, request_hash } = requestOf(text)
  return { idempotency: { key: `${keyPrefix}1`, request_hash, expires_at: at(100_000) } }
}

export const replays = (test: Test): void => {
  test("replays: which run another one repeats, and the runs that repeat one, newest first", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* queueRun(webhook)
    expect(yield* repo.replays(first, 9)).toEqual([])
    const again = [yield* queueRun(webhook, { replay_of: first }), yield* queueRun(webhook, { replay_of: first })]
    yield* queueRun(webhook, { replay_of: again[0]! })
    expect((yield* repo.run(again[0]!)).replay_of).toBe(first)
    expect((yield* repo.run(first)).replay_of).toBeUndefined()
    expect((yield* repo.replays(first, 9)).map(({ run_id, replay_of }) => [run_id, replay_of])).toEqual(
      again.toReversed().map((run_id) => [run_id, first])
    )
    expect(yield* repo.replays(first, 1)).toHaveLength(1)
  })

  test("runsByIds: whole runs, without those that are not there", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const ids = [
      yield* queueRun(webhook),
      yield* queueRun(webhook, { prompt: "x".repeat(5_000), layout: [["service", 5_000]] })
    ]
    const found = yield* repo.runsByIds([...ids, (yield* newMessage()).run_id])
    expect(new Set(found.map(({ run_id }) => run_id))).toEqual(new Set(ids))
    const long = found.find(({ run_id }) => run_id === ids[1])!
    expect(long.conversation.prompt).toHaveLength(5_000)
    expect(long.layout).toEqual([["service", 5_000]])
    expect(found.find(({ run_id }) => run_id === ids[0])!.layout).toBeUndefined()
  })

  test("replayable: a webhook's ended runs by status and time, in the order of acceptance", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const ids = yield* Effect.forEach(["error", "success", "timeout", "cancelled", "error"] as const, (status, n) =>
      Effect.tap(queueRun(webhook, { accepted_at: at(n * 1_000), run_id: runIdAt(epoch + n * 1_000) }), (id) =>
        endOne(id, outcomes[status], 10_000)
      )
    )
    yield* queueRun(webhook)
    yield* Effect.flatMap(queueRun(other), (id) => endOne(id, outcomes.error, 10_000))
    const of = { webhook_id: webhook.id }
    const find = (more: object) => repo.replayable({ of, statuses: failed, limit: 9, ...more })
    expect(yield* find({})).toEqual([ids[0], ids[2], ids[4]])
    expect(yield* find({ statuses: ["cancelled", "success"] })).toEqual([ids[1], ids[3]])
    expect(yield* find({ from: at(1_000), to: at(4_000) })).toEqual([ids[2]])
    expect(yield* find({ limit: 2 })).toEqual([ids[0], ids[2]])
    expect(yield* find({ of: { webhook_id: yield* makeWebhookId } })).toEqual([])
  })

  test("replayable: of all webhooks that point at a team now, and its messages, in the order of acceptance", function* () {
    const repo = yield* Repo
    const webhooks = [yield* createWebhook(), yield* createWebhook(), yield* createWebhook({ team: team("other") })]
    const write = (fields: object, outcome: Outcome = outcomes.error) =>
      Effect.gen(function* () {
        const { run_id } = yield* Effect.tap(newMessage(fields), (message) => acceptOne(message))
        yield* endOne(run_id, outcome, 1)
        return run_id
      })
    const message = yield* write({})
    const ids = yield* Effect.forEach(count(6), (n) =>
      Effect.tap(queueRun(webhooks[n % 3]!), (id) => endOne(id, outcomes.error, 1))
    )
    const late = yield* write({ accepted_at: at(1_000) }, outcomes.timeout)
    yield* write({}, outcomes.success)
    const other = yield* write({ team: team("other") })
    const inTeam = (name: string, more: object = {}) =>
      repo.replayable({ of: { team: team(name) }, statuses: failed, limit: 9, ...more })
    expect(yield* inTeam("ops")).toEqual([message, ids[0], ids[1], ids[3], ids[4], late])
    expect(yield* inTeam("ops", { limit: 2 })).toEqual([message, ids[0]])
    expect(yield* inTeam("ops", { from: at(1_000) })).toEqual([late])
    yield* repo.updateWebhook(webhooks[0]!.id, { team: team("other"), updated_at: at(1) })
    expect(yield* inTeam("ops")).toEqual([message, ids[1], ids[4], late])
    const again = yield* write({ replay_of: message, ...keyOf("one") })
    expect(yield* inTeam("ops")).toEqual([ids[1], ids[4], late, again])
    expect(yield* inTeam("ops", { except: requestOf("one") })).toEqual([message, ids[1], ids[4], late])
    expect(yield* inTeam("other")).toEqual([ids[0], ids[2], ids[3], ids[5], other])
  })

  test("replayable: nothing that another run repeats, as if those with the given key were not there", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [first, second] = yield* Effect.forEach(count(2), () =>
      Effect.tap(queueRun(webhook), (id) => endOne(id, outcomes.error, 1))
    )
    const again = yield* queueRun(webhook, { replay_of: first!, ...keyOf("one") })
    const find = (except?: ReplayableQuery["except"]) =>
      repo.replayable({
        of: { webhook_id: webhook.id },
        statuses: failed,
        limit: 9,
        ...(except !== undefined && { except })
      })
    expect(yield* find()).toEqual([second])
    expect(yield* find(requestOf("one"))).toEqual([first, second])
    expect(yield* find(requestOf("another"))).toEqual([second])
    expect(yield* find({ ...requestOf("one"), keyPrefix: "other\n" })).toEqual([second])
    yield* endOne(again, outcomes.timeout, 2)
    expect(yield* find()).toEqual([second, again])
    expect(yield* find(requestOf("one"))).toEqual([first, second])
  })
}
