import { Context, type DateTime, Duration, type Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { LeaderId, LeaderKeyId, RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { OutRun } from "./RunStore.ts"

/** A leader over HTTP. */
export interface HttpLeader {
  readonly team: TeamName
  readonly leader: LeaderId
}

/** A leader with this key of its team. */
export interface KeyedLeader extends HttpLeader {
  readonly key_id: LeaderKeyId
}

/** A leader that asks for its team's prompts. */
export interface AskingLeader extends KeyedLeader {
  /**
   * When its request came. The server asks again while the request waits, which does not count any longer if the leader has
   * left since then: its connection may close later than the leader leaves.
   */
  readonly asked_at: DateTime.Utc
}

/** A run that is out, for its team's leader over HTTP. */
export interface OfferedRun {
  readonly team: TeamName
  readonly run_id: RunId
  /** A leader may have begun it. */
  readonly redelivered: boolean
}

/** A run that a leader has. It may have ended since it was offered. */
export interface TakenRun extends Pick<HttpLeader, "leader"> {
  readonly run: OutRun
  readonly redelivered: boolean
}

/** A leader, and the run that it works on. */
export interface Work extends HttpLeader {
  readonly run_id: RunId
}

/** How long a leader is silent until another one may take its place and its prompt. */
export const replacedAfter = Duration.seconds(6)
/** The same for a leader whose connection was closed: time to connect again. */
export const replacedAfterClose = Duration.seconds(3)
/** How long a leader is silent until its team counts as stopped, which is later, so that another one can take its place. */
export const absentAfter = Duration.seconds(8)
/** Sooner, asking again does not renew what is known of a leader. */
export const renewedAfter = Duration.millis(1500)

/**
 * Which leader over HTTP leads each team, and which run it may take. The run itself is the prompt: a leader has it until it
 * is no longer out. One leader leads a team, while others stand by; it stays the leader until it leaves, its key is revoked or
 * it is silent. Changes are reported as `LeaderChanged` and `RunOffered`. A crash of the database may lose the changes of its
 * last second.
 */
export class HttpLeaderStore extends Context.Service<
  HttpLeaderStore,
  {
    /**
     * Each of these leads its team from now on if nobody else does, and stays its leader. Of several of a team, the first
     * one counts. `mayReplace`: also if the current leader was silent for `replacedAfter`. Returns the runs that their teams
     * were offered: those that lead have them now.
     */
    readonly askToLead: (
      leaders: ReadonlyArray<AskingLeader>,
      now: DateTime.Utc,
      options: { readonly mayReplace: boolean }
    ) => Effect.Effect<ReadonlyArray<TakenRun>, Unavailable>
    /** These leaders still work. Returns those whose runs are still theirs, and out, and whether they are told to stop. */
    readonly keepRuns: (
      works: ReadonlyArray<Work>,
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<Work & { readonly cancelled: boolean }>, Unavailable>
    /** The leaders' connections were closed. They are replaced soon, unless they connect again. */
    readonly connectionsClosed: (
      leaders: ReadonlyArray<HttpLeader>,
      now: DateTime.Utc
    ) => Effect.Effect<void, Unavailable>
    /** The leader does not lead the team any longer. If it has a run, the next leader gets that. */
    readonly leaveTeam: (leader: HttpLeader, now: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /**
     * The teams' leaders may take these runs, as far as they are out. One that a team has already stays as it is. Returns
     * those of teams that have, or had, a leader over HTTP.
     */
    readonly offerRuns: (runs: ReadonlyArray<OfferedRun>) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
    /** No leader over HTTP can take the run any longer. Returns false, and does nothing, if one is present. */
    readonly withdrawRun: (
      run: Pick<OfferedRun, "team" | "run_id">,
      now: DateTime.Utc
    ) => Effect.Effect<boolean, Unavailable>
    /** The teams whose leaders are present. */
    readonly ledTeams: (now: DateTime.Utc) => Effect.Effect<ReadonlyArray<TeamName>, Unavailable>
  }
>()("webhook-trigger/HttpLeaderStore") {}
