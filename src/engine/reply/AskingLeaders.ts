import { Clock, DateTime, type Duration, Effect, FiberSet, type Option, Schedule, type Scope } from "effect"
import { TooManyStreams, Unauthorized, Unavailable } from "../../domain/Errors.ts"
import type { LeaderId } from "../../domain/Id.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { type AskingLeader, HttpLeaderStore, type KeyedLeader, type TakenRun } from "../../repo/run/HttpLeaderStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Shutdown } from "../Shutdown.ts"

/** How often waiting leaders ask again: they stay their teams' leaders, or take the place of silent ones. */
const interval = "1 second"
const mostTogether = 1_000

/** Maximum number of leaders that wait at this process with one key. */
const mostOfKey = 100

type Refusal = TooManyStreams | Unauthorized | Unavailable
type Answer = Effect.Effect<Option.Option<TakenRun>, Refusal>

interface Waiting {
  readonly asking: AskingLeader
  readonly answer: (answer: Answer) => void
}

/** Leaders that wait for a run. All of them ask with one statement a second. */
interface AskingLeaders {
  /** The leader's run, once it leads its team and there is one; none after that time, but not before it was asked for once. */
  readonly ask: (from: KeyedLeader, wait: Duration.Duration) => Answer
}

export const make: Effect.Effect<
  AskingLeaders,
  never,
  ChangeFeed | HttpLeaderStore | Scope.Scope | Shutdown | TeamLeaders
> = Effect.gen(function* () {
  const store = yield* HttpLeaderStore
  const feed = yield* ChangeFeed
  const shutdown = yield* Shutdown
  const { mayReplace } = yield* TeamLeaders
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never>()
  const waiting = new Map<LeaderId, Waiting>()

  const askTogether = yield* GroupCommit.make({
    size: mostTogether,
    commit: (leaders: ReadonlyArray<AskingLeader>) =>
      Effect.gen(function* () {
        const taken = yield* store.askToLead(leaders, yield* DateTime.now, { mayReplace: mayReplace() })
        const byLeader = new Map(taken.map((it) => [it.leader, it]))
        return leaders.map(({ leader }) => byLeader.get(leader))
      })
  })
  /** If it fails, they ask again in a second. */
  const askFor = (asking: ReadonlyArray<Waiting>) =>
    askTogether(asking.map(({ asking }) => asking)).pipe(
      Effect.map((runs) => {
        for (const [index, taken] of runs.entries()) {
          if (taken !== undefined) asking[index]!.answer(Effect.succeedSome(taken))
        }
      }),
      Effect.ignoreCause({ log: "Debug" })
    )

  yield* feed.listen((changes) => {
    for (const change of changes) {
      if (change._tag === "RunOffered" || change._tag === "LeaderChanged") {
        const ofTeam = [...waiting.values()].filter(({ asking }) => asking.team === change.team)
        if (ofTeam.length > 0) fork(askFor(ofTeam))
      } else if (change._tag === "LeaderKeyRevoked") {
        for (const { answer, asking } of waiting.values()) {
          if (asking.key_id === change.leader_key_id) answer(Effect.fail(revoked))
        }
      }
    }
  })
  yield* Effect.suspend(() => askFor([...waiting.values()])).pipe(
    Effect.repeat(Schedule.spaced(interval)),
    Effect.forkScoped
  )

  const isOneTooMany = ({ key_id, leader }: KeyedLeader): boolean => {
    let others = 0
    for (const { asking } of waiting.values()) if (asking.key_id === key_id && asking.leader !== leader) others++
    return others >= mostOfKey
  }

  const answered = (from: KeyedLeader, wait: Duration.Duration): Answer => {
    const asking = { ...from, asked_at: DateTime.makeUnsafe(clock.currentTimeMillisUnsafe()) }
    let stop = () => {}
    return Effect.callback<Option.Option<TakenRun>, Refusal>((resume) => {
      // Its earlier request was given up, or the answer to it was lost.
      waiting.get(asking.leader)?.answer(Effect.succeedNone)
      const it: Waiting = { asking, answer: resume }
      waiting.set(asking.leader, it)
      const stopListening = shutdown.onStopWaiting(() => resume(stopping))
      const untilThen = Effect.delay(
        Effect.sync(() => resume(Effect.succeedNone)),
        wait
      )
      const asked = fork(Effect.andThen(askFor([it]), untilThen))
      stop = () => {
        stopListening()
        asked.interruptUnsafe(undefined)
        if (waiting.get(asking.leader) === it) waiting.delete(asking.leader)
      }
    }).pipe(Effect.ensuring(Effect.sync(() => stop())))
  }

  return {
    ask: (from, wait) =>
      Effect.suspend(() =>
        isOneTooMany(from) ? new TooManyStreams({ limit: mostOfKey, of: "key" }) : answered(from, wait)
      )
  }
})

/** Leaders then ask another server. */
export const stopping = new Unavailable({ what: "server", detail: "The server is stopping." })

const revoked = new Unauthorized({ detail: "The leader key was revoked." })
