import { expect } from "@effect/vitest"
import { DateTime, Effect, Result } from "effect"
import { IdempotencyKeyReused } from "../../../../src/domain/Errors.ts"
import { runIdAt } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptAll,
  acceptOne,
  at,
  count,
  createWebhook,
  drain,
  endOne,
  epoch,
  laneTeams,
  newRun,
  ops,
  queueRun,
  step,
  success,
  type Target,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const until = at(30_000)

/** A trigger that the webhook coalesces by `key`. */
const trigger = (webhook: Target, key: string, text: string, fields: Partial<NewRun> = {}) =>
  newRun(webhook, {
    coalesce: { key, until },
    prompt: text,
    title: `About ${text}`,
    variables: { text },
    layout: [["text", text.length]],
    ...fields
  })

const idempotency = (key: string, hash = 1) => ({
  idempotency: { key, request_hash: new Uint8Array([hash]), expires_at: at(1_000_000) }
})

/** The prompts of the lane, which are sent and answered. */
const lane = Effect.flatMap(drain(), (ids) =>
  Effect.forEach(ids, (id) =>
    Effect.map(
      Effect.flatMap(Repo, (repo) => repo.run(id)),
      ({ conversation }) => conversation.prompt
    )
  )
)

export const coalesce = (test: Test): void => {
  test("combines triggers with one key into one run, with the last trigger's values, which takes its place when the window closes", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook({ name: "other" })
    const [before, first] = [yield* newRun(webhook, { prompt: "before" }), yield* trigger(webhook, "a", "1")]
    yield* acceptOne(before)
    expect(yield* acceptOne(first)).toEqual({ _tag: "Accepted" })
    yield* acceptOne(yield* newRun(webhook, { prompt: "meanwhile" }))
    const coalesced = { _tag: "Coalesced", run_id: first.run_id, repeated: false }
    expect(yield* acceptOne(yield* trigger(webhook, "a", "two"))).toEqual(coalesced)
    const group = [
      yield* trigger(webhook, "a", "3"),
      yield* trigger(webhook, "b", "b"),
      yield* trigger(webhook, "a", "last")
    ]
    expect(yield* acceptAll(group)).toEqual([coalesced, { _tag: "Accepted" }, coalesced].map(Result.succeed))
    const longer = { key: "a", until: at(60_000) }
    expect(yield* acceptOne(yield* trigger(other, "a", "other's", { coalesce: longer }))).toMatchObject({
      _tag: "Accepted"
    })
    expect(yield* repo.run(first.run_id)).toMatchObject({
      title: "About last",
      variables: { text: "last" },
      conversation: { prompt: "last" },
      ...{ held_for: "window", held_until: until },
      joined: 3
    })
    yield* repo.endHolds(at(29_999))
    expect(yield* lane).toEqual(["before", "meanwhile"])
    yield* repo.endHolds(until)
    yield* acceptOne(yield* newRun(webhook, { prompt: "behind" }))
    const { admitted } = yield* step({ teams: [ops] })
    expect(admitted).toMatchObject([{ run_id: first.run_id, layout: [["text", 4]] }])
    yield* endOne(first.run_id, success("done"), 30_001)
    expect(yield* lane).toEqual(["b", "behind"])
    const shown = yield* repo.run(first.run_id)
    expect(shown.joined).toBe(3)
    expect(Object.keys(shown)).not.toContain("held_for")
    const later = { coalesce: { key: "a", until: at(50_000) } }
    expect(yield* acceptOne(yield* trigger(webhook, "a", "later", later))).toMatchObject({ _tag: "Accepted" })
    yield* repo.endHolds(longer.until)
    expect(yield* lane).toEqual(["later", "other's"])
  })

  test("opens one window, however many triggers come at once", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const all = yield* Effect.forEach(count(60), (n) => trigger(webhook, "a", String(n), idempotency(`key ${n}`)))
    const groups = count(6).map((n) => all.slice(n * 10, n * 10 + 10))
    const answers = (yield* Effect.forEach(groups, (group) => acceptAll(group), {
      concurrency: "unbounded"
    })).flat()
    const accepted = all.filter((_, n) => Result.getOrThrow(answers[n]!)._tag === "Accepted")
    expect(accepted).toHaveLength(1)
    const ids = answers.map(Result.getOrThrow).flatMap((answer) => (answer._tag === "Coalesced" ? answer.run_id : []))
    expect(ids).toEqual(Array(59).fill(accepted[0]!.run_id))
    yield* repo.endHolds(until)
    expect(yield* lane).toHaveLength(1)
  })

  test("gives a repeat the run that its first try became part of, also when the window is closed, and changes nothing", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* trigger(webhook, "a", "1", idempotency("one"))
    const second = yield* trigger(webhook, "a", "2", idempotency("two"))
    yield* acceptOne(first)
    yield* acceptOne(second)
    yield* acceptOne(yield* trigger(webhook, "a", "3"))
    const repeats = Effect.gen(function* () {
      const one = yield* acceptOne(yield* trigger(webhook, "a", "1", idempotency("one")))
      expect(one).toMatchObject({ _tag: "Repeated", run: { run_id: first.run_id } })
      const two = yield* acceptOne(yield* trigger(webhook, "a", "2", idempotency("two")))
      expect(two).toEqual({ _tag: "Coalesced", run_id: first.run_id, repeated: true })
      const reused = acceptOne(yield* trigger(webhook, "a", "x", idempotency("two", 2)))
      expect(yield* Effect.flip(reused)).toEqual(new IdempotencyKeyReused())
    })
    yield* repeats
    yield* repo.endHolds(until)
    yield* repeats
    expect(yield* lane).toEqual(["3"])
    yield* repo.endHolds(DateTime.add(until, { days: 1 }))
    expect(
      yield* acceptOne(yield* trigger(webhook, "a", "2", { ...idempotency("two"), accepted_at: until }))
    ).toMatchObject({
      _tag: "Accepted"
    })
  })

  test("makes one run of a delivery that comes several times at once, whether it opens a window or finds one", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const thrice = (key: string, text: string) =>
      Effect.forEach(count(3), () => trigger(webhook, "a", text, idempotency(key)))
    const opening = yield* thrice("one", "1")
    const [first, ...repeats] = (yield* acceptAll(opening)).map(Result.getOrThrow)
    expect(first).toMatchObject({ _tag: "Accepted" })
    const { run_id } = opening[0]!
    expect(repeats).toMatchObject(count(2).map(() => ({ _tag: "Repeated", run: { run_id } })))
    const joining = yield* thrice("two", "2")
    const [reused] = yield* thrice("two", "other")
    const hash = { idempotency: { ...reused!.idempotency!, request_hash: new Uint8Array([2]) } }
    const answers = yield* acceptAll([...joining, { ...reused!, ...hash }])
    const coalesced = [false, true, true].map((repeated) => Result.succeed({ _tag: "Coalesced", run_id, repeated }))
    expect(answers).toEqual([...coalesced, Result.fail(new IdempotencyKeyReused())])
    expect(yield* repo.run(run_id)).toMatchObject({ conversation: { prompt: "2" } })
  })

  test("knows a delivery that became part of a run when its webhook coalesces no more, and when nothing new is taken", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* trigger(webhook, "a", "1")
    yield* acceptOne(first)
    yield* acceptOne(yield* trigger(webhook, "a", "2", idempotency("two")))
    yield* repo.endHolds(until)
    const plain = (hash: number) => newRun(webhook, { prompt: "2", ...idempotency("two", hash) })
    const coalesced = { _tag: "Coalesced", run_id: first.run_id, repeated: true }
    expect(yield* acceptOne(yield* plain(1))).toEqual(coalesced)
    const [answer, other] = yield* acceptAll([yield* plain(1), yield* plain(2)], { maxQueued: 0 })
    expect([answer, other]).toEqual([Result.succeed(coalesced), Result.fail(new IdempotencyKeyReused())])
    expect(yield* lane).toEqual(["2"])
  })

  test("takes nothing into a run that was cancelled, has another team, or of an edited or disabled webhook", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* trigger(webhook, "a", "1")
    yield* acceptOne(first)
    yield* endOne(first.run_id, { status: "cancelled", cancelled_by: "host" }, 1)
    const second = yield* trigger(webhook, "a", "2")
    expect(yield* acceptOne(second)).toMatchObject({ _tag: "Accepted" })
    expect(yield* acceptOne(yield* trigger(webhook, "a", "3"))).toMatchObject({
      _tag: "Coalesced",
      run_id: second.run_id
    })
    yield* repo.createTeam(team("elsewhere"), at(0))
    const moved = yield* trigger(webhook, "a", "4", { team: team("elsewhere") })
    expect(yield* acceptOne(moved)).toMatchObject({ _tag: "Accepted" })
    yield* repo.updateWebhook(webhook.id, { name: "edited", updated_at: at(2) })
    const edited = acceptOne(yield* trigger(webhook, "a", "5"))
    expect(yield* Effect.flip(edited)).toMatchObject({ _tag: "WebhookEdited" })
    yield* repo.updateWebhook(webhook.id, { enabled: false, updated_at: at(3) })
    const disabled = acceptOne(yield* trigger({ ...webhook, version: 3 }, "a", "6"))
    expect(yield* Effect.flip(disabled)).toMatchObject({ _tag: "NotFound" })
    expect(yield* repo.run(second.run_id)).toMatchObject({ conversation: { prompt: "3" } })
  })

  test("lets nothing wait for an open window, and keeps the order of what was in the lane when it closed", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* trigger(webhook, "a", "1")
    yield* acceptOne(first)
    expect(yield* laneTeams).toEqual([])
    const [opening, next] = [yield* trigger(webhook, "b", "2"), yield* newRun(webhook)]
    const { admitted } = yield* step({ accepts: [opening, next] })
    expect(admitted.map(({ run_id }) => run_id)).toEqual([next.run_id])
    yield* endOne(next.run_id, success("done"), 1)
    yield* repo.endHolds(until)
    expect(yield* laneTeams).toEqual([ops])
    const behind = yield* newRun(webhook)
    yield* acceptOne(behind)
    expect(yield* drain()).toEqual([first.run_id, opening.run_id, behind.run_id])
  })

  test("counts a run whose window is open as waiting, lists it, and cancels it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* trigger(webhook, "a", "1")
    yield* acceptOne(first)
    expect(yield* repo.queued(9, [webhook.id])).toEqual({ all: 1, webhooks: new Map([[webhook.id, 1]]) })
    const full = acceptOne(yield* newRun(webhook), { maxQueued: 1 })
    expect(yield* Effect.flip(full)).toMatchObject({ _tag: "TooManyQueued" })
    const found = yield* repo.runs({ statuses: ["queued"], limit: 9 })
    expect(found.data).toMatchObject([{ run_id: first.run_id, held_until: until, joined: 0 }])
    const states = yield* repo.states({ run_ids: [], teams: [ops], since: at(-1), limit: 9 })
    expect(states).toMatchObject([{ run_id: first.run_id, held_until: until }])
    expect(yield* repo.cancelQueued({ team: ops }, { at: at(9), by: "host" })).toBe(1)
    expect(yield* repo.run(first.run_id)).toMatchObject({ status: "cancelled", joined: 0 })
    expect(Object.keys(yield* repo.run(first.run_id))).not.toContain("held_until")
    yield* repo.endHolds(until)
    expect(yield* lane).toEqual([])
  })

  test("finds the oldest queued run, even if others took their places before it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const acceptedAt = (ms: number) => ({ run_id: runIdAt(epoch + ms), accepted_at: at(ms) })
    const [early, late] = [acceptedAt(0), acceptedAt(3_600_000)]
    yield* acceptOne(yield* trigger(webhook, "a", "1", early))
    yield* queueRun(webhook, late)
    const queued = Effect.map(repo.runs({ statuses: ["queued"], limit: 9 }), ({ data }) =>
      data.map(({ run_id }) => run_id)
    )
    expect(yield* queued).toEqual([late.run_id, early.run_id])
    yield* repo.endHolds(until)
    expect(yield* queued).toEqual([late.run_id, early.run_id])
  })

  test("moves the end of a window with each trigger, up to the latest one, and with it the wait for a leader", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const quiet = (ms: number) => ({
      accepted_at: at(ms),
      deadline_at: at(ms + 60_000),
      coalesce: { key: "a", until: at(ms + 10_000), latest: at(ms + 30_000) }
    })
    const first = yield* trigger(webhook, "a", "1", quiet(0))
    yield* acceptOne(first)
    const ends = Effect.map(repo.run(first.run_id), ({ held_until }) => held_until)
    yield* acceptOne(yield* trigger(webhook, "a", "2", quiet(9_000)))
    expect(yield* ends).toEqual(at(19_000))
    yield* repo.endHolds(at(18_999))
    yield* acceptOne(yield* trigger(webhook, "a", "late", quiet(8_000)))
    expect(yield* ends).toEqual(at(19_000))
    for (const ms of [18_000, 27_000]) yield* acceptOne(yield* trigger(webhook, "a", `at ${ms}`, quiet(ms)))
    expect(yield* ends).toEqual(at(30_000))
    yield* repo.endHolds(at(30_000))
    yield* repo.expire(at(79_999), { stopped: [ops] })
    expect(yield* repo.run(first.run_id)).toMatchObject({ status: "queued", joined: 4 })
    yield* repo.expire(at(80_001), { stopped: [ops] })
    expect(yield* repo.run(first.run_id)).toMatchObject({ status: "error" })
  })

  const template = {
    prompt_template: "{{combined.requests}}",
    coalesce: { key: "a", within: 30, collect: "all" }
  } as const
  const kept = (n: number | string, size = 0) => ({
    coalesce: { key: "a", until, template, request: { n, ...(size > 0 && { filler: "x".repeat(size) }) } }
  })

  test("keeps each trigger of a window once and in order, for the prompt of all, which its run gets before its place", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* trigger(webhook, "a", "1", { ...kept(1), ...idempotency("one") })
    yield* acceptOne(first)
    const second = trigger(webhook, "a", "2", { ...kept(2), ...idempotency("two") })
    const third = trigger(webhook, "a", "3", kept(3))
    yield* acceptAll([yield* second, yield* second, yield* third])
    for (const again of [first, yield* second]) yield* acceptOne(again)
    expect(yield* repo.combinedRuns([])).toEqual([])
    yield* repo.endHolds(until)
    const [run, ...others] = yield* repo.combinedRuns([])
    expect(run).toMatchObject({ run_id: first.run_id, prompt: "3", joined: 2, template })
    expect([run!.requests, others]).toEqual([[{ n: 1 }, { n: 2 }, { n: 3 }], []])
    expect(yield* repo.combinedRuns([webhook.id])).toEqual([])
    const next = yield* trigger(webhook, "a", "next", kept("next"))
    expect(yield* acceptOne(next)).toEqual({ _tag: "Accepted" })
    yield* acceptOne(yield* newRun(webhook, { prompt: "before" }))
    for (const prompt of ["all", "again"]) yield* repo.placeCombined({ ...run!, prompt, variables: { all: 1 } })
    yield* repo.endHolds(until)
    const [later] = yield* repo.combinedRuns([])
    expect(later).toMatchObject({ run_id: next.run_id, requests: [{ n: "next" }] })
    expect(yield* repo.cancelQueued({ webhook_id: webhook.id }, { at: at(-1), by: "host" })).toBe(0)
    expect(yield* lane).toEqual(["before", "all"])
    expect((yield* repo.run(first.run_id)).variables).toEqual({ all: 1 })
    yield* endOne(next.run_id, { status: "cancelled", cancelled_by: "host" }, 1)
    yield* repo.placeCombined({ ...later!, prompt: "in vain" })
    expect([yield* lane, yield* repo.combinedRuns([])]).toEqual([[], []])
    expect((yield* repo.run(next.run_id)).conversation.prompt).toBe("next")
  })

  test("keeps the latest triggers of a window, up to their number and size, and the last one in any case", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const keptIn = (from: number, to: number, size = 0) =>
      Effect.flatMap(
        Effect.forEach(count(to - from), (n) => trigger(webhook, "a", "a", kept(from + n, size))),
        (runs) => acceptAll(runs)
      )
    const closed = Effect.gen(function* () {
      yield* repo.endHolds(until)
      const [run] = yield* repo.combinedRuns([])
      yield* repo.placeCombined(run!)
      return [run!.joined + 1, ...[run!.requests.at(0), run!.requests.at(-1)].map((request) => request!.n)]
    })
    for (const from of [0, 60, 120]) yield* keptIn(from, from + 60)
    expect(yield* closed).toEqual([180, 80, 179])
    for (const from of [0, 3]) yield* keptIn(from, from + 3, 300_000)
    expect(yield* closed).toEqual([6, 3, 5])
    yield* keptIn(0, 2, 1_100_000)
    expect(yield* closed).toEqual([2, 1, 1])
  })

  test("keeps all triggers of two servers at once, and loses none while a window is closed", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const runs = yield* Effect.forEach(count(40), (n) => trigger(webhook, "a", String(n), kept(n)))
    const place = Effect.flatMap(repo.combinedRuns([]), (runs) =>
      Effect.forEach(runs, (run) => Effect.as(repo.placeCombined(run), run))
    )
    // Fewer than the attempts of an acceptance, of which each may find another window.
    const closing = Effect.andThen(repo.endHolds(until), place)
    const together = runs.map((run, n) => Effect.andThen(acceptOne(run), n % 14 === 0 ? closing : Effect.succeed([])))
    const placed = (yield* Effect.all(together, { concurrency: "unbounded" })).flat()
    yield* repo.endHolds(until)
    const last = yield* place
    const requests = new Map([...placed, ...last].map(({ requests, run_id }) => [run_id, requests]))
    const numbers = [...requests.values()].flat().map(({ n }) => Number(n))
    expect(numbers.sort((a, b) => a - b)).toEqual(count(40))
    expect(yield* lane).toHaveLength(requests.size)
  })

  test("loses no trigger that comes while its window is closed", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const triggers = yield* Effect.forEach(count(40), (n) => trigger(webhook, "a", String(n)))
    const steps = triggers.map((run) => Effect.asVoid(acceptOne(run)))
    const closing = count(20).map(() => repo.endHolds(until))
    const together = steps.flatMap((step, n) => [step, ...closing.slice(n, n + 1)])
    yield* Effect.all(together, { concurrency: "unbounded" })
    yield* repo.endHolds(until)
    const runs = (yield* repo.runs({ webhook_id: webhook.id, limit: 99 })).data
    expect(runs.reduce((sum, { joined = 0 }) => sum + 1 + joined, 0)).toBe(40)
    expect((yield* lane).length).toBe(runs.length)
  })
}
