import { Clock, Context, DateTime, Effect, Latch, Layer, Option } from "effect"
import { Bus } from "../../bus/Bus.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { TeamName } from "../../domain/Team.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HttpLeaderStore } from "../../repo/run/HttpLeaderStore.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import * as ReplacementGrace from "./ReplacementGrace.ts"

/** In milliseconds: the teams with leaders over HTTP are read if nobody told them for this long. */
const untoldFor = 1_250
/** The shortest time between two such reads. */
const pause = "50 millis"
/** Questions to the broker at a time, and how long the answers may take. */
const atOnce = 8
const answersWithin = "3 seconds"

/** Teams with and without a leader. */
export interface FoundLeaders {
  readonly led: ReadonlyArray<TeamName>
  readonly leaderless: ReadonlyArray<TeamName>
  /** The broker did not say. */
  readonly unknown: ReadonlyArray<TeamName>
  /** The reason is that it did not answer in time. */
  readonly timedOut: boolean
}

/** Who leads teams: consumers of their queues, and leaders over HTTP. While one of the latter is present, it gets the runs. */
export class TeamLeaders extends Context.Service<
  TeamLeaders,
  {
    /** A leader over HTTP is present, as this process knows: it is told or reads each second, and when leaders change. */
    readonly isOverHttp: (team: TeamName) => boolean
    readonly isLed: (team: TeamName) => Effect.Effect<boolean, Unavailable>
    /** The same for several, in bounded time. */
    readonly find: (teams: ReadonlyArray<TeamName>) => Effect.Effect<FoundLeaders>
    /** The consumers of the team's queue, and its leader over HTTP, without those that stand by for that one. */
    readonly count: (team: TeamName) => Effect.Effect<number, Unavailable>
    /** As in `ReplacementGrace`. */
    readonly mayReplace: () => boolean
    /** The teams with a leader over HTTP, as from `HttpLeaderStore.ledTeams` just now. */
    readonly learn: (ledTeams: ReadonlyArray<TeamName>) => void
  }
>()("webhook-trigger/TeamLeaders") {
  static readonly layer: Layer.Layer<TeamLeaders, never, Bus | ChangeFeed | HttpLeaderStore> = Layer.effect(
    TeamLeaders,
    Effect.gen(function* () {
      const bus = yield* Bus
      const feed = yield* ChangeFeed
      const store = yield* HttpLeaderStore
      const clock = yield* Clock.Clock
      const grace = ReplacementGrace.make(clock)
      let overHttp: ReadonlySet<TeamName> = new Set()

      let toldAt = Number.NEGATIVE_INFINITY
      const learn = (ledTeams: ReadonlyArray<TeamName>) => {
        overHttp = new Set(ledTeams)
        toldAt = stopwatch(clock)
        grace.read()
      }
      const read = Effect.flatMap(DateTime.now, store.ledTeams).pipe(
        Effect.map(learn),
        Effect.ignoreCause({ log: "Debug" })
      )

      const changed = yield* Latch.make()
      yield* feed.listen((changes) => {
        if (changes.some(({ _tag }) => _tag === "LeaderChanged" || _tag === "LeaderKeyRevoked")) changed.openUnsafe()
      })
      yield* read
      yield* Effect.gen(function* () {
        const left = Math.max(0, toldAt + untoldFor - stopwatch(clock))
        const isChanged = Option.isSome(yield* Effect.timeoutOption(changed.await, left))
        if (!isChanged && stopwatch(clock) < toldAt + untoldFor) return
        changed.closeUnsafe()
        yield* read
        yield* Effect.sleep(pause)
      }).pipe(Effect.forever, Effect.forkScoped)

      const isOverHttp = (team: TeamName) => overHttp.has(team)
      const isLed = (team: TeamName) =>
        isOverHttp(team) ? Effect.succeed(true) : Effect.map(bus.queue(team), ({ consumers }) => consumers > 0)
      return TeamLeaders.of({
        isOverHttp,
        isLed,
        find: Effect.fnUntraced(function* (teams) {
          const answers = new Map<TeamName, boolean>()
          const ask = (team: TeamName) => Effect.ignore(Effect.map(isLed(team), (isLed) => answers.set(team, isLed)))
          const asked = Effect.forEach(teams, ask, { concurrency: atOnce, discard: true })
          const timedOut = Option.isNone(yield* Effect.timeoutOption(asked, answersWithin))
          const having = (answer: boolean | undefined) => teams.filter((team) => answers.get(team) === answer)
          return { led: having(true), leaderless: having(false), unknown: having(undefined), timedOut }
        }),
        count: (team) => Effect.map(bus.queue(team), ({ consumers }) => consumers + Number(isOverHttp(team))),
        mayReplace: grace.mayReplace,
        learn
      })
    })
  )
}
