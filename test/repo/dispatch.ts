import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, type Scope, Stream } from "effect"
import { makeRunId } from "../../src/domain/Id.ts"
import { type Change, Repo } from "../../src/repo/Repo.ts"
import type { WithRepo } from "./contract.ts"
import {
  admit,
  at,
  makeHook,
  newMessage,
  ops,
  plenty,
  queue,
  send,
  statusOf,
  success,
  takeTerm,
  team
} from "./fixtures.ts"

export const dispatch = (withRepo: WithRepo): void => {
  const test = (name: string, body: Effect.Effect<unknown, unknown, Repo | Scope.Scope>) =>
    it.live(name, () => withRepo(body))

  describe("lanes", () => {
    test(
      "hold each team's runs and messages in order of acceptance",
      Effect.gen(function* () {
        const repo = yield* Repo
        expect(yield* repo.lanes).toEqual([])
        const first = yield* makeHook({ name: "first", max_concurrent: 2 })
        const second = yield* makeHook({ name: "second" })
        const elsewhere = yield* makeHook({ team: team("a") })
        const message = yield* newMessage({ prompt: "Hello" })
        const ids = [yield* queue(first), yield* queue(second)]
        yield* queue(elsewhere)
        yield* repo.accept(message, plenty)
        ids.push(message.run_id, yield* queue(first, { mode: "wait", deadline_at: at(9) }))
        expect(yield* repo.lanes).toEqual(["a", "ops"])
        expect((yield* repo.lane(ops, 10)).map((run) => run.run_id)).toEqual(ids)
        expect((yield* repo.lane(ops, 2)).map((run) => run.run_id)).toEqual(ids.slice(0, 2))
        const [of_first, of_second, chat, waiting] = yield* repo.lane(ops, 10)
        expect(of_first).toEqual({
          run_id: ids[0],
          source: "webhook",
          webhook: { id: first.id, name: "first", max_concurrent: 2 },
          team: "ops",
          mode: "async",
          prompt: "Deploy api",
          timeout_ms: 60_000,
          status: "queued",
          admitted: false
        })
        expect(of_second?.webhook).toEqual({ id: second.id, name: "second" })
        expect(Object.keys(chat!)).not.toContain("webhook")
        expect(waiting).toMatchObject({ mode: "wait", deadline_at: at(9) })
        yield* repo.changeWebhook(first.id, { max_concurrent: 7, name: "renamed" }, at(1))
        expect((yield* repo.lane(ops, 1))[0]?.webhook).toEqual({ id: first.id, name: "renamed", max_concurrent: 7 })
      })
    )

    test(
      "lose what is admitted to the flight",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const ids = [yield* queue(hook), yield* queue(hook), yield* queue(hook)] as const
        const term = yield* takeTerm
        expect(yield* admit(ids[1], term)).toBe(true)
        expect(yield* admit(ids[0], term)).toBe(true)
        expect(yield* admit(ids[0], term)).toBe(true)
        yield* repo.sent(ids[0], at(100))
        yield* repo.started(ids[0], at(200))
        expect((yield* repo.lane(ops, 9)).map((run) => run.run_id)).toEqual([ids[2]])
        expect((yield* repo.inFlight).map(({ run_id, status, admitted }) => [run_id, status, admitted])).toEqual([
          [ids[0], "running", true],
          [ids[1], "queued", true]
        ])
      })
    )

    test(
      "do not admit what has ended",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const id = yield* send(hook, term, at(1))
        yield* repo.end(id, success("done"), at(2))
        expect(yield* statusOf(id)).toBe("success")
        expect(yield* repo.lanes).toEqual([])
        expect(yield* admit(id, term)).toBe(false)
      })
    )

    test(
      "admit a hundred at once, and none that has ended, was sent or is unknown",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const ids = yield* Effect.forEach(Array.from({ length: 100 }), () => queue(hook))
        yield* repo.end(ids[7]!, { status: "timeout" }, at(1))
        yield* admit(ids[8]!, term)
        yield* repo.sent(ids[8]!, at(1))
        const unknown = yield* makeRunId
        const admitted = yield* Effect.forEach([...ids, unknown], (id) => admit(id, term), {
          concurrency: "unbounded"
        })
        expect(admitted).toEqual([...ids.map((_, i) => i !== 7 && i !== 8), false])
        expect(yield* repo.inFlight).toHaveLength(99)
      })
    )
  })

  describe("the clock", () => {
    test(
      "of a fire-and-forget run starts when it is sent, and anew when it starts",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const id = yield* queue(hook, { timeout_ms: 1_000 })
        yield* admit(id, yield* takeTerm)
        yield* repo.sent(id, at(100))
        const deadline = Effect.map(repo.inFlight, (flight) => flight[0]?.deadline_at)
        expect(yield* deadline).toEqual(at(1_100))
        yield* repo.started(id, at(700))
        expect(yield* deadline).toEqual(at(1_700))
        yield* repo.started(id, at(900))
        expect(yield* deadline).toEqual(at(1_700))
        expect(yield* repo.run(id)).toMatchObject({ status: "running", sent_at: at(100), started_at: at(700) })
      })
    )

    test(
      "of a run that waits never moves",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const id = yield* send(hook, yield* takeTerm, at(100), { mode: "wait", deadline_at: at(5_000) })
        yield* repo.started(id, at(200))
        expect((yield* repo.inFlight)[0]?.deadline_at).toEqual(at(5_000))
      })
    )

    test(
      "is right when the leader's word overtakes the broker's",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const term = yield* takeTerm
        const id = yield* queue(hook, { timeout_ms: 1_000 })
        yield* admit(id, term)
        yield* repo.started(id, at(50))
        yield* repo.sent(id, at(60))
        expect(yield* repo.run(id)).toMatchObject({ status: "running", sent_at: at(50), started_at: at(50) })
        expect((yield* repo.inFlight)[0]?.deadline_at).toEqual(at(1_050))
        const ended = yield* queue(hook)
        yield* admit(ended, term)
        yield* repo.end(ended, success("quick"), at(70))
        const before = yield* repo.run(ended)
        yield* repo.sent(ended, at(80))
        yield* repo.started(ended, at(80))
        expect(yield* repo.run(ended)).toEqual(before)
        expect(before.status).toBe("success")
      })
    )

    test(
      "is not started for a run that is back in its lane",
      Effect.gen(function* () {
        const repo = yield* Repo
        const id = yield* queue(yield* makeHook())
        yield* repo.sent(id, at(1))
        yield* repo.started(id, at(2))
        expect((yield* repo.lane(ops, 1))[0]).toMatchObject({ run_id: id, status: "queued", admitted: false })
      })
    )
  })

  describe("changes", () => {
    test(
      "tell of acceptance, start, end, edits and the freed lease",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const seen: Array<Change> = []
        const wanted: ReadonlyArray<Change["_tag"]> = [
          "RunAccepted",
          "RunStarted",
          "RunEnded",
          "WebhookChanged",
          "LeaseReleased"
        ]
        const changes = yield* repo.changes
        const reader = yield* Effect.fork(
          Stream.runForEachWhile(Stream.fromQueue(changes), (change) => {
            seen.push(change)
            return Effect.succeed(!wanted.every((tag) => seen.some((change) => change._tag === tag)))
          })
        )
        const term = yield* takeTerm
        const id = yield* send(hook, term, at(1))
        yield* repo.started(id, at(2))
        yield* repo.end(id, success("done"), at(3))
        yield* repo.changeWebhook(hook.id, { name: "renamed" }, at(4))
        yield* repo.releaseLease(term)
        expect(Exit.isSuccess(yield* Fiber.await(reader))).toBe(true)
        expect(seen).toContainEqual({ _tag: "RunAccepted", team: "ops" })
        expect(seen).toContainEqual({ _tag: "RunStarted", run_id: id })
        expect(seen).toContainEqual({ _tag: "RunEnded", run_id: id })
        expect(seen).toContainEqual({ _tag: "WebhookChanged", webhook_id: hook.id })
      })
    )

    test(
      "name every run of a deleted webhook, however many they are",
      Effect.gen(function* () {
        const repo = yield* Repo
        const hook = yield* makeHook()
        const ids = yield* Effect.forEach(Array.from({ length: 250 }), () => queue(hook), { concurrency: "unbounded" })
        const changes = yield* repo.changes
        const reader = yield* Stream.fromQueue(changes).pipe(
          Stream.filterMap((change) => (change._tag === "RunEnded" ? Option.some(change.run_id) : Option.none())),
          Stream.take(250),
          Stream.runCollect,
          Effect.fork
        )
        yield* repo.deleteWebhook(hook.id)
        expect([...(yield* Fiber.join(reader))].sort()).toEqual(ids.toSorted())
      })
    )
  })
}
