import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { NotFound, TeamExists, TeamInUse, TeamUnknown } from "../../src/domain/Errors.ts"
import { makeWebhookId } from "../../src/domain/Id.ts"
import { hashToken, makeToken } from "../../src/engine/Token.ts"
import { Repo } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import { admit, at, makeHook, newMessage, ops, plenty, queue, send, success, takeTerm, team } from "./fixtures.ts"

export const definitions = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo>) => it.live(name, () => withRepo(body))

  describe("teams", () => {
    test(
      "are made once, and listed by name",
      Effect.gen(function* () {
        const repo = yield* Repo
        yield* repo.createTeam(team("b"), at(1))
        const made = yield* repo.createTeam(team("a"), at(2))
        expect(made).toEqual({ team: "a", queued: 0, created_at: at(2) })
        expect(yield* Effect.flip(repo.createTeam(team("b"), at(3)))).toEqual(new TeamExists({ team: team("b") }))
        expect(yield* repo.teams).toEqual([made, { team: "b", queued: 0, created_at: at(1) }])
        expect(yield* Effect.flip(repo.team(team("c")))).toEqual(new NotFound())
      })
    )

    test(
      "count what waits in their lane, and not what was admitted",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        for (let i = 0; i < 3; i++) yield* queue(hook)
        yield* send(hook, yield* takeTerm, at(1))
        expect((yield* repo.team(ops)).queued).toBe(3)
        expect((yield* repo.teams).map((record) => record.queued)).toEqual([3])
      })
    )

    test(
      "cannot be deleted while webhooks point at them or work is not finished",
      Effect.gen(function* () {
        const repo = yield* Repo
        expect(yield* Effect.flip(repo.deleteTeam(ops))).toEqual(new NotFound())
        const hook = yield* makeHook()
        const running = yield* send(hook, yield* takeTerm, at(1))
        const message = yield* newMessage()
        yield* repo.accept(message, plenty)
        expect(yield* Effect.flip(repo.deleteTeam(ops))).toEqual(
          new TeamInUse({ team: ops, webhooks: 1, live_runs: 2 })
        )
        yield* repo.createTeam(team("other"), at(1))
        yield* repo.changeWebhook(hook.id, { team: team("other") }, at(2))
        yield* repo.end(running, success("done"), at(3))
        expect(yield* Effect.flip(repo.deleteTeam(ops))).toEqual(
          new TeamInUse({ team: ops, webhooks: 0, live_runs: 1 })
        )
        yield* repo.end(message.run_id, success("done"), at(3))
        yield* repo.deleteTeam(ops)
        expect(yield* Effect.flip(repo.team(ops))).toEqual(new NotFound())
        // Its chat messages go with it; a webhook's history keeps the name.
        expect(yield* Effect.flip(repo.run(message.run_id))).toEqual(new NotFound())
        expect((yield* repo.run(running)).team).toBe("ops")
      })
    )

    test(
      "that are deleted while a message is accepted never leave a message behind",
      Effect.gen(function* () {
        const repo = yield* Repo
        for (let round = 0; round < 20; round++) {
          const name = team(`team-${round}`)
          yield* repo.createTeam(name, at(0))
          const message = yield* newMessage({ team: name })
          const [accepted, deleted] = yield* Effect.all(
            [Effect.either(repo.accept(message, plenty)), Effect.either(repo.deleteTeam(name))],
            { concurrency: "unbounded" }
          )
          expect([accepted._tag, deleted._tag].sort()).toEqual(["Left", "Right"])
        }
      })
    )
  })

  describe("webhooks", () => {
    test(
      "keep every field, and leave absent ones absent",
      Effect.gen(function* () {
        const repo = yield* Repo
        const full = yield* makeHook({
          name: 'Déploiement ‘$x’ \\ "q" 日本 🚀',
          prompt_template: "{{a}} $& {{b.c}}\n\t%s",
          variables: ["a", "b.c"],
          timeout_seconds: 7,
          max_concurrent: 3
        })
        const { token_hash: _, ...fields } = full
        const webhook = yield* repo.webhook(full.id)
        expect(webhook).toEqual(fields)
        expect(webhook).toEqual({
          id: full.id,
          name: 'Déploiement ‘$x’ \\ "q" 日本 🚀',
          team: "ops",
          prompt_template: "{{a}} $& {{b.c}}\n\t%s",
          variables: ["a", "b.c"],
          timeout_seconds: 7,
          max_concurrent: 3,
          enabled: true,
          token_hint: "…x7Qa",
          created_at: at(0),
          updated_at: at(0)
        })
        const plain = yield* repo.webhook((yield* makeHook()).id)
        expect(Object.keys(plain)).not.toContain("timeout_seconds")
        expect(Object.keys(plain)).not.toContain("last_triggered_at")
      })
    )

    test(
      "keep what text cannot hold as the replacement character",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook({ name: "a\u0000", prompt_template: "\ud800" })
        expect(hook).toMatchObject({ name: "a\ufffd", prompt_template: "\ufffd" })
        const changed = yield* repo.changeWebhook(hook.id, { name: "b\u0000", prompt_template: "\udc00" }, at(1))
        expect(changed).toMatchObject({ name: "b\ufffd", prompt_template: "\ufffd" })
      })
    )

    test(
      "need a team that exists",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const nowhere = { ...hook, id: yield* makeWebhookId, team: team("nowhere"), token_hash: new Uint8Array(32) }
        expect(yield* Effect.flip(repo.createWebhook(nowhere))).toEqual(new TeamUnknown({ team: team("nowhere") }))
        const move = repo.changeWebhook(hook.id, { team: team("nowhere") }, at(1))
        expect(yield* Effect.flip(move)).toEqual(new TeamUnknown({ team: team("nowhere") }))
        const unknown = repo.changeWebhook(yield* makeWebhookId, { name: "x" }, at(1))
        expect(yield* Effect.flip(unknown)).toEqual(new NotFound())
      })
    )

    test(
      "change only in what is given, and null gives a limit back",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook({ timeout_seconds: 7, max_concurrent: 3 })
        const changed = yield* repo.changeWebhook(hook.id, { max_concurrent: null, name: "renamed" }, at(5))
        const { token_hash: _, max_concurrent: __, ...rest } = hook
        expect(changed).toEqual({ ...rest, name: "renamed", updated_at: at(5) })
        const again = yield* repo.changeWebhook(
          hook.id,
          { timeout_seconds: null, max_concurrent: 9, prompt_template: "{{x}}", variables: ["x"], enabled: false },
          at(6)
        )
        expect(again).toMatchObject({ max_concurrent: 9, prompt_template: "{{x}}", variables: ["x"], enabled: false })
        expect(Object.keys(again)).not.toContain("timeout_seconds")
        expect(yield* repo.webhook(hook.id)).toEqual(again)
        expect(yield* repo.limits([hook.id])).toEqual(new Map([[hook.id, 9]]))
      })
    )

    test(
      "are found by their token while it is theirs and they are enabled",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const found = repo.webhookByToken(hook.token_hash)
        expect((yield* found).id).toBe(hook.id)
        yield* repo.changeWebhook(hook.id, { enabled: false }, at(1))
        expect(yield* Effect.flip(found)).toEqual(new NotFound())
        yield* repo.changeWebhook(hook.id, { enabled: true }, at(2))
        expect((yield* found).id).toBe(hook.id)
        const hash = hashToken(yield* makeToken)
        const replaced = yield* repo.replaceToken(hook.id, { hash, hint: "…new1" }, at(3))
        expect(replaced).toMatchObject({ token_hint: "…new1", updated_at: at(3) })
        expect(yield* Effect.flip(found)).toEqual(new NotFound())
        expect((yield* repo.webhookByToken(hash)).id).toBe(hook.id)
        yield* repo.deleteWebhook(hook.id)
        expect(yield* Effect.flip(repo.webhookByToken(hash))).toEqual(new NotFound())
        expect(yield* Effect.flip(repo.replaceToken(hook.id, { hash, hint: "" }, at(4)))).toEqual(new NotFound())
      })
    )

    test(
      "that are asked for at once are each given to the right caller",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hooks = yield* Effect.forEach(Array.from({ length: 20 }), () => makeHook())
        const found = yield* Effect.forEach([...hooks, ...hooks], (hook) => repo.webhookByToken(hook.token_hash), {
          concurrency: "unbounded"
        })
        expect(found.map((webhook) => webhook.id)).toEqual([...hooks, ...hooks].map((hook) => hook.id))
      })
    )

    test(
      "are listed by name, with when they were last triggered",
      Effect.gen(function* () {
        const repo = yield* Repo
        const b = yield* makeHook({ name: "Beta" })
        yield* makeHook({ name: "gamma" })
        yield* makeHook({ name: "alpha" })
        yield* queue(b, { accepted_at: at(10) })
        yield* queue(b, { accepted_at: at(20) })
        const listed = yield* repo.webhooks
        expect(listed.map(({ name, last_triggered_at }) => [name, last_triggered_at])).toEqual([
          ["alpha", undefined],
          ["Beta", at(20)],
          ["gamma", undefined]
        ])
        expect((yield* repo.webhook(b.id)).last_triggered_at).toEqual(at(20))
      })
    )

    test(
      "take their runs with them, and say which were not finished",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const other = yield* makeHook()
        const term = yield* takeTerm
        const [queued, running, ended, kept] = [
          yield* queue(hook),
          yield* send(hook, term, at(1)),
          yield* send(hook, term, at(1)),
          yield* queue(other)
        ]
        yield* repo.end(ended, success("done"), at(2))
        expect([...(yield* repo.deleteWebhook(hook.id))].sort()).toEqual([queued, running].sort())
        expect((yield* repo.ended([queued, running, ended, kept])).gone.toSorted()).toEqual(
          [queued, running, ended].sort()
        )
        expect(yield* Effect.flip(repo.deleteWebhook(hook.id))).toEqual(new NotFound())
        expect((yield* repo.lane(ops, 10)).map((run) => run.run_id)).toEqual([kept])
        expect(yield* repo.inFlight).toEqual([])
        expect(yield* admit(queued, term)).toBe(false)
        expect(yield* repo.end(running, success("late"), at(3))).toEqual({ recorded: false, run: Option.none() })
      })
    )
  })

  describe("the admin key", () => {
    test(
      "stands as the first one gave it",
      Effect.gen(function* () {
        const repo = yield* Repo
        expect(yield* repo.adminKeyHash).toEqual(Option.none())
        const claims = yield* Effect.forEach([1, 2, 3, 4], (n) => repo.claimAdminKeyHash(new Uint8Array(32).fill(n)), {
          concurrency: "unbounded"
        })
        const stands = Option.getOrThrow(yield* repo.adminKeyHash)
        expect(stands).toHaveLength(32)
        for (const claim of claims) expect([...claim]).toEqual([...stands])
      })
    )
  })
}
