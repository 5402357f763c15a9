import { expect } from "@effect/vitest"
import { Duration, Effect, Either } from "effect"
import { IdempotencyKeyReused, NotFound, TooManyQueued } from "../../../domain/Errors.ts"
import type { RunId } from "../../../domain/Id.ts"
import { Repo } from "../../Repo.ts"
import { type NewRun, WebhookEdited } from "../../RunStore.ts"
import {
  acceptOne,
  acquireTerm,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  newMessage,
  newRun,
  newTokenHash,
  ops,
  sendRun,
  success,
  type Target,
  team,
  timeout,
  together,
  unlimited
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const accepted = { _tag: "Accepted", admitted: false } as const
const admitted = { _tag: "Accepted", admitted: true } as const

/** An idempotency key, which is free again after a second. */
const withKey = (key: string, request = 1) => ({
  idempotency: { key, request_hash: new Uint8Array(32).fill(request), expires_at: at(1_000) }
})
const keyed = (target: Target, key: string, request = 1, fields: Partial<NewRun> = {}) =>
  newRun(target, { ...withKey(key, request), ...fields })

export const accept = (test: Test): void => {
  test(
    "stores a run as it was given",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const variables = JSON.parse(
        '{"z":1,"a":"𝄞 \\u0000 \\"","__proto__":{"x":[1.5,null,true]},"constructor":"","10":"ten"}'
      )
      const prompt = "Zeile 1\nЗапуск $1 'x' \\ \u0001"
      const run = yield* newRun(webhook, {
        mode: "wait",
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
        variables,
        conversation: { prompt }
      })
      expect(JSON.stringify(stored.variables)).toBe(JSON.stringify(variables))
      expect(yield* repo.lane(ops, 1)).toMatchObject([{ prompt, timeout_ms: 7_000, deadline_at: at(5_000) }])
      const message = yield* newMessage()
      yield* acceptOne(message)
      expect(Object.keys(yield* repo.run(message.run_id))).not.toContain("webhook_id")
    })
  )

  test(
    "refuses a webhook that is disabled, deleted or has another token, and a team that is gone",
    Effect.gen(function* () {
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
  )

  test(
    "refuses a run that was made from an earlier version of its webhook, unless it repeats an earlier run",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const first = yield* keyed(webhook, "key")
      expect(yield* acceptOne(first)).toEqual(accepted)
      yield* repo.updateWebhook(webhook.id, { prompt_template: "Deploy {{service}} now", updated_at: at(1) })
      expect(yield* Effect.flip(acceptOne(yield* newRun(webhook)))).toEqual(new WebhookEdited())
      expect(yield* acceptOne(yield* keyed(webhook, "key"))).toMatchObject({ run: { run_id: first.run_id } })
      const { version } = yield* repo.webhookRow(webhook.id)
      expect(yield* acceptOne(yield* newRun({ ...webhook, version }))).toEqual(accepted)
      expect(yield* repo.lane(ops, 10)).toHaveLength(2)
    })
  )

  test(
    "refuses only the runs that are to be refused, of those in one call",
    Effect.gen(function* () {
      const repo = yield* Repo
      const good = yield* createWebhook()
      const bad = yield* createWebhook({ enabled: false })
      const runs = yield* Effect.forEach(count(60), (i) => newRun(i % 3 === 0 ? bad : good))
      const answers = yield* repo.accept(runs, unlimited)
      expect(answers).toEqual(
        count(60).map((i) => (i % 3 === 0 ? Either.left(new NotFound()) : Either.right(accepted)))
      )
      expect(yield* repo.lane(ops, 100)).toHaveLength(40)
      expect(yield* repo.accept([], unlimited)).toEqual([])
    })
  )

  test(
    "puts runs into the lane in the order in which they are given, and each caller's calls in theirs",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const newRuns = Effect.forEach(count(10), () => newRun(webhook))
      const group = yield* newRuns
      const callers = yield* Effect.forEach(count(10), () => newRuns)
      yield* repo.accept(group, unlimited)
      yield* Effect.forEach(callers, (runs) => Effect.forEach(runs, (run) => acceptOne(run)), together)
      const lane = (yield* repo.lane(ops, 200)).map((run) => run.run_id)
      expect(lane).toHaveLength(110)
      expect(lane.slice(0, 10)).toEqual(group.map((run) => run.run_id))
      for (const runs of callers) {
        const places = runs.map((run) => lane.indexOf(run.run_id))
        expect(places).toEqual(places.toSorted((a, b) => a - b))
      }
    })
  )

  test(
    "takes exactly as many as may wait, and more when one has left",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const limit = { maxQueued: 5 }
      const full = Either.left(new TooManyQueued({ of: "server", limit: 5 }))
      const answers = yield* repo.accept(yield* Effect.forEach(count(20), () => newRun(webhook)), limit)
      expect(answers).toEqual(count(20).map((i) => (i < 5 ? Either.right(accepted) : full)))
      const another = yield* newMessage()
      expect(yield* repo.accept([another], limit)).toEqual([full])
      const [first, second] = yield* repo.lane(ops, 2)
      yield* admitOne(first!.run_id, yield* acquireTerm)
      expect(yield* acceptOne(another, limit)).toEqual(accepted)
      yield* endOne(second!.run_id, timeout, 9)
      expect(yield* acceptOne(yield* newMessage(), limit)).toEqual(accepted)
      expect(yield* repo.accept([yield* newMessage()], limit)).toEqual([full])
    })
  )

  test(
    "takes one run for an idempotency key, of a hundred in one call or in many",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const newRuns = (key: string) => Effect.forEach(count(100), () => keyed(webhook, key))
      const grouped = yield* Effect.flatten(
        Effect.map(repo.accept(yield* newRuns("one call"), unlimited), (answers) => Effect.all(answers))
      )
      const single = yield* Effect.forEach(yield* newRuns("many calls"), (run) => acceptOne(run), together)
      const lane = (yield* repo.lane(ops, 10)).map((run) => run.run_id)
      expect(lane).toHaveLength(2)
      for (const [i, answers] of [grouped, single].entries()) {
        const repeated = answers.flatMap((answer) => (answer._tag === "Repeated" ? answer.run.run_id : []))
        expect(repeated).toEqual(count(99).map(() => lane[i]))
      }
    })
  )

  test(
    "answers a repeated key with the run as it is now, also when no more may wait",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const one = { maxQueued: 1 }
      const first = yield* keyed(webhook, "k", 1, { mode: "wait", deadline_at: at(900) })
      yield* acceptOne(first, one)
      const repeat = acceptOne(yield* keyed(webhook, "k"), one)
      const run = yield* repo.run(first.run_id)
      expect(yield* repeat).toEqual({ _tag: "Repeated", run, deadline_at: at(900) })
      expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "other"), one))).toEqual(
        new TooManyQueued({ of: "server", limit: 1 })
      )
      yield* endOne(first.run_id, success("done"), 5)
      expect(yield* repeat).toMatchObject({ _tag: "Repeated", run: { status: "success" } })
    })
  )

  test(
    "refuses a key that came with another request",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      yield* acceptOne(yield* keyed(webhook, "k", 1))
      expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "k", 2)))).toEqual(new IdempotencyKeyReused())
      const runs = yield* Effect.forEach(count(20), (i) => keyed(webhook, "together", i % 2))
      const answers = yield* repo.accept(runs, unlimited)
      expect(answers.map(Either.isRight)).toEqual(count(20).map((i) => i % 2 === 0))
    })
  )

  test(
    "treats the keys of two webhooks as different, and forgets a key after its time",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const other = yield* createWebhook()
      const first = yield* keyed(webhook, "k")
      yield* acceptOne(first)
      expect(yield* acceptOne(yield* keyed(other, "k"))).toEqual(accepted)
      const late = (ms: number) =>
        newRun(webhook, {
          idempotency: { key: "k", request_hash: new Uint8Array(32), expires_at: at(ms + 1_000) },
          accepted_at: at(ms)
        })
      const answers = yield* repo.accept(yield* Effect.forEach(count(5), () => late(1_000)), unlimited)
      expect(answers.map((answer) => Either.getOrThrow(answer)._tag)).toEqual([
        "Accepted",
        ...count(4).map(() => "Repeated")
      ])
      expect((yield* repo.run(first.run_id)).status).toBe("queued")
      expect((yield* acceptOne(yield* late(1_999)))._tag).toBe("Repeated")
    })
  )

  test(
    "takes one message to a team for an idempotency key, apart from the keys of other teams and of webhooks",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const other = team("other")
      yield* repo.createTeam(other, at(0))
      const messages = Effect.forEach(count(30), () => newMessage(withKey("k")))
      const answers = yield* repo.accept(
        [...(yield* messages), yield* keyed(webhook, "k"), yield* newMessage({ team: other, ...withKey("k") })],
        unlimited
      )
      const tags = answers.map((answer) => Either.getOrThrow(answer)._tag)
      expect(tags).toEqual(["Accepted", ...count(29).map(() => "Repeated"), "Accepted", "Accepted"])
      const [first] = yield* repo.lane(ops, 10)
      const again = yield* Effect.forEach(yield* messages, (run) => acceptOne(run, { maxQueued: 1 }), together)
      for (const answer of again) expect(answer).toMatchObject({ _tag: "Repeated", run: { run_id: first!.run_id } })
      expect(yield* Effect.flip(acceptOne(yield* newMessage(withKey("k", 2))))).toEqual(new IdempotencyKeyReused())
      // New ones, each from a call of its own.
      yield* Effect.forEach(
        yield* Effect.forEach(count(30), () => newMessage(withKey("new"))),
        (run) => acceptOne(run),
        together
      )
      expect(yield* repo.lane(ops, 10)).toHaveLength(3)
      expect(yield* repo.lane(other, 10)).toHaveLength(1)
    })
  )

  test(
    "forgets a message's key after its time, and with its team",
    Effect.gen(function* () {
      const repo = yield* Repo
      yield* repo.createTeam(ops, at(0))
      const message = yield* newMessage(withKey("k"))
      yield* acceptOne(message)
      const late = yield* newMessage({ ...withKey("k"), accepted_at: at(1_000) })
      expect(yield* acceptOne(late)).toEqual(accepted)
      expect(yield* repo.lane(ops, 10)).toHaveLength(2)
      for (const { run_id } of [message, late]) yield* endOne(run_id, success("done"), 5)
      yield* repo.deleteTeam(ops)
      expect(yield* Effect.flip(acceptOne(yield* newMessage(withKey("k"))))).toEqual(new NotFound())
      yield* repo.createTeam(ops, at(0))
      expect(yield* acceptOne(yield* newMessage(withKey("k")))).toEqual(accepted)
    })
  )

  test(
    "refuses a repeated key of a caller whose token was replaced",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      yield* sendRun(webhook, yield* acquireTerm, 1, {
        idempotency: { key: "k", request_hash: new Uint8Array(1), expires_at: at(9) }
      })
      yield* repo.updateWebhook(webhook.id, { token_hash: yield* newTokenHash, updated_at: at(2) })
      expect(yield* Effect.flip(acceptOne(yield* keyed(webhook, "k")))).toEqual(new NotFound())
    })
  )

  test(
    "counts the runs that wait only when it is asked to",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const [first, second, third] = [yield* newRun(webhook), yield* newRun(webhook), yield* newRun(webhook)]
      yield* repo.accept([first], { maxQueued: 1 })
      const answers = yield* repo.accept([second], { maxQueued: 1, countQueued: false })
      expect(answers.map(Either.getOrThrow)).toEqual([accepted])
      expect(yield* Effect.flip(acceptOne(third, { maxQueued: 1 }))).toEqual(
        new TooManyQueued({ of: "server", limit: 1 })
      )
      expect([yield* repo.queued(1), yield* repo.queued(10)]).toMatchObject([{ all: 1 }, { all: 2 }])
    })
  )

  test(
    "admits a run with its acceptance when that is asked for, and no run before it waits",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const runs = [yield* newRun(webhook), yield* newRun(webhook), yield* newRun(webhook)] as const
      const run_ids = new Set([runs[0].run_id, runs[2].run_id])
      const answers = yield* repo.accept(runs, { ...unlimited, admission: { term, run_ids, at: at(0) } })
      // The third one stands behind the second, which waits.
      expect(answers.map(Either.getOrThrow)).toMatchObject([admitted, accepted, accepted])
      expect((yield* repo.inFlight).map(({ run_id }) => run_id)).toEqual([runs[0].run_id])
      expect((yield* repo.lane(ops, 10)).map(({ run_id }) => run_id)).toEqual([runs[1].run_id, runs[2].run_id])

      const behind = yield* newRun(webhook)
      const options = { ...unlimited, admission: { term, run_ids: new Set([behind.run_id]), at: at(0) } }
      expect((yield* repo.accept([behind], options)).map(Either.getOrThrow)).toMatchObject([accepted])
    })
  )

  test(
    "tells the dispatcher which runs wait before one that it accepts, as long as they are few",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const options = { ...unlimited, admission: { term, run_ids: new Set<RunId>(), at: at(0) } }
      const acceptNext = Effect.gen(function* () {
        const run = yield* newRun(webhook)
        const [answer] = yield* repo.accept([run], options)
        return { run_id: run.run_id, ...Either.getOrThrow(answer!) }
      })
      const [first, second, third] = [yield* acceptNext, yield* acceptNext, yield* acceptNext]
      expect([first, second, third]).toMatchObject([
        { ahead: [] },
        { ahead: [first.run_id] },
        { ahead: [first.run_id, second.run_id] }
      ])
      yield* admitOne(first.run_id, term)
      expect(yield* acceptNext).toMatchObject({ ahead: [second.run_id, third.run_id] })
      yield* repo.accept(yield* Effect.forEach(count(20), () => newRun(webhook)), unlimited)
      expect(yield* acceptNext).not.toHaveProperty("ahead")

      const calm = yield* createWebhook({ team: team("calm") })
      const alone = yield* newRun(calm)
      expect((yield* repo.accept([alone], unlimited)).map(Either.getOrThrow)).toEqual([accepted])
      yield* repo.pauseTeam(calm.team, at(1))
      expect((yield* repo.accept([yield* newRun(calm)], options)).map(Either.getOrThrow)).toEqual([accepted])
    })
  )

  test(
    "admits nothing with its acceptance for a term that is over, and accepts it all the same",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      yield* repo.releaseLease(term)
      const run = yield* newRun(webhook)
      const options = { ...unlimited, admission: { term, run_ids: new Set([run.run_id]), at: at(0) } }
      expect((yield* repo.accept([run], options)).map(Either.getOrThrow)).toEqual([accepted])
      expect(yield* repo.inFlight).toEqual([])
    })
  )
}
