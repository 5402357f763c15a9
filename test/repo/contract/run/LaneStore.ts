import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { RunId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { DueWork } from "../../../../src/repo/run/LaneStore.ts"
import { newDestination } from "../delivery/fixtures.ts"
import {
  acceptOne,
  admitNext,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  laneTeams,
  newMessage,
  newRun,
  ops,
  outcomes,
  outIds,
  outRuns,
  queueRun,
  releaseOne,
  sendRun,
  startedOne,
  step,
  success,
  team,
  timeout,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const laneStore = (test: Test): void => {
  test("names the teams that have a run in their lane and none out", function* () {
    expect(yield* laneTeams).toEqual([])
    const webhook = yield* createWebhook()
    const id = yield* queueRun(webhook)
    yield* admitOne(id)
    yield* queueRun(yield* createWebhook({ team: team("a") }))
    expect(yield* laneTeams).toEqual(["a"])
    yield* queueRun(webhook)
    expect(yield* laneTeams).toEqual(["a"])
    yield* endOne(id, success("done"), 1)
    expect(yield* laneTeams).toEqual(["a", "ops"])
  })

  test("says of each team whether its next run is sent only to a leader", function* () {
    const repo = yield* Repo
    const [plain, queues] = [yield* createWebhook({ team: team("a") }), yield* createWebhook({ team: team("b") })]
    yield* queueRun(plain)
    yield* queueRun(plain, { deadline_at: at(60_000) })
    yield* queueRun(queues, { deadline_at: at(60_000) })
    yield* queueRun(yield* createWebhook({ team: team("c") }), { mode: "wait", deadline_at: at(60_000) })
    expect(yield* repo.lanes).toEqual([
      { team: "a", needs_leader: false },
      { team: "b", needs_leader: true },
      { team: "c", needs_leader: false }
    ])
  })

  test("gives the runs that are out, as they are to be sent, with their webhook's current name", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ name: "first", max_cost_per_day: 2 })
    const layout = [-3, 4, ["service", 3], ["__proto__", 0], 1] as const
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    const id = yield* queueRun(webhook, { layout, mode: "wait", deadline_at: at(9_000), traceparent })
    const { admitted } = yield* step({ teams: [ops] }, {}, 5)
    const run = {
      run_id: id,
      source: "webhook",
      webhook: { id: webhook.id, name: "first", max_cost_per_day: 2 },
      team: "ops",
      mode: "wait",
      status: "queued",
      prompt: "Deploy api",
      layout,
      timeout_ms: 60_000,
      deadline_at: at(9_000),
      traceparent,
      accepted_at: at(0),
      admitted_at: at(5)
    }
    expect(admitted).toEqual([run])
    yield* repo.updateWebhook(webhook.id, { name: "renamed", updated_at: at(1) })
    yield* repo.sent([{ run_id: id, at: at(7) }])
    yield* startedOne(id, 8)
    const renamed = { ...run.webhook, name: "renamed" }
    expect(yield* outRuns).toEqual([{ ...run, webhook: renamed, status: "running", sent_at: at(7) }])
    yield* endOne(id, timeout, 9_000)
    expect(yield* outRuns).toMatchObject([{ run_id: id, status: "timeout", stop_at: at(9_000) }])
    yield* releaseOne(id, 9_001)
    expect(yield* repo.out).toEqual([])
  })

  test("forgets that runs were sent, and starts their clocks again; those that have ended are released", function* () {
    const repo = yield* Repo
    const id = yield* sendRun(yield* createWebhook(), 10)
    yield* startedOne(id, 20)
    const ended = yield* sendRun(yield* createWebhook({ team: team("other") }), 10)
    yield* endOne(ended, outcomes.cancelled, 30)
    yield* repo.forgetSent(at(1_000))
    expect(yield* outRuns).toMatchObject([{ run_id: id, status: "queued", deadline_at: at(61_000) }])
    expect((yield* outRuns)[0]).not.toHaveProperty("sent_at")
    expect(yield* repo.run(ended)).toMatchObject({ released_at: at(1_000) })
  })

  test("gives the work of a second to one server, which keeps it until it does not come back", function* () {
    const repo = yield* Repo
    const claim = (ms: number, isHere: boolean) =>
      Effect.map(repo.claimTick(at(ms), isHere), ({ due }) => due !== undefined)
    const first = yield* Effect.all(
      count(20).map(() => claim(0, false)),
      together
    )
    expect(first.filter((isMine) => isMine)).toHaveLength(1)
    expect(yield* claim(1_000, false)).toBe(false)
    expect(yield* claim(1_000, true)).toBe(true)
    expect(yield* claim(1_100, true)).toBe(false)
    expect(yield* claim(2_899, false)).toBe(false)
    expect(yield* claim(2_900, false)).toBe(true)
    // A clock that was far ahead.
    yield* claim(10_000_000, false)
    expect(yield* claim(5_000, false)).toBe(true)
  })

  test("says what there may be to do in a second", function* () {
    const repo = yield* Repo
    let ms = 0
    let before: ReadonlyArray<DueWork> = []
    /** What there is to do a second after this was made, and what no longer. */
    const change = Effect.fnUntraced(function* (made: Effect.Effect<unknown, unknown, Repo>, later = 0) {
      yield* made
      ms += 1_000 + later
      const due = [...(yield* repo.claimTick(at(ms), true)).due!]
      const without = (some: ReadonlyArray<DueWork>, others: ReadonlyArray<DueWork>) =>
        some.filter((work) => !others.includes(work))
      const changed = { now: without(due, before), gone: without(before, due) }
      before = due
      return changed
    })
    const nothing = { now: [], gone: [] }
    expect(yield* change(Effect.void)).toEqual(nothing)
    const [webhook, other, third] = yield* Effect.forEach(["a", "b", "c"], (name) =>
      createWebhook({ team: team(name) })
    )
    const window = { key: "k", until: at(60_000) }
    expect(yield* change(Effect.flatMap(newRun(webhook!, { coalesce: window }), acceptOne))).toEqual(nothing)
    expect(yield* change(queueRun(webhook!, { mode: "wait", deadline_at: at(20_000) }))).toEqual({
      ...nothing,
      now: ["waiting"]
    })
    expect(yield* change(admitNext([team("a")]))).toEqual({ now: ["out"], gone: ["waiting"] })
    expect(yield* change(Effect.void, 20_000)).toEqual({ ...nothing, now: ["deadlines"] })
    expect(yield* change(repo.expire(at(ms)))).toEqual({ ...nothing, gone: ["deadlines"] })
    const [out] = yield* outIds
    expect(yield* change(releaseOne(out!, ms))).toEqual({ ...nothing, gone: ["out"] })
    const failed = yield* queueRun(other!, { attempt: 1, max_attempts: 3, retry_after_seconds: 60 })
    expect(yield* change(endOne(failed, outcomes.error, ms))).toEqual(nothing)
    expect(yield* change(Effect.void, 60_000)).toEqual({ ...nothing, now: ["holds", "retries"] })
    expect(yield* change(repo.endHolds(at(ms)))).toEqual({ now: ["waiting"], gone: ["holds"] })
    expect(yield* change(repo.callOffRetries([failed]))).toEqual({ ...nothing, gone: ["retries"] })
    const wanting = (enabled: boolean) => newDestination(third!.id, { events: ["run.started"], enabled })
    expect(yield* change(wanting(false))).toEqual(nothing)
    expect(yield* change(wanting(true))).toEqual({ ...nothing, now: ["early"] })
  })
}

/** Which runs a step admits. */
export const admissions = (test: Test): void => {
  const slots = (total: number) => ({ limits: { total, webhooks: new Map() } })
  const inTeam = (name: string, fields: { readonly max_concurrent?: number } = {}) =>
    createWebhook({ team: team(name), ...fields })

  test("admits one run of a team at a time, of webhooks and chat in one order, also with the commit that accepts it", function* () {
    const webhook = yield* createWebhook()
    const message = yield* newMessage()
    const { admitted } = yield* step({ accepts: [message, yield* newMessage()] })
    expect(admitted.map(({ run_id }) => run_id)).toEqual([message.run_id])
    const next = yield* queueRun(webhook)
    expect(yield* admitNext()).toEqual([])
    const ended = yield* step({ ends: [{ run_id: message.run_id, outcome: success("done"), at: at(1) }] })
    expect(ended.admitted).toMatchObject([{ source: "chat" }])
    const { run_id } = ended.admitted[0]!
    const last = yield* step({ ends: [{ run_id, outcome: success("done"), at: at(2) }] })
    expect(last.admitted.map(({ run_id }) => run_id)).toEqual([next])
  })

  test("admits no more than the slots, over all callers at once, and chat messages beyond them", function* () {
    const webhooks = yield* Effect.forEach(count(20), (i) => inTeam(`team-${i}`))
    yield* Effect.forEach(webhooks, (webhook) => queueRun(webhook))
    const teams = webhooks.map(({ team }) => team)
    const admitted = yield* Effect.forEach(teams, (one) => admitNext([one], slots(7)), together)
    expect(admitted.flat()).toHaveLength(7)
    expect(yield* outIds).toHaveLength(7)
    yield* inTeam("chat")
    const message = yield* newMessage({ team: team("chat") })
    expect((yield* step({ accepts: [message] }, slots(7))).admitted).toMatchObject([{ source: "chat" }])
    expect(yield* admitNext(teams, slots(7))).toEqual([])
    expect(yield* admitNext([], slots(9))).toHaveLength(2)
  })

  test("gives a free slot to the team whose turn is longest ago, whatever waits elsewhere", function* () {
    const [a, b, c] = [yield* inTeam("a"), yield* inTeam("b"), yield* inTeam("c")]
    yield* Effect.forEach([a, a, a, b, b, c], (webhook) => queueRun(webhook))
    const turns: Array<string> = []
    let ended: ReadonlyArray<{ readonly run_id: RunId; readonly team: string }> = []
    for (const ms of count(7)) {
      const { admitted } = yield* step(
        {
          ends: ended.map(({ run_id }) => ({ run_id, outcome: success("done"), at: at(ms) })),
          teams: ms === 0 ? [a.team, b.team, c.team] : []
        },
        slots(1),
        ms
      )
      turns.push(...admitted.map(({ team }) => team))
      ended = admitted
    }
    expect(turns).toEqual(["a", "b", "c", "a", "b", "a"])
  })

  /** Each team has so many waiting runs, which are sent only to a leader or not. */
  const backlog = Effect.fnUntraced(function* (of: { readonly [team: string]: "leader" | "any" }, runs = 3) {
    for (const [name, needs] of Object.entries(of)) {
      const webhook = yield* inTeam(name)
      const fields = needs === "leader" ? { deadline_at: at(60_000) } : {}
      yield* Effect.replicateEffect(queueRun(webhook, fields), runs, { discard: true })
    }
    return Object.keys(of).map(team)
  })

  for (const needs of [
    { a: "any", b: "any", c: "any" },
    { a: "leader", b: "leader", c: "leader" },
    { a: "leader", b: "any", c: "any" },
    { a: "any", b: "leader", c: "leader" }
  ] as const) {
    test(`takes turns among teams whose runs need a leader, or not: ${Object.values(needs).join(", ")}`, function* () {
      const teams = yield* backlog(needs)
      const turns: Array<string> = []
      let result = yield* step({ teams }, slots(1))
      for (const ms of count(9)) {
        // The answer to the question who leads comes later, or was known, in turn.
        for (const led of result.needLeader) {
          result = yield* step({ teams: [led] }, { ...slots(1), led: [led] }, ms)
        }
        expect(result.admitted).toHaveLength(1)
        const { run_id, team } = result.admitted[0]!
        turns.push(team)
        const led = ms % 2 === 0 ? teams : []
        result = yield* step({ ends: [{ run_id, outcome: success("done"), at: at(ms) }] }, { ...slots(1), led }, ms + 1)
      }
      expect(turns.join("")).toBe("abcabcabc")
    })
  }

  test("keeps a slot for each team that may have a leader, and for no more", function* () {
    const teams = yield* backlog({ a: "leader", b: "leader", c: "any", d: "leader" })
    const first = yield* step({ teams }, slots(2))
    expect([first.admitted, first.needLeader]).toEqual([[], ["a", "b"]])
    const other = yield* newRun(yield* inTeam("e"))
    const second = yield* step({ accepts: [other] }, slots(2))
    expect([second.admitted, second.needLeader]).toEqual([[], ["a", "b"]])
    const third = yield* step(
      { teams: [team("a"), team("b")] },
      { ...slots(2), led: [team("a")], leaderless: [team("b")] }
    )
    expect(third.admitted.map(({ team }) => team)).toEqual(["a", "c"])
  })

  test("passes over a team without a leader until it is touched again", function* () {
    const teams = yield* backlog({ a: "leader", b: "leader", c: "any", d: "leader" })
    yield* step({ teams }, slots(1))
    const known = yield* step({ teams: [teams[0]!] }, { ...slots(1), leaderless: [teams[0]!] })
    expect([known.admitted, known.needLeader]).toEqual([[], ["b"]])
    const next = yield* step({ teams: [teams[1]!] }, { ...slots(1), leaderless: [teams[1]!] }, 1)
    expect(next.admitted).toMatchObject([{ team: "c" }])
    expect(next.needLeader).toEqual([])
    const ends = [{ run_id: next.admitted[0]!.run_id, outcome: success("done"), at: at(2) }]
    expect((yield* step({ ends }, slots(1), 2)).needLeader).toEqual(["d"])
    const led = yield* step({ teams: [teams[0]!] }, { ...slots(1), led: [teams[0]!] }, 3)
    expect(led.admitted).toMatchObject([{ team: "a" }])
  })

  test("forgets the turn of a team without a leader also while there is no slot", function* () {
    const busy = yield* sendRun(yield* inTeam("z"), 0)
    const teams = yield* backlog({ a: "leader", b: "any" })
    yield* step({ teams }, slots(1))
    yield* step({ teams: [teams[0]!] }, { ...slots(1), leaderless: [teams[0]!] })
    const { admitted, needLeader } = yield* step(
      { ends: [{ run_id: busy, outcome: success("done"), at: at(1) }] },
      slots(1)
    )
    expect(needLeader).toEqual([])
    expect(admitted).toMatchObject([{ team: "b" }])
  })

  test("passes over all teams that are not known to have a leader, if nobody can say", function* () {
    const teams = yield* backlog({ a: "leader", b: "leader", c: "any", d: "leader" })
    const options = { ...slots(2), leaderless: "all others" as const, led: [team("d")] }
    const { admitted, needLeader } = yield* step({ teams }, options)
    expect(admitted.map(({ team }) => team)).toEqual(["c", "d"])
    expect(needLeader).toEqual([])
  })

  test("lets a webhook with a higher limit of its own exceed the slots, and a host lower it", function* () {
    const [plain, other, high] = [yield* inTeam("a"), yield* inTeam("b"), yield* inTeam("c", { max_concurrent: 2 })]
    yield* sendRun(plain, 0)
    const accepts = [yield* newRun(other), yield* newRun(high)]
    const { admitted } = yield* step({ accepts }, slots(1))
    expect(admitted.map(({ team }) => team)).toEqual(["c"])
    yield* endOne(admitted[0]!.run_id, success("done"), 1)
    const accepted = { accepts: [yield* newRun(high)] }
    const lowered = { limits: { total: 1, webhooks: new Map([[high.id, 1]]) } }
    expect((yield* step(accepted, lowered)).admitted).toEqual([])
    const none = { limits: { total: 1, webhooks: new Map([[high.id, 0]]) } }
    expect(yield* admitNext([high.team], none)).toEqual([])
    expect(yield* admitNext([high.team], slots(1))).toEqual([accepted.accepts[0]!.run_id])
  })

  test("counts the runs of a webhook that was moved to another team", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook({ max_concurrent: 1 })
    yield* repo.createTeam(team("other"), at(0))
    const before = yield* newRun(webhook)
    yield* step({ accepts: [before] })
    yield* repo.updateWebhook(webhook.id, { ...{ moved_at: at(1) }, team: team("other"), updated_at: at(1) })
    const { version } = yield* repo.webhookRow(webhook.id)
    const after = yield* newRun({ ...webhook, version, team: team("other") })
    expect((yield* step({ accepts: [after] })).admitted).toEqual([])
    yield* endOne(before.run_id, success("done"), 1)
    expect(yield* admitNext([team("other")])).toEqual([after.run_id])
  })

  test("sends a run that waits for a leader only to one, and names the team that needs it", function* () {
    const webhook = yield* createWebhook()
    const id = yield* queueRun(webhook, { deadline_at: at(60_000) })
    yield* queueRun(webhook)
    const { admitted, needLeader } = yield* step({ teams: [ops] })
    expect([admitted, needLeader]).toEqual([[], [ops]])
    expect(yield* admitNext([ops], { led: [ops] })).toEqual([id])
  })

  test("leaves out a run whose caller no longer waits", function* () {
    const webhook = yield* createWebhook()
    yield* queueRun(webhook, { mode: "wait", deadline_at: at(100) })
    const next = yield* queueRun(webhook, { mode: "wait", deadline_at: at(101) })
    expect(yield* admitNext([ops], {}, 100)).toEqual([next])
  })

  test("starts the clock of an asynchronous run with its admission", function* () {
    yield* queueRun(yield* createWebhook())
    yield* admitNext([ops], {}, 9)
    expect(yield* outRuns).toMatchObject([{ admitted_at: at(9), deadline_at: at(60_009) }])
  })
}
