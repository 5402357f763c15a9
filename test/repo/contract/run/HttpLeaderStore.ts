import { expect } from "@effect/vitest"
import { Duration, Effect, Option, Stream } from "effect"
import { v4 } from "uuid"
import { type LeaderId, makeLeaderKeyId, makeRunId, type RunId } from "../../../../src/domain/Id.ts"
import type { TeamName } from "../../../../src/domain/Team.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  type AskingLeader,
  absentAfter,
  renewedAfter,
  replacedAfter,
  replacedAfterClose
} from "../../../../src/repo/run/HttpLeaderStore.ts"
import { at, newTokenHash, ops, team } from "../fixtures.ts"
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

type Leader = Effect.Effect.Success<ReturnType<typeof newLeader>>

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
  Effect.map(ask(leaders, ms), (taken) => taken.map(({ leader, run_id }) => [leader, run_id]))

const offer = (fields: { readonly redelivered?: boolean; readonly team?: TeamName; readonly run_id?: RunId } = {}) =>
  Effect.gen(function* () {
    const prompt = {
      team: ops,
      run_id: yield* makeRunId,
      prompt: '{"prompt":"a\\u0000b"}',
      redelivered: false,
      ...fields
    }
    yield* (yield* Repo).offerPrompts([prompt])
    return prompt
  })

const keep = (leader: Leader, run_id: RunId, ms: number) =>
  Effect.flatMap(Repo, (repo) => repo.keepPrompts([{ ...who(leader), run_id }], at(ms)))

const stateOf = (of: TeamName = ops) =>
  Effect.flatMap(Repo, (repo) => Effect.map(repo.promptStates([of]), ([state]) => state))

const led = (ms: number) => Effect.flatMap(Repo, (repo) => repo.ledTeams(at(ms)))

export const httpLeaderStore = (test: Test): void => {
  test(
    "the first leader that asks leads its team and takes its prompts; others stand by",
    Effect.gen(function* () {
      const [one, two] = [yield* newLeader(), yield* newLeader()]
      expect(yield* ask([one, two], 0)).toEqual([])
      expect(yield* stateOf()).toBeUndefined()
      const prompt = yield* offer()
      expect(yield* ask([two], 1)).toEqual([])
      expect(yield* ask([two, one], 2)).toEqual([{ ...prompt, leader: one.leader, cancelled: false }])
      expect(yield* ask([two], silence)).toEqual([])
      const { run_id } = prompt
      expect(yield* stateOf()).toEqual({ team: ops, run_id, leader: one.leader, done: false, cancelled: false })
    })
  )

  test(
    "a leader that asks again gets the same prompt until that is finished",
    Effect.gen(function* () {
      const repo = yield* Repo
      const one = yield* newLeader()
      yield* ask([one], 0)
      const prompt = yield* offer()
      expect(yield* ask([one], 1)).toEqual(yield* ask([one], 2))
      yield* repo.finishPrompt({ team: ops, run_id: yield* makeRunId })
      expect(yield* askFor([one], 3)).toEqual([[one.leader, prompt.run_id]])
      yield* repo.finishPrompt(prompt)
      expect(yield* ask([one], 4)).toEqual([])
      expect(yield* stateOf()).toMatchObject({ run_id: prompt.run_id, done: true })
    })
  )

  test(
    "a prompt that is offered again stays with its leader, or stays finished; another one takes its place",
    Effect.gen(function* () {
      const repo = yield* Repo
      const one = yield* newLeader()
      yield* ask([one], 0)
      const prompt = yield* offer()
      yield* ask([one], 1)
      yield* offer({ run_id: prompt.run_id, redelivered: true })
      expect(yield* ask([one], 2)).toEqual([{ ...prompt, leader: one.leader, cancelled: false }])
      yield* repo.finishPrompt(prompt)
      yield* offer({ run_id: prompt.run_id, redelivered: true })
      expect(yield* ask([one], 3)).toEqual([])
      const next = yield* offer({ redelivered: true })
      expect(yield* ask([one], 4)).toEqual([{ ...next, leader: one.leader, cancelled: false }])
    })
  )

  test(
    "a leader that is silent is replaced by one that asks, which gets its prompt, marked as redelivered",
    Effect.gen(function* () {
      const [one, two] = [yield* newLeader(), yield* newLeader()]
      yield* ask([one], 0)
      const prompt = yield* offer()
      yield* ask([one], 0)
      expect(yield* ask([two], silence - 1)).toEqual([])
      expect(yield* ask([two], silence, false)).toEqual([])
      expect(yield* ask([two], silence)).toEqual([
        { ...prompt, redelivered: true, leader: two.leader, cancelled: false }
      ])
      expect(yield* ask([one], silence)).toEqual([])
      expect(yield* keep(one, prompt.run_id, silence)).toEqual([])
    })
  )

  test(
    "a silent leader keeps its place and its prompt while no other asks",
    Effect.gen(function* () {
      const [one, two] = [yield* newLeader(), yield* newLeader()]
      yield* ask([one], 0)
      const prompt = yield* offer()
      yield* ask([one], 0)
      const kept = { ...who(one), run_id: prompt.run_id, cancelled: false }
      expect(yield* keep(one, prompt.run_id, 10 * silence)).toEqual([kept])
      expect(yield* ask([two], 11 * silence - 1)).toEqual([])
      expect(yield* ask([two, one], 99 * silence)).toMatchObject([{ leader: one.leader, redelivered: false }])
    })
  )

  test(
    "asking and keeping a prompt show that a leader is present",
    Effect.gen(function* () {
      const [one, two] = [yield* newLeader(), yield* newLeader()]
      yield* ask([one], 0)
      const asked = Duration.toMillis(renewedAfter)
      yield* ask([one], asked)
      expect(yield* ask([two], silence)).toEqual([])
      const prompt = yield* offer()
      yield* ask([one], asked + 1)
      yield* keep(one, prompt.run_id, silence)
      expect(yield* ask([two], 2 * silence - 1)).toEqual([])
      expect(yield* askFor([two], 2 * silence)).toEqual([[two.leader, prompt.run_id]])
    })
  )

  test(
    "a leader whose connection was closed is replaced sooner, unless it is back",
    Effect.gen(function* () {
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
  )

  test(
    "a leader that leaves gives back its prompt, which the next one gets at once, marked as redelivered",
    Effect.gen(function* () {
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
      expect(yield* ask([two, one], 4)).toMatchObject([{ leader: two.leader, run_id, redelivered: true }])
    })
  )

  test(
    "a request that waits does not make a leader lead that has left, and a new one does",
    Effect.gen(function* () {
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
  )

  test(
    "a cancelled prompt is shown as such to the leader that has it or gets it, until it is finished",
    Effect.gen(function* () {
      const repo = yield* Repo
      const one = yield* newLeader()
      yield* ask([one], 0)
      const prompt = yield* offer()
      yield* repo.cancelPrompt({ ...prompt, run_id: yield* makeRunId })
      expect(yield* stateOf()).toMatchObject({ cancelled: false })
      yield* repo.cancelPrompt(prompt)
      expect(yield* ask([one], 1)).toMatchObject([{ cancelled: true }])
      expect(yield* keep(one, prompt.run_id, 2)).toMatchObject([{ cancelled: true }])
      const next = yield* offer()
      yield* repo.finishPrompt(next)
      yield* repo.cancelPrompt(next)
      expect(yield* stateOf()).toMatchObject({ run_id: next.run_id, cancelled: false, done: true })
    })
  )

  test(
    "a team is led while its leader was seen lately",
    Effect.gen(function* () {
      const one = yield* newLeader()
      expect(yield* led(0)).toEqual([])
      yield* ask([one], 0)
      const absent = Duration.toMillis(absentAfter)
      expect(yield* led(absent - 1)).toEqual([ops])
      expect(yield* led(absent)).toEqual([])
      yield* ask([one], absent)
      expect(yield* led(absent)).toEqual([ops])
    })
  )

  test(
    "a leader whose key was revoked leads no longer, and another one gets its prompt",
    Effect.gen(function* () {
      const repo = yield* Repo
      const [one, two] = [yield* newLeader(), yield* newLeader()]
      yield* ask([one], 0)
      const { run_id } = yield* offer()
      yield* ask([one], 0)
      yield* repo.revokeLeaderKey(ops, one.key_id)
      expect(yield* led(0)).toEqual([])
      expect(yield* ask([one], 1)).toEqual([])
      expect(yield* ask([two], 1)).toMatchObject([{ leader: two.leader, run_id, redelivered: true }])
    })
  )

  test(
    "a key leads its own team only, and a deleted team is forgotten",
    Effect.gen(function* () {
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
      yield* repo.deleteTeam(other)
      expect(yield* stateOf(other)).toBeUndefined()
      yield* offer({ team: other })
      const three = yield* newLeader(other)
      expect(yield* ask([three], 2)).toEqual([])
      expect(yield* stateOf(other)).toBeUndefined()
    })
  )

  test(
    "leaders that ask at the same moment are one leader and its standbys",
    Effect.gen(function* () {
      const leaders = yield* Effect.replicateEffect(newLeader(), 8)
      yield* Effect.forEach(leaders, (it) => ask([it], 0), { concurrency: "unbounded" })
      const { run_id } = yield* offer()
      const taken = yield* Effect.forEach(leaders, (it) => ask([it], 1), { concurrency: "unbounded" })
      expect(taken.flat().map((it) => it.run_id)).toEqual([run_id])
    })
  )

  test(
    "reports that a leader came or left, and what happens to its prompt",
    Effect.gen(function* () {
      const repo = yield* Repo
      const one = yield* newLeader()
      const changes = yield* subscribe(repo)
      const reported = (tag: "LeaderChanged" | "PromptChanged", change: Effect.Effect<unknown, unknown, Repo>) =>
        Effect.zipRight(
          change,
          Stream.fromQueue(changes).pipe(
            Stream.filterMap((it) => (it._tag === tag ? Option.some(it.team) : Option.none())),
            Stream.runHead,
            Effect.map((it) => expect(it).toEqual(Option.some(ops)))
          )
        )
      yield* reported("LeaderChanged", ask([one], 0))
      const prompt = { team: ops, run_id: yield* makeRunId, prompt: "{}", redelivered: false }
      yield* reported("PromptChanged", repo.offerPrompts([prompt]))
      yield* reported("PromptChanged", repo.cancelPrompt(prompt))
      yield* reported("PromptChanged", repo.finishPrompt(prompt))
      yield* reported("LeaderChanged", repo.leaveTeam(who(one), at(2)))
    })
  )
}
