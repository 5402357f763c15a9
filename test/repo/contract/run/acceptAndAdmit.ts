import { expect } from "@effect/vitest"
import { Effect, Either } from "effect"
import type { RunId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { acquireTerm, admitOne, at, count, createWebhook, newRun, ops, team, unlimited } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const accepted = { _tag: "Accepted", admitted: false } as const
const admitted = { _tag: "Accepted", admitted: true } as const

export const acceptancesThatAdmit = (test: Test): void => {
  test(
    "admits a run with its acceptance when that is asked for, and no run before it waits",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const runs = [yield* newRun(webhook), yield* newRun(webhook), yield* newRun(webhook)] as const
      const run_ids = new Set([runs[0].run_id, runs[2].run_id])
      const answers = yield* repo.accept(runs, { ...unlimited, admission: { term, run_ids, at: at(0) } })
      // The third one is behind the second, which waits.
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
