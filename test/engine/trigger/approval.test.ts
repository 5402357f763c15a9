/** Webhooks whose runs wait for a person's approval. */

import { Clock, DateTime, Effect, Exit, Layer, Scope } from "effect"
import type { RunId } from "../../../src/domain/Id.ts"
import type { Decision } from "../../../src/domain/webhook/Approvers.ts"
import * as Signature from "../../../src/engine/egress/Signature.ts"
import { Approvals } from "../../../src/engine/manage/Approvals.ts"
import { actionPrefix } from "../../../src/engine/slack/Buttons.ts"
import { Trigger } from "../../../src/engine/trigger/Trigger.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import {
  echo,
  engine,
  engineInMemory,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onEngineWith,
  ports,
  statusOf,
  until
} from "../Scenario.ts"

const needsApproval = { approval: "required" } as const

const decide = (id: RunId, decision: Decision, name = "Ann") =>
  Effect.flatMap(Approvals, (approvals) =>
    approvals.decide(id, decision, { id: name, name, role: "operator", entries: [] })
  )

const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))

describe("a webhook whose runs need approval", () => {
  onEngine("lets later runs of its team pass, holds no slot, and sends a run once it is approved", function* () {
    const team = yield* makeTeam("deploy")
    const guarded = yield* makeWebhook(team, needsApproval)
    const plain = yield* makeWebhook(team)
    const seen = yield* echo(team)
    const [first, second] = [yield* guarded.submit("first"), yield* guarded.submit("second")]
    expect(yield* plain.ask("later")).toMatchObject({ status: "success" })
    expect(yield* inFlight).toBe(0)
    expect(yield* decide(second, "approve")).toMatchObject({ decided_by: "Ann" })
    yield* until(Effect.sync(() => seen.length === 2))
    expect(seen).toEqual(["later", "second"])
    expect(yield* decide(first, "deny")).toMatchObject({
      ...{ status: "cancelled", cancelled_by: "denied", decided_by: "Ann" }
    })
    expect((yield* guarded.ask("in vain").pipe(Effect.flip))._tag).toBe("InvalidParameter")
  })

  onEngine(
    "is approved for the commit that the request names beside a branch, and its agent gets no other",
    function* () {
      const team = yield* makeTeam("deploy")
      const settings = { input: "payload", workspace_ref: "{{payload.head.ref}}", prompt_template: "go" } as const
      const sha = "5f0c2a9be1d47f36a1b2c3d4e5f60718293a4b5c"
      const submit = Effect.fnUntraced(function* (more: object) {
        const { id } = yield* makeWebhook(team, { ...settings, ...more })
        const trigger = yield* Trigger
        const request = { variables: { payload: { head: { ref: "main", sha } } }, wait: false }
        const sent = yield* trigger.trigger(yield* trigger.open(id), { ...request, received_at: yield* DateTime.now })
        return yield* runOf((sent as { readonly run_id: RunId }).run_id)
      })
      const leader = yield* lead(team)
      const asked = yield* submit(needsApproval)
      expect(asked.agent).toEqual({ workspace_ref: sha, workspace_exact: true })
      yield* decide(asked.run_id, "approve")
      expect((yield* leader.next).prompt.agent).toEqual(asked.agent)
      expect((yield* submit({ ...needsApproval, workspace_ref: "main" })).agent).toEqual({ workspace_ref: "main" })
      expect((yield* submit({})).agent).toEqual({ workspace_ref: "main" })
    }
  )

  onEngine("takes the first decision alone", function* () {
    const webhook = yield* makeWebhook(yield* makeTeam("deploy"), { ...needsApproval, when_team_stopped: "queue" })
    const id = yield* webhook.submit("once")
    const decisions = ["approve", "deny", "approve", "deny"] as const
    const all = yield* Effect.forEach(decisions, (decision, n) => Effect.result(decide(id, decision, `${n}`)), {
      concurrency: "unbounded"
    })
    const { decided_by, status } = yield* runOf(id)
    expect(all.map(({ _tag }) => _tag).sort()).toEqual(["Failure", "Failure", "Failure", "Success"])
    expect(all[Number(decided_by)]!._tag).toBe("Success")
    expect(status).toBe(decisions[Number(decided_by)] === "deny" ? "cancelled" : "queued")
  })

  onEngine(
    "cancels a run that nobody approved within 7 days, and waits for a leader from the approval on",
    function* () {
      const team = yield* makeTeam("deploy")
      const webhook = yield* makeWebhook(team, {
        ...needsApproval,
        ...{ when_team_stopped: "queue", queue_for_seconds: 20 }
      })
      const [forgotten, late] = [yield* webhook.submit("forgotten"), yield* webhook.submit("late")]
      yield* decide(late, "approve")
      yield* advance("18 seconds")
      expect(yield* statusOf(late)).toBe("queued")
      yield* advance("5 seconds")
      expect(yield* statusOf(late)).toBe("error")
      const expired = Effect.fnUntraced(function* (days: number) {
        const runs = yield* (yield* Repo).expireApprovals(DateTime.add(yield* DateTime.now, { days }))
        return runs.map(({ run_id }) => run_id)
      })
      expect(yield* expired(6)).toEqual([])
      expect(yield* statusOf(forgotten)).toBe("queued")
      expect(yield* expired(7)).toEqual([forgotten])
      expect(yield* runOf(forgotten)).toMatchObject({ status: "cancelled", cancelled_by: "approval_expired" })
    }
  )

  onEngine("refuses a decision after the end of its time, also before the tick has cancelled it", function* () {
    const webhook = yield* makeWebhook(yield* makeTeam("deploy"), { ...needsApproval, when_team_stopped: "queue" })
    const id = yield* webhook.submit("late")
    const repo = yield* Repo
    const at = (yield* runOf(id)).held_until!
    for (const approves of [true, false]) expect(yield* repo.decide(id, { approves, at, by: "Ann" })).toBeUndefined()
    expect(yield* statusOf(id)).toBe("queued")
    const clock = yield* Clock.Clock
    const late = Object.assign(Object.create(clock), {
      currentTimeMillis: Effect.succeed(at.epochMilliseconds),
      unsafeCurrentTimeMillis: () => at.epochMilliseconds
    })
    expect(yield* Effect.flip(Effect.provideService(decide(id, "approve"), Clock.Clock, late))).toMatchObject({
      _tag: "ApprovalOver",
      status: "cancelled"
    })
    expect(yield* runOf(id)).toMatchObject({ cancelled_by: "approval_expired" })
  })

  it.effect.each(["last", "all"] as const)(
    "asks for a combined run when its window has closed (collect: %s)",
    (collect) =>
      Effect.gen(function* () {
        const team = yield* makeTeam("deploy")
        const webhook = yield* makeWebhook(team, { ...needsApproval, coalesce: { key: "text", within: 10, collect } })
        const seen = yield* echo(team)
        const id = yield* webhook.submit("a")
        expect(yield* webhook.submit("a")).toBe(id)
        expect((yield* Effect.flip(decide(id, "approve")))._tag).toBe("ApprovalOver")
        yield* advance("11 seconds")
        expect(yield* runOf(id)).toMatchObject({ status: "queued", joined: 1 })
        expect(seen).toEqual([])
        yield* decide(id, "approve")
        yield* until(Effect.sync(() => seen.length === 1))
      }).pipe(Effect.provide(engineInMemory()))
  )

  onEngine("asks for a combined run as soon as one of its requests needs approval", function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team, { coalesce: { key: "text", within: 10 } })
    const seen = yield* echo(team)
    const id = yield* webhook.submit("a")
    yield* (yield* Repo).updateWebhook(webhook.id, { ...needsApproval, updated_at: yield* DateTime.now })
    expect(yield* webhook.submit("a")).toBe(id)
    yield* advance("11 seconds")
    expect(yield* runOf(id)).toMatchObject({ status: "queued", joined: 1, held_for: "approval" })
    expect(seen).toEqual([])
    expect(yield* (yield* Repo).oldestQueued).toEqual(new Map())
    yield* decide(id, "approve")
    yield* until(Effect.sync(() => seen.length === 1))
  })

  onEngineWith({ maxQueued: 2, maxConcurrent: 1 })(
    "does not count as work that is late, nor hides later runs from those who follow the team",
    function* () {
      const team = yield* makeTeam("deploy")
      const [guarded, plain] = [
        yield* makeWebhook(team, { ...needsApproval, when_team_stopped: "queue" }),
        yield* makeWebhook(team, { when_team_stopped: "queue", max_queued: 2 })
      ]
      const [undecided, queued] = [yield* guarded.submit("undecided"), yield* plain.submit("queued")]
      const repo = yield* Repo
      const since = (yield* runOf(undecided)).accepted_at
      const states = yield* repo.states({ run_ids: [], teams: [team], since, limit: 1 })
      expect(states.map(({ run_id }) => run_id)).toEqual([undecided, queued])
      yield* advance("1 second")
      yield* plain.submit("later")
      expect(yield* repo.oldestQueued).toEqual(new Map([[team, (yield* runOf(queued)).accepted_at]]))
    }
  )

  onEngine("is not decided by a click for a webhook that was deleted in the meantime", function* () {
    const team = yield* makeTeam("deploy")
    const id = yield* (yield* makeWebhook(team, { ...needsApproval, when_team_stopped: "queue" })).submit("guarded")
    const clicks = yield* makeWebhook(team, { input: "payload", verification: { preset: "slack" } })
    const trigger = yield* Trigger
    const repo = yield* Repo
    const sign = yield* Signature.make
    const actions = [{ action_id: `${actionPrefix}0`, value: `${id} approve ${sign(`click ${id} approve`)}` }]
    const payload = { type: "block_actions", actions, user: { id: "UANN" } }
    const request = { variables: { payload }, received_at: yield* DateTime.now, wait: false, isVerified: true }
    const stale = yield* trigger.open(clicks.id)
    yield* repo.deleteWebhook(clicks.id)
    const click = trigger.triggerRead(stale, () => Effect.succeed(request))
    expect((yield* Effect.flip(click))._tag).toBe("NotFound")
    expect((yield* runOf(id)).decided_by).toBeUndefined()
  })

  it.effect("keeps an approval that was confirmed when its server ends before it sends anything", function* () {
    const kept = yield* Layer.build(ports)
    const start = (scope: Scope.Scope) =>
      Layer.buildWithScope(Layer.provide(engine(), Layer.succeedContext(kept)), scope)
    const first = yield* Scope.make()
    const running = yield* start(first)
    const [id, seen] = yield* Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      const webhook = yield* makeWebhook(team, needsApproval)
      const seen = yield* echo(team)
      return [yield* webhook.submit("kept"), seen] as const
    }).pipe(Effect.provide(running), Effect.provide(kept))
    yield* Scope.close(first, Exit.void)
    yield* Effect.gen(function* () {
      yield* (yield* Repo).decide(id, { approves: true, at: yield* DateTime.now, by: "Ann" })
      expect(seen).toEqual([])
      yield* start(yield* Effect.scope)
      yield* advance("3 seconds")
      yield* until(Effect.sync(() => seen.length === 1))
      expect(yield* runOf(id)).toMatchObject({ decided_by: "Ann" })
    }).pipe(Effect.provide(kept))
  })
})
