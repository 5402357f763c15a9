import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { NotFound, TeamExists, TeamInUse } from "../../../../src/domain/Errors.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptOne,
  at,
  count,
  createWebhook,
  endOne,
  newMessage,
  ops,
  queueRun,
  sendRun,
  success,
  team,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const teamStore = (test: Test): void => {
  test("creates a team once, and lists teams by name", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(team("b"), at(1))
    const created = yield* repo.createTeam(team("a"), at(2))
    expect(created).toEqual({ team: "a", queued: 0, created_at: at(2) })
    expect(yield* Effect.flip(repo.createTeam(team("b"), at(3)))).toEqual(new TeamExists({ team: team("b") }))
    expect(yield* repo.teams).toEqual([created, { team: "b", queued: 0, created_at: at(1) }])
    expect(yield* repo.team(team("a"))).toEqual(created)
    expect(yield* Effect.flip(repo.team(team("c")))).toEqual(new NotFound())
  })

  test("counts what waits in a team's lane, and not what was admitted", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    expect(yield* repo.oldestQueued).toEqual(new Map())
    yield* sendRun(webhook, 1)
    for (const i of count(3)) yield* queueRun(webhook, { accepted_at: at(i) })
    expect((yield* repo.team(ops)).queued).toBe(3)
    expect(yield* repo.oldestQueued).toEqual(new Map([[ops, at(0)]]))
    expect((yield* repo.teams).map((record) => record.queued)).toEqual([3])
  })

  test("refuses to delete a team while webhooks point at it or work for it is not finished", function* () {
    const repo = yield* Repo
    expect(yield* Effect.flip(repo.deleteTeam(ops))).toEqual(new NotFound())
    const webhook = yield* createWebhook()
    const running = yield* sendRun(webhook, 1)
    const message = yield* newMessage()
    yield* acceptOne(message)
    expect(yield* Effect.flip(repo.deleteTeam(ops))).toEqual(new TeamInUse({ team: ops, webhooks: 1, live_runs: 2 }))
    yield* repo.createTeam(team("other"), at(1))
    yield* repo.updateWebhook(webhook.id, { team: team("other"), updated_at: at(2) })
    yield* endOne(running, success("done"), 3)
    expect(yield* Effect.flip(repo.deleteTeam(ops))).toEqual(new TeamInUse({ team: ops, webhooks: 0, live_runs: 1 }))
    yield* endOne(message.run_id, success("done"), 3)
    yield* repo.deleteTeam(ops)
    expect(yield* Effect.flip(repo.team(ops))).toEqual(new NotFound())
    // Its chat messages go with it; a webhook's history keeps the name.
    expect(yield* Effect.flip(repo.run(message.run_id))).toEqual(new NotFound())
    expect((yield* repo.run(running)).team).toBe("ops")
  })

  test("leaves no message behind when a team is deleted while one is accepted", function* () {
    const repo = yield* Repo
    for (const round of count(20)) {
      const name = team(`team-${round}`)
      yield* repo.createTeam(name, at(0))
      const message = yield* newMessage({ team: name })
      const [accepted, deleted] = yield* Effect.all(
        [Effect.result(acceptOne(message)), Effect.result(repo.deleteTeam(name))],
        together
      )
      expect([accepted._tag, deleted._tag].sort()).toEqual(["Failure", "Success"])
    }
  })
}
