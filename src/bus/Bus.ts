import { Context, Data, type DateTime, type Deferred, type Duration, type Effect, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { AgentReport } from "../domain/run/AgentReport.ts"
import type { RunSource } from "../domain/run/Run.ts"
import type { TeamName } from "../domain/Team.ts"

/** What a team's leader is asked to do. */
export interface Prompt {
  readonly run_id: RunId
  /** Opaque to the leader, which sends it back with every reply: by it the server knows which run the reply is about. */
  readonly correlation_id: string
  readonly source: RunSource
  /** Absent for a chat message. */
  readonly webhook?: { readonly id: WebhookId; readonly name: string }
  readonly team: TeamName
  readonly prompt: string
  /** The template that the prompt was rendered from: instructions without data. Absent for a chat message. */
  readonly template?: string
  /** What was inserted into it, as text, by the placeholders' names: data, which may come from anybody. */
  readonly values?: Readonly<Record<string, string>>
  /** In wait mode: after this no caller waits for the answer, and the broker need not deliver the prompt. */
  readonly deadline?: DateTime.Utc
  /** The trace that it belongs to, as `traceparent` of W3C trace context writes it. */
  readonly traceparent?: string
}

/** What a leader sends back about the run of a prompt. Any of these may come late, twice or never. */
export type LeaderReply =
  | { readonly _tag: "Started" }
  | { readonly _tag: "Answered"; readonly response: string; readonly report?: AgentReport }
  | { readonly _tag: "Failed"; readonly message: string; readonly report?: AgentReport }

/** The broker gave up on the prompt before the leader acknowledged it. */
export interface DeadLettered {
  readonly _tag: "DeadLettered"
  readonly reason: "expired" | "rejected" | "delivery_limit"
}

/** What comes back about a run, from its leader or from the broker. */
export type Reply = (LeaderReply | DeadLettered) & { readonly run_id: RunId }

/** Whose prompt a reply answers. */
export interface Subject {
  readonly run_id: RunId
  /** None: not known. Replies of one team never overtake each other. */
  readonly team?: TeamName
}

/** How the server tells replies to its prompts from what anybody else may have sent. */
export interface Correlation {
  /** Whose prompt has this correlation id; `undefined`: nobody's, and what carries it is to be dropped unread. */
  readonly subjectOf: (correlation_id: string) => Subject | undefined
}

/** Runs that take an answer. `live`: it would end them; `late`: they have ended, and nobody waits for it. */
export type Answerable = ReadonlyMap<RunId, "live" | "late">

/** What the server says of replies before they are handled. */
export interface ReplyChecks {
  readonly correlation: Correlation
  /** Of these runs, those of which an answer would still be stored: asked before a long reply is read. Default: all are live. */
  readonly answerable?: (runs: ReadonlyArray<RunId>) => Effect.Effect<Answerable, Unavailable>
  /** No reply can change anything of this run any more, as far as is known: it is dropped unread. Default: of none. */
  readonly isOver?: (run: RunId) => boolean
  /** Replies that are taken at a time, each of up to 8 MiB; a frozen server keeps them from the others. Default: 20. */
  readonly atOnce?: number
  /** Succeeds once replies can be handled. */
  readonly ready?: Effect.Effect<void, Unavailable>
}

/** The state of a team's queue. */
export interface TeamQueue {
  readonly exists: boolean
  readonly consumers: number
  /** Prompts in the queue that are not yet delivered. */
  readonly messages: number
}

/** What the broker has of the prompts that were published to a team. */
export interface Inspection extends Pick<TeamQueue, "consumers" | "messages"> {
  /** The queue that they were published to was deleted, whether or not there is another one now. */
  readonly isReplaced: boolean
}

/** The team has no queue, or not the one meant: no leader was ever there, or it was deleted. */
export class QueueGone extends Data.TaggedError("QueueGone") {}

/** The server's side of the message bus. Layers: `BusMemory.layer` and `BusAmqp.layer`. */
export class Bus extends Context.Tag("webhook-trigger/Bus")<
  Bus,
  {
    /** Whether a confirmed prompt outlives this process. */
    readonly durable: boolean
    /**
     * Sends prompts of one team to its queue, in their order; success means that the broker has taken them all for good.
     * After a failure any of them may have been taken: they are to be sent again, from the first. `sameQueue`: only to the
     * queue that has the prompts before them; a queue that was deleted and declared again is `QueueGone` then.
     */
    readonly publish: (
      prompts: ReadonlyArray<Prompt>,
      options?: { readonly sameQueue?: boolean }
    ) => Effect.Effect<void, QueueGone | Unavailable>
    /**
     * Sends an already published prompt again, to a leader that has none, if none waits in the queue: then the broker has
     * lost the prompt. Otherwise the offer is dropped without a trace. A bus that loses nothing need not do anything.
     */
    readonly offer: (prompt: Prompt) => Effect.Effect<void, Unavailable>
    /** Asks the team's leaders to stop working on the run, or not to begin; those that do not listen for it go on. */
    readonly cancel: (team: TeamName, run_id: RunId) => Effect.Effect<void, Unavailable>
    readonly queue: (team: TeamName) => Effect.Effect<TeamQueue, Unavailable>
    /**
     * What became of the prompts that were published to the team, as the broker knows it now. After `isReplaced` prompts go
     * to the queue that is there now.
     */
    readonly inspect: (team: TeamName) => Effect.Effect<Inspection, Unavailable>
    /** Deletes the queue of a deleted team, unless something is in it or consumes it. */
    readonly removeQueue: (team: TeamName) => Effect.Effect<void, Unavailable>
    /**
     * Passes every reply to `handle` until the scope closes, in the groups in which they arrive, one group at a time,
     * reconnecting forever. Long replies may be passed alone beside that, one at a time, but those of one team stay in order.
     * Replies are acknowledged once `handle` has succeeded; when it fails they are tried again,
     * never dropped. What is not a reply to one of the server's prompts, as `correlation` says, is never passed on. A bus with
     * several servers gives the replies of one whose `handle` fails, or takes more than 2 seconds, to the others, and none to
     * it before `ready` succeeds.
     */
    readonly consume: (
      handle: (replies: ReadonlyArray<Reply>) => Effect.Effect<void, Unavailable>,
      checks: ReplyChecks
    ) => Effect.Effect<void, never, Scope.Scope>
    /** How many replies, of all teams, wait for a server to receive them. */
    readonly repliesWaiting: Effect.Effect<number, Unavailable>
    /** Succeeds when the broker answers, also while it takes no messages for want of memory or disk. */
    readonly reachable: Effect.Effect<void, Unavailable>
    /** Succeeds when the broker takes messages. */
    readonly ping: Effect.Effect<void, Unavailable>
  }
>() {}

/** A prompt as the leader gets it. */
export interface Delivery {
  readonly prompt: Prompt
  /** The broker has delivered it before; the leader may have begun it. */
  readonly redelivered: boolean
  /** Done when the leader is asked to stop working on the run, or not to begin. */
  readonly cancelled: Deferred.Deferred<void>
  /** Sends a reply about the prompt's run; success means that the broker has taken it for good. */
  readonly reply: (reply: LeaderReply) => Effect.Effect<void, Unavailable>
}

/** The leader's side of the message bus. Layers: `BusMemory.layer` and `LeaderAmqp.layer`. */
export class LeaderBus extends Context.Tag("webhook-trigger/LeaderBus")<
  LeaderBus,
  {
    /**
     * Consumes the team's prompts one at a time until the scope closes, declaring the queue if needed and reconnecting
     * forever. A prompt is acknowledged after `handle`; a prompt whose `handle` was interrupted is delivered again,
     * first; one on which `handle` dies is rejected. When two lead one team, only one of them is given work.
     * When the scope closes, the prompt in work may go on for `grace` (default: none), then it is interrupted.
     */
    readonly lead: (
      team: TeamName,
      handle: (delivery: Delivery) => Effect.Effect<void, Unavailable>,
      options?: { readonly grace?: Duration.DurationInput }
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>() {}
