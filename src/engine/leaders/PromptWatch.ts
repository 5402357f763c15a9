import { Effect, FiberSet, Option, Schedule, type Scope } from "effect"
import type { TeamName } from "../../domain/Team.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HttpLeaderStore, type PromptState } from "../../repo/run/HttpLeaderStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"

/** How often all watched states are read, as notifications can be lost. */
const pollInterval = "1 second"
const mostTogether = 1_000

/** Called with the state of a team's last prompt; with none if the team was offered none. */
export type OnState = (state: Option.Option<PromptState>) => void

interface Watcher {
  readonly onState: OnState
  readonly came: number
}

/** Watches the prompts that teams' leaders have, whichever process changes them. */
export interface PromptWatch {
  /** Calls `onState` now, when the prompt changes, and once a second, until the returned function is called. */
  readonly watch: (team: TeamName, onState: OnState) => () => void
}

export const make: Effect.Effect<PromptWatch, never, ChangeFeed | HttpLeaderStore | Scope.Scope> = Effect.gen(
  function* () {
    const store = yield* HttpLeaderStore
    const feed = yield* ChangeFeed
    const fork = yield* FiberSet.makeRuntime<never>()
    const watchers = new Map<TeamName, Set<Watcher>>()
    /** Counts watchers and reads: a state that was read before a watcher came is not for it. */
    let order = 0

    const read = yield* GroupCommit.make({
      size: mostTogether,
      commit: (teams: ReadonlyArray<TeamName>) => {
        const begun = ++order
        return Effect.map(store.promptStates(teams), (states) => {
          const byTeam = new Map(states.map((state) => [state.team, state]))
          return teams.map((team) => ({ begun, state: Option.fromNullable(byTeam.get(team)) }))
        })
      }
    })
    /** If it fails, the next poll follows in a second. */
    const look = (teams: ReadonlyArray<TeamName>) =>
      read(teams).pipe(
        Effect.map((states) => {
          for (const [index, team] of teams.entries()) {
            const { begun, state } = states[index]!
            for (const { came, onState } of watchers.get(team) ?? []) if (came < begun) onState(state)
          }
        }),
        Effect.ignoreLogged
      )

    yield* feed.listen((changes) => {
      const teams = changes.flatMap((change) =>
        (change._tag === "PromptChanged" || change._tag === "LeaderChanged") && watchers.has(change.team)
          ? [change.team]
          : []
      )
      if (teams.length > 0) fork(look(teams))
    })
    yield* Effect.suspend(() => look([...watchers.keys()])).pipe(
      Effect.repeat(Schedule.spaced(pollInterval)),
      Effect.forkScoped
    )

    return {
      watch: (team, onState) => {
        const ofTeam = watchers.get(team) ?? new Set()
        const watcher = { onState, came: ++order }
        ofTeam.add(watcher)
        watchers.set(team, ofTeam)
        fork(look([team]))
        return () => {
          ofTeam.delete(watcher)
          if (ofTeam.size === 0 && watchers.get(team) === ofTeam) watchers.delete(team)
        }
      }
    }
  }
)
