import { expect } from "@effect/vitest"
import { Duration, Effect, Option, Result, Stream } from "effect"
import { v4 } from "uuid"
import { type LeaderId, makeLeaderKeyId, type RunId } from "../../../../src/domain/Id.ts"
import type { TeamName } from "../../../../src/domain/Team.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  type AskingLeader,
  type OfferedRun,
  renewedAfter,
  replacedAfter,
  replacedAfterClose
} from "../../../../src/repo/run/HttpLeaderStore.ts"
import { absentAfter } from "../../../../src/repo/run/LedTeams.ts"
import {
  at,
  createWebhook,
  endOne,
  newMessage,
  newTokenHash,
  ops,
  outcomes,
  releaseOne,
  sendRun,
  step,
  success,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const silence = Duration.toMillis(replacedAfter)

/** A leader of the team, with a key of its own. */
const newLeader = (of: TeamName = ops) =>
  Effect.gen(function* () {
    const repo = yield* Repo
    yield* Effect.ignore(repo.createTeam(of, at(0)))
    const key = { id: yield* makeLeaderKeyId, team: of, name: "laptop", hint: "…x7Qa", created_at: at(0) }
    yield* repo.createLeaderKey({ ...key, key_hash: yield* newTokenHash })
    return { team: of, leader: v4() as LeaderId, key_id: key.id }
  })

type Leader = Effect.Success<ReturnType<typeof newLeader>>

const who = ({ leader, team }: Leader) => ({ leader, team })

/** With new requests, or those that have `asked_at`. */
const ask = (leaders: ReadonlyArray<Leader & Partial<AskingLeader>>, ms: number, mayReplace = true) =>
  Effect.flatMap(Repo, (repo) =>
    repo.askToLead(
      leaders.map((leader) => ({ asked_at: at(ms), ...leader })),
      at(ms),
      { mayReplace }
    )
  )

/** Which leader got which run. */
const askFor = (leaders: ReadonlyArray<Leader & Partial<AskingLeader>>, ms: number) =>
  Effect.map(ask(leaders, ms), (taken) => taken.map(({ leader, run }) => [leader, run.run_id]))

/** A run that is out, offered to the leader of its team. */
const offer = ({
  redelivered = false,
  team = ops
}: {
  readonly redelivered?: boolean
  readonly team?: TeamName
} = {}) =>
  Effect.gen(function* () {
    const run = yield* newMessage({ team })
    yield* step({ accepts: [run] })
    const offered = { team, run_id: run.run_id, redelivered }
    yield* (yield* Repo).offerRuns([offered])
    return offered
  })

/** What a leader gets of an offered run. */
const taken = ({ leader }: Leader, { redelivered, run_id }: OfferedRun) => ({
  leader,
  redelivered,
  run: expect.objectContaining({ run_id })
})

const finish = (run_id: RunId) => endOne(run_id, success("done"), 1)

const keep = (leader: Leader, run_id: RunId, ms: number) =>
  Effect.flatMap(Repo, (repo) => repo.keepRuns([{ ...who(leader), run_id }], at(ms)))

/** From both statements that tell. */
const led = (ms: number) =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const teams = yield* repo.ledTeams(at(ms))
    expect((yield* repo.claimTick(at(ms), false)).ledTeams).toEqual(teams)
    return teams
  })

export const httpLeaderStore = (test: Test): void => {
  test("the first leader that asks leads its team and takes its run; others stand by", function* () {
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    expect(yield* ask([one, two], 0)).toEqual([])
    const run = yield* offer()
    expect(yield* ask([two], 1)).toEqual([])
    expect(yield* ask([two, one], 2)).toEqual([taken(one, run)])
    expect(yield* ask([two], silence)).toEqual([])
  })

  test("a run is given with all that it is sent with", function* () {
    const repo = yield* Repo
    const one = yield* newLeader()
    yield* ask([one], 0)
    const webhook = yield* createWebhook()
    const run_id = yield* sendRun(webhook, 1)
    yield* repo.offerRuns([{ team: ops, run_id, redelivered: false }])
    const [given] = yield* ask([one], 2)
    expect([given?.run]).toEqual(yield* repo.outRuns([run_id]))
    expect(given?.run).toMatchObject({ prompt: "Deploy api", webhook: { name: webhook.name } })
  })

  test("a leader that asks again gets the same run until that is no longer out, also if it has ended", function* () {
    const one = yield* newLeader()
    yield* ask([one], 0)
    const first = yield* offer()
    expect(yield* ask([one], 1)).toEqual(yield* ask([one], 2))
    yield* endOne(first.run_id, outcomes.cancelled, 3)
    expect(yield* ask([one], 4)).toMatchObject([{ run: { run_id: first.run_id, status: "cancelled" } }])
    yield* releaseOne(first.run_id, 5)
    expect(yield* ask([one], 6)).toEqual([])
    const second = yield* offer()
    yield* finish(second.run_id)
    expect(yield* ask([one], 7)).toEqual([])
  })

  test("a run that is offered again stays with its leader; one that is not out is not offered", function* () {
    const repo = yield* Repo
    const one = yield* newLeader()
    yield* ask([one], 0)
    const first = yield* offer()
    yield* ask([one], 1)
    expect(yield* repo.offerRuns([{ ...first, redelivered: true }])).toEqual([first.run_id])
    expect(yield* ask([one], 2)).toEqual([taken(one, first)])
    yield* finish(first.run_id)
    const next = yield* offer({ redelivered: true })
    // A server was frozen.
    expect(yield* repo.offerRuns([first])).toEqual([])
    expect(yield* ask([one], 4)).toEqual([taken(one, next)])
  })

  test("only the runs of a team that had a leader over HTTP can be offered", function* () {
    const run = yield* newMessage()
    yield* step({ accepts: [run] })
    expect(yield* (yield* Repo).offerRuns([{ team: ops, run_id: run.run_id, redelivered: false }])).toEqual([])
  })

  test("a run is withdrawn when no leader is present, and then nobody has it", function* () {
    const repo = yield* Repo
    const one = yield* newLeader()
    yield* ask([one], 0)
    const run = yield* offer()
    yield* ask([one], 0)
    const absent = Duration.toMillis(absentAfter)
    const isOffered = Effect.map(repo.out, ([it]) => it?.over_http)
    expect(yield* repo.withdrawRun(run, at(absent - 1))).toBe(false)
    expect(yield* isOffered).toBe(true)
    expect(yield* repo.withdrawRun(run, at(absent))).toBe(true)
    expect(yield* isOffered).toBe(false)
    expect(yield* keep(one, run.run_id, absent)).toEqual([])
    expect(yield* ask([one], absent)).toEqual([])
    // It is not there, so it is free, whoever is present.
    expect(yield* repo.withdrawRun(run, at(absent))).toBe(true)
  })

  test("a leader that is silent is replaced by one that asks, which gets its run, marked as redelivered", function* () {
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    yield* ask([one], 0)
    const run = yield* offer()
    yield* ask([one], 0)
    expect(yield* ask([two], silence - 1)).toEqual([])
    expect(yield* ask([two], silence, false)).toEqual([])
    expect(yield* ask([two], silence)).toEqual([taken(two, { ...run, redelivered: true })])
    expect(yield* ask([one], silence)).toEqual([])
    expect(yield* keep(one, run.run_id, silence)).toEqual([])
  })

  test("a silent leader keeps its place and its run while no other asks", function* () {
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    yield* ask([one], 0)
    const run = yield* offer()
    yield* ask([one], 0)
    const kept = { ...who(one), run_id: run.run_id, cancelled: false }
    expect(yield* keep(one, run.run_id, 10 * silence)).toEqual([kept])
    expect(yield* ask([two], 11 * silence - 1)).toEqual([])
    expect(yield* ask([two, one], 99 * silence)).toMatchObject([{ leader: one.leader, redelivered: false }])
  })

  test("asking and keeping a run show that a leader is present", function* () {
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    yield* ask([one], 0)
    const asked = Duration.toMillis(renewedAfter)
    yield* ask([one], asked)
    expect(yield* ask([two], silence)).toEqual([])
    const { run_id } = yield* offer()
    yield* ask([one], asked + 1)
    yield* keep(one, run_id, silence)
    expect(yield* ask([two], 2 * silence - 1)).toEqual([])
    expect(yield* askFor([two], 2 * silence)).toEqual([[two.leader, run_id]])
  })

  test("a leader whose connection was closed is replaced sooner, unless it is back", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    const grace = Duration.toMillis(replacedAfterClose)
    yield* ask([one], 0)
    const { run_id } = yield* offer()
    yield* ask([one], 0)
    yield* repo.connectionsClosed([who(two)], at(0))
    expect(yield* askFor([two], grace)).toEqual([])
    yield* repo.connectionsClosed([who(one)], at(grace))
    yield* keep(one, run_id, grace + 1)
    expect(yield* askFor([two], 2 * grace)).toEqual([])
    yield* repo.connectionsClosed([who(one)], at(2 * grace))
    expect(yield* askFor([two], 3 * grace - 1)).toEqual([])
    expect(yield* askFor([two], 3 * grace)).toEqual([[two.leader, run_id]])
  })

  test("a leader that leaves gives back its run, which the next one gets at once, marked as redelivered", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    yield* ask([one], 0)
    yield* repo.leaveTeam(who(one), at(2))
    yield* ask([one], 1)
    const { run_id } = yield* offer()
    yield* ask([one], 2)
    yield* repo.leaveTeam(who(two), at(2))
    expect(yield* keep(one, run_id, 3)).toHaveLength(1)
    yield* repo.leaveTeam(who(one), at(2))
    expect(yield* led(3)).toEqual([])
    expect(yield* keep(one, run_id, 3)).toEqual([])
    expect(yield* ask([two, one], 4)).toMatchObject([{ leader: two.leader, redelivered: true, run: { run_id } }])
  })

  test("a request that waits does not make a leader lead that has left, and a new one does", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    const [oneAgain, twoAgain] = [
      { ...one, asked_at: at(0) },
      { ...two, asked_at: at(0) }
    ]
    yield* ask([oneAgain, twoAgain], 0)
    const { run_id } = yield* offer()
    expect(yield* askFor([oneAgain], 1)).toEqual([[one.leader, run_id]])
    yield* repo.leaveTeam(who(one), at(2))
    expect(yield* ask([oneAgain], 2)).toEqual([])
    expect(yield* led(2)).toEqual([])
    expect(yield* askFor([oneAgain, twoAgain], 2)).toEqual([[two.leader, run_id]])
    yield* repo.leaveTeam(who(two), at(2))
    // It comes back with a new request, which is asked for again as well.
    expect(yield* askFor([{ ...one, asked_at: at(3) }], 4)).toEqual([[one.leader, run_id]])
  })

  test("a leader is told to stop from the time on that the run says, until it is no longer out", function* () {
    const one = yield* newLeader()
    yield* ask([one], 0)
    const { run_id } = yield* offer()
    yield* ask([one], 1)
    expect(yield* keep(one, run_id, 2)).toMatchObject([{ cancelled: false }])
    yield* endOne(run_id, outcomes.cancelled, 5)
    expect(yield* keep(one, run_id, 4)).toMatchObject([{ cancelled: false }])
    expect(yield* keep(one, run_id, 5)).toMatchObject([{ cancelled: true }])
    yield* releaseOne(run_id, 6)
    expect(yield* keep(one, run_id, 7)).toEqual([])
  })

  test("a team is led while its leader was seen lately", function* () {
    const one = yield* newLeader()
    expect(yield* led(0)).toEqual([])
    yield* ask([one], 0)
    const absent = Duration.toMillis(absentAfter)
    expect(yield* led(absent - 1)).toEqual([ops])
    expect(yield* led(absent)).toEqual([])
    yield* ask([one], absent)
    expect(yield* led(absent)).toEqual([ops])
  })

  test("a leader whose key was revoked leads no longer, and another one gets its run", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newLeader(), yield* newLeader()]
    yield* ask([one], 0)
    const { run_id } = yield* offer()
    yield* ask([one], 0)
    yield* repo.revokeLeaderKey(ops, one.key_id)
    expect(yield* led(0)).toEqual([])
    expect(yield* ask([one], 1)).toEqual([])
    expect(yield* ask([two], 1)).toMatchObject([{ leader: two.leader, redelivered: true, run: { run_id } }])
  })

  test("a key leads its own team only, and a deleted team is forgotten", function* () {
    const repo = yield* Repo
    const other = team("other")
    const [one, two] = [yield* newLeader(), yield* newLeader(other)]
    yield* ask([{ ...one, team: other }, two], 0)
    yield* ask([one], 0)
    expect((yield* led(1)).toSorted()).toEqual([ops, other])
    const [mine, theirs] = [yield* offer(), yield* offer({ team: other })]
    expect((yield* askFor([one, two], 1)).toSorted()).toEqual(
      [
        [one.leader, mine.run_id],
        [two.leader, theirs.run_id]
      ].toSorted()
    )
    yield* finish(theirs.run_id)
    yield* repo.deleteTeam(other)
    const three = yield* newLeader(other)
    yield* ask([three], 2)
    yield* offer({ team: other })
    expect(yield* askFor([two], 3)).toEqual([])
  })

  test("leaders that ask at the same moment are one leader and its standbys", function* () {
    const leaders = yield* Effect.replicateEffect(newLeader(), 8)
    yield* Effect.forEach(leaders, (it) => ask([it], 0), { concurrency: "unbounded" })
    const { run_id } = yield* offer()
    const taken = yield* Effect.forEach(leaders, (it) => ask([it], 1), { concurrency: "unbounded" })
    expect(taken.flat().map(({ run }) => run.run_id)).toEqual([run_id])
  })

  test("reports that a leader came or left, and that it may take a run", function* () {
    const repo = yield* Repo
    const one = yield* newLeader()
    const changes = yield* subscribe(repo)
    const reported = (tag: "LeaderChanged" | "RunOffered", change: Effect.Effect<unknown, unknown, Repo>) =>
      Effect.andThen(
        change,
        Stream.fromQueue(changes).pipe(
          Stream.filterMap((it) => (it._tag === tag ? Result.succeed(it.team) : Result.failVoid)),
          Stream.runHead,
          Effect.map((it) => expect(it).toEqual(Option.some(ops)))
        )
      )
    yield* reported("LeaderChanged", ask([one], 0))
    yield* reported("RunOffered", offer())
    yield* reported("LeaderChanged", repo.leaveTeam(who(one), at(2)))
  })
}
