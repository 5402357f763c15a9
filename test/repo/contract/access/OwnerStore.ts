import { expect } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { GrantLimits } from "../../../../src/domain/access/Grant.ts"
import { makeRunId, makeWebhookId, ThreadId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { acceptOne, at, createWebhook, newMessage, ops, queueRun, team } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const other = team("other")

export const ownerStore = (test: Test): void => {
  test("says which webhooks, runs and threads belong to teams", function* () {
    const repo = yield* Repo
    const hook = yield* createWebhook({ team: ops })
    yield* repo.createTeam(other, at(0))
    const run_id = yield* queueRun(hook)
    const message = yield* newMessage({ team: other, thread_key: "shop#7" })
    yield* acceptOne(message)
    const [thread] = (yield* repo.threads({ team: other, limit: 1 })).data
    const objects = [
      { webhook_id: hook.id },
      { run_id },
      { run_id: message.run_id },
      { thread_id: thread!.id },
      { webhook_id: yield* makeWebhookId },
      { run_id: yield* makeRunId },
      { thread_id: ThreadId.make(yield* makeRunId) }
    ]
    const owned = (teams: ReadonlyArray<typeof ops>) => Effect.forEach(objects, (each) => repo.isOwned(each, { teams }))
    const unknown = [false, false, false]
    expect(yield* owned([ops])).toEqual([true, true, false, false, ...unknown])
    expect(yield* owned([other])).toEqual([false, false, true, true, ...unknown])
    expect(yield* owned([other, ops])).toEqual([true, true, true, true, ...unknown])
    expect(yield* owned([team("none")])).toEqual([false, false, false, false, ...unknown])
    const ids = [run_id, message.run_id, yield* makeRunId]
    expect(yield* repo.ownedRuns(ids, { teams: [ops] })).toEqual(new Set([run_id]))
    expect(yield* repo.teamsOf([hook.id, yield* makeWebhookId])).toEqual(new Map([[hook.id, ops]]))
  })

  test("counts the runs of a webhook that was moved to another team for keys of both teams only", function* () {
    const repo = yield* Repo
    const hook = yield* createWebhook({ team: ops })
    yield* repo.createTeam(other, at(0))
    const run_id = yield* queueRun(hook)
    yield* repo.updateWebhook(hook.id, { team: other, updated_at: at(1) })
    for (const teams of [[ops], [other]]) {
      expect(yield* repo.isOwned({ run_id }, { teams })).toBe(false)
      expect(yield* repo.ownedRuns([run_id], { teams })).toEqual(new Set())
    }
    expect(yield* repo.isOwned({ run_id }, { teams: [ops, other] })).toBe(true)
    expect(Option.fromNullishOr((yield* repo.teamsOf([hook.id])).get(hook.id))).toEqual(Option.some(other))
  })

  test("limits to webhooks by their IDs, and to runs by who started them", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* createWebhook({ team: ops }), yield* createWebhook({ team: ops })]
    const [own, theirs, nobodys] = [
      yield* queueRun(one, { triggered_by: "a key" }),
      yield* queueRun(one, { triggered_by: "another key" }),
      yield* queueRun(one)
    ]
    yield* acceptOne(yield* newMessage({ team: ops, thread_key: "shop#7", triggered_by: "a key" }))
    const [thread] = (yield* repo.threads({ team: ops, limit: 1 })).data
    const objects = [
      ...[{ webhook_id: one.id }, { webhook_id: two.id }, { run_id: own }, { run_id: theirs }],
      ...[{ run_id: nobodys }, { thread_id: thread!.id }]
    ]
    const owned = (limits: GrantLimits) => Effect.forEach(objects, (each) => repo.isOwned(each, limits))
    expect(yield* owned({})).toEqual([true, true, true, true, true, true])
    expect(yield* owned({ webhooks: [one.id] })).toEqual([true, false, true, true, true, true])
    expect(yield* owned({ triggered_by: "a key" })).toEqual([true, true, true, false, false, false])
    const both = { triggered_by: "a key", teams: [other], webhooks: [one.id] }
    expect(yield* owned(both)).toEqual([false, false, false, false, false, false])
    const ids = [own, theirs, nobodys]
    expect(yield* repo.ownedRuns(ids, { triggered_by: "a key" })).toEqual(new Set([own]))
    expect(yield* repo.ownedRuns(ids, both)).toEqual(new Set())
  })
}
