import { Context, DateTime, Effect, Layer } from "effect"
import { Bus } from "../../bus/Bus.ts"
import { type Invalid, type NotFound, type TeamExists, type TeamInUse, type Unavailable } from "../../domain/Errors.ts"
import { teamNameOf } from "../../domain/ParsedId.ts"
import { type Team, TeamDraft, type TeamName, type TeamRecord, type TeamReleased } from "../../domain/Team.ts"
import { validate } from "../../domain/Validation.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import * as Audit from "../access/Audit.ts"
import { TeamLeaders } from "../leaders/TeamLeaders.ts"
import { Steps } from "../step/Steps.ts"

/** Manages teams. An invalid team name is `NotFound`. */
export class Teams extends Context.Service<
  Teams,
  {
    /** All teams, with whether they are running. */
    readonly list: Effect.Effect<ReadonlyArray<Team>, Unavailable>
    /** When the oldest queued run of each team was accepted. Reads the runs, unlike all else here. */
    readonly oldestQueued: Effect.Effect<ReadonlyMap<TeamName, DateTime.Utc>, Unavailable>
    readonly show: (team: string) => Effect.Effect<Team, NotFound | Unavailable>
    /** From an unchecked draft. Lists every fault. */
    readonly create: (draft: unknown) => Effect.Effect<Team, Invalid | TeamExists | Unavailable>
    /** New runs are accepted and wait. Prompts already sent will finish. */
    readonly pause: (team: string) => Effect.Effect<Team, NotFound | Unavailable>
    readonly resume: (team: string) => Effect.Effect<Team, NotFound | Unavailable>
    /** Frees it from ended runs whose agents may still work, and tells its leaders to stop them. */
    readonly release: (team: string) => Effect.Effect<TeamReleased, NotFound | Unavailable>
    /** Deletes its queue too, unless a leader still consumes it. */
    readonly remove: (team: string) => Effect.Effect<void, NotFound | TeamInUse | Unavailable>
  }
>()("webhook-trigger/Teams") {
  static readonly layer: Layer.Layer<Teams, never, Bus | Steps | TeamLeaders | TeamStore> = Layer.effect(
    Teams,
    Effect.gen(function* () {
      const bus = yield* Bus
      const leaders = yield* TeamLeaders
      const store = yield* TeamStore
      const steps = yield* Steps

      const withState = (record: TeamRecord): Effect.Effect<Team, Unavailable> =>
        Effect.map(leaders.count(record.team), (consumers) => ({ ...record, running: consumers > 0, consumers }))

      const create = Effect.fn("Teams.create")(function* (draft: unknown) {
        const { team } = yield* decodeDraft(draft)
        return yield* withState(yield* store.createTeam(team, yield* DateTime.now, yield* Audit.draft("team.created")))
      })

      const remove = Effect.fn("Teams.remove")(function* (team: TeamName) {
        yield* store.deleteTeam(team, yield* Audit.draft("team.deleted"))
        // The rows decide which teams exist; a leftover queue is only untidy.
        yield* Effect.catchTag(bus.removeQueue(team), "Unavailable", ({ detail }) =>
          Effect.logWarning(`The queue of the deleted team ${team} is left behind: ${detail}`)
        )
      })

      const pause = Effect.fn("Teams.pause")(function* (team: TeamName) {
        return yield* withState(yield* store.pauseTeam(team, yield* DateTime.now, yield* Audit.draft("team.paused")))
      })

      const resume = Effect.fn("Teams.resume")(function* (team: TeamName) {
        const resumed = yield* store.resumeTeam(team, yield* DateTime.now, yield* Audit.draft("team.resumed"))
        yield* Effect.ignoreCause({ log: "Debug" })(steps.admit([team]))
        return yield* withState(resumed)
      })

      const release = Effect.fn("Teams.release")(function* (team: TeamName) {
        const released = yield* store.releaseTeam(team, yield* DateTime.now, yield* Audit.draft("team.released"))
        yield* Effect.ignoreCause({ log: "Debug" })(steps.admit([team]))
        yield* Effect.forEach(released, (run_id) => Effect.ignoreCause({ log: "Debug" })(bus.cancel(team, run_id)), {
          discard: true
        })
        return { released }
      })

      return Teams.of({
        list: Effect.flatMap(store.teams, Effect.forEach(withState, { concurrency: 16 })),
        oldestQueued: store.oldestQueued,
        show: (team) => Effect.flatMap(teamNameOf(team), (team) => Effect.flatMap(store.team(team), withState)),
        create,
        pause: (team) => Effect.flatMap(teamNameOf(team), pause),
        resume: (team) => Effect.flatMap(teamNameOf(team), resume),
        release: (team) => Effect.flatMap(teamNameOf(team), release),
        remove: (team) => Effect.flatMap(teamNameOf(team), remove)
      })
    })
  )
}

const decodeDraft = validate(TeamDraft)
