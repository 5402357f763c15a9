import { Context, type DateTime, Duration, type Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { LeaderId, LeaderKeyId, RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"

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

/** A prompt that the bus delivered for the team's leader. */
export interface OfferedPrompt {
  readonly team: TeamName
  readonly run_id: RunId
  /** Its text on the wire. */
  readonly prompt: string
  /** Another leader may have begun it. */
  readonly redelivered: boolean
}

/** A prompt that the leader has taken, and not finished. */
export interface TakenPrompt extends OfferedPrompt, HttpLeader {
  readonly cancelled: boolean
}

/** The last prompt that a team was offered. */
export interface PromptState {
  readonly team: TeamName
  readonly run_id: RunId
  /** The leader that leads the team. */
  readonly leader?: LeaderId
  /** It was answered, or need not be. */
  readonly done: boolean
  readonly cancelled: boolean
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
 * Which leader over HTTP leads each team, and the prompt that it may take or has. One leader leads a team, while others
 * stand by; it stays the leader until it leaves, its key is revoked or it is silent. Changes are
 * reported as `LeaderChanged` and `PromptChanged`. A crash of the database may lose the changes of its last second.
 */
export class HttpLeaderStore extends Context.Tag("webhook-trigger/HttpLeaderStore")<
  HttpLeaderStore,
  {
    /**
     * Each of these leads its team from now on if nobody else does, and stays its leader. Of several of a team, the first
     * one counts. `mayReplace`: also if the current leader was silent for `replacedAfter`. Returns the unfinished prompts of
     * those that lead: they have taken them.
     */
    readonly askToLead: (
      leaders: ReadonlyArray<AskingLeader>,
      now: DateTime.Utc,
      options: { readonly mayReplace: boolean }
    ) => Effect.Effect<ReadonlyArray<TakenPrompt>, Unavailable>
    /** These leaders still work on their prompts. Returns those whose prompts are still theirs, and unfinished. */
    readonly keepPrompts: (
      prompts: ReadonlyArray<HttpLeader & { readonly run_id: RunId }>,
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<HttpLeader & { readonly run_id: RunId; readonly cancelled: boolean }>, Unavailable>
    /** The leaders' connections were closed. They are replaced soon, unless they connect again. */
    readonly connectionsClosed: (
      leaders: ReadonlyArray<HttpLeader>,
      now: DateTime.Utc
    ) => Effect.Effect<void, Unavailable>
    /** The leader does not lead the team any longer. If it has a prompt, the next leader gets that. */
    readonly leaveTeam: (leader: HttpLeader, now: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /** Replaces the prompts of these teams. A prompt that a team has already stays as it is, taken or done. */
    readonly offerPrompts: (prompts: ReadonlyArray<OfferedPrompt>) => Effect.Effect<void, Unavailable>
    /** The leader of an unfinished prompt is asked to stop. */
    readonly cancelPrompt: (prompt: Pick<OfferedPrompt, "team" | "run_id">) => Effect.Effect<void, Unavailable>
    /** Nobody needs to work on the prompt any longer. Its text is deleted. */
    readonly finishPrompt: (prompt: Pick<OfferedPrompt, "team" | "run_id">) => Effect.Effect<void, Unavailable>
    /** Of the teams that were offered a prompt. */
    readonly promptStates: (teams: ReadonlyArray<TeamName>) => Effect.Effect<ReadonlyArray<PromptState>, Unavailable>
    /** The teams whose leaders are present. */
    readonly ledTeams: (now: DateTime.Utc) => Effect.Effect<ReadonlyArray<TeamName>, Unavailable>
  }
>() {}
