import { Context, Data, type DateTime, type Deferred, type Effect, type Scope } from "effect"
import type { FileMissing, Unavailable } from "../domain/Errors.ts"
import type { RunId, ThreadId, WebhookId } from "../domain/Id.ts"
import type { AgentReport, SessionUsage } from "../domain/run/AgentReport.ts"
import type { AgentRequest } from "../domain/run/AgentRequest.ts"
import type { NumberedProgress } from "../domain/run/Progress.ts"
import type { ThreadTurn } from "../domain/run/PromptBody.ts"
import type { RunFile, SentFile } from "../domain/run/RunFile.ts"
import type { RunSource } from "../domain/run/RunSource.ts"
import type { LeaderCode } from "../domain/run/RunStatus.ts"
import type { UsageLimit } from "../domain/run/UsageLimit.ts"
import type { TeamName } from "../domain/Team.ts"

/** The conversation that a prompt belongs to. */
export interface PromptThread {
  readonly id: ThreadId
  /** The agent's session that the thread's latest answer named. Absent if the agent must begin a session. */
  readonly session_id?: string
  /** The usage of the whole session, as that answer reported it. Absent if it did not. */
  readonly session_usage?: SessionUsage
  /** Its latest prompts and answers, oldest first, if the agent may not have them. */
  readonly history?: ReadonlyArray<ThreadTurn>
}

/** A prompt for a team's leader. */
export interface Prompt {
  readonly run_id: RunId
  /** Opaque to the leader, which returns it with every reply. It identifies the run. */
  readonly correlation_id: string
  readonly source: RunSource
  /** Absent for a chat message. */
  readonly webhook?: { readonly id: WebhookId; readonly name: string }
  readonly team: TeamName
  readonly prompt: string
  /** The prompt's template: instructions without data. Absent for a chat message. */
  readonly template?: string
  /** The inserted values by placeholder, as text: untrusted data. */
  readonly values?: Readonly<Record<string, string>>
  /** Absent if its webhook asks for nothing but the prompt. */
  readonly agent?: AgentRequest
  /** The files that came with the request. Absent if there are none. */
  readonly files?: ReadonlyArray<RunFile>
  /** Absent for a prompt that stands alone. The leader works on one prompt of a thread at a time, as on all prompts. */
  readonly thread?: PromptThread
  /** Only for synchronous runs. After the deadline nobody waits, and the broker need not deliver the prompt. */
  readonly deadline?: DateTime.Utc
  /** The trace, in the format of W3C `traceparent`. */
  readonly traceparent?: string
}

/** A file that the agent left: the n-th of them, from 1 on. It precedes the answer. */
export interface FileReply {
  readonly _tag: "File"
  readonly n: number
  readonly file: SentFile
}

/** A leader's reply to a prompt. It may arrive late, twice or never. */
export type LeaderReply =
  | { readonly _tag: "Started" }
  | FileReply
  /** It needs the content of the prompt's file. */
  | { readonly _tag: "FileWanted"; readonly id: string }
  | {
      readonly _tag: "Answered"
      readonly response: string
      /** The answer was longer than 1 MiB, and this is its beginning. The run ends as `error`, code `answer_too_large`. */
      readonly truncated?: true
      readonly report?: AgentReport
    }
  | {
      readonly _tag: "Failed"
      readonly message: string
      /** Its agent has reached a usage limit: the run goes back to its lane, and the team rests. */
      readonly limited?: UsageLimit
      /** Why, if it is one of these reasons. */
      readonly code?: LeaderCode
      /** Then: what there is of an answer. */
      readonly response?: string
      readonly report?: AgentReport
    }
  /** It does not work on it, because its deadline has passed. */
  | { readonly _tag: "Discarded" }

/** The broker gave up on the prompt before the leader acknowledged it. */
export interface DeadLettered {
  readonly _tag: "DeadLettered"
  readonly reason: "expired" | "rejected" | "delivery_limit"
}

/** A message about a run, from its leader or from the broker. */
export type Reply = (LeaderReply | DeadLettered) & Pick<Subject, "run_id" | "rests">

/** A leader's report about a run while it works. It may be lost. */
export type RunProgress = NumberedProgress & { readonly run_id: RunId }

/** The run that a reply is about. */
export interface Subject {
  readonly run_id: RunId
  /** Absent if unknown. Replies of one team never overtake each other. */
  readonly team?: TeamName
  /** The run's `rests` when its prompt was sent. Absent if unknown. */
  readonly rests?: number
}

/** Authenticates replies by their correlation ids. */
export interface Correlation {
  /** The run with this correlation id; `undefined` if the id is invalid and the message must be dropped unread. */
  readonly subjectOf: (correlation_id: string) => Subject | undefined
}

/** The server's checks of replies before they are handled. */
export interface ReplyChecks {
  readonly correlation: Correlation
  /** Whether no reply can change this run any longer, so that replies are dropped unread. Default: false. */
  readonly isOver?: (run: RunId) => boolean
  /** The maximum number of unacknowledged replies. Default: 20. */
  readonly atOnce?: number
  /** Succeeds once replies can be handled. */
  readonly ready?: Effect.Effect<void, Unavailable>
  /**
   * Takes progress, each report at most once and those of a leader in order, and returns at once. With several servers,
   * one of them gets all of it. Default: it is dropped.
   */
  readonly progress?: (progress: RunProgress) => void
}

/** The content of a prompt's file; without content, the news that one of the agent's files is stored. */
export interface WantedFile {
  readonly id: string
  readonly bytes: Uint8Array
  /** Why the server cannot get the file; `bytes` is empty. */
  readonly missing?: string
}

/** The state of a team's queue. */
export interface TeamQueue {
  readonly exists: boolean
  readonly consumers: number
  /** Prompts that are not yet delivered. */
  readonly messages: number
}

/** The state of the prompts published to a team. */
export interface Inspection extends Pick<TeamQueue, "consumers" | "messages"> {
  /** The queue they were published to was deleted. There may be a new one. */
  readonly isReplaced: boolean
}

/** The team's queue does not exist. */
export class QueueGone extends Data.TaggedError("QueueGone") {}

/**
 * Handles replies. One that would keep the others waiting it hands to `later`: that reply is acknowledged once `finish` has
 * succeeded, which is tried again if it fails. Without `later`, the others wait.
 */
export type ReplyHandler = (
  replies: ReadonlyArray<Reply>,
  later?: (reply: Reply, finish: Effect.Effect<void, Unavailable>) => void
) => Effect.Effect<void, Unavailable>

/** The server's side of the message bus. Layers: `BusMemory.layer` and `BusAmqp.layer`. */
export class Bus extends Context.Service<
  Bus,
  {
    /** Whether confirmed prompts survive the end of this process. */
    readonly durable: boolean
    /**
     * Sends a prompt to its team's queue. On success the broker has stored it. If the broker is unavailable, it may have stored
     * it all the same. `again`: it may have been sent before, which a leader can see.
     */
    readonly publish: (
      prompt: Prompt,
      options?: { readonly again: boolean }
    ) => Effect.Effect<void, QueueGone | Unavailable>
    /**
     * Sends a published prompt again in case the broker lost it. It is delivered only if the queue is empty and the leader
     * is idle; otherwise it is dropped. A bus that loses nothing may ignore it.
     */
    readonly offer: (prompt: Prompt) => Effect.Effect<void, Unavailable>
    /**
     * Tells the team's leaders to stop working on the run or not to start it. Its leader confirms that with a reply; leaders
     * may ignore this.
     */
    readonly cancel: (team: TeamName, run_id: RunId) => Effect.Effect<void, Unavailable>
    /**
     * Sends the team's leader a file's content, which it has asked for, or the news that its file is stored. May be lost. Absent:
     * leaders on this bus get no files.
     */
    readonly sendFile?: (team: TeamName, run_id: RunId, file: WantedFile) => Effect.Effect<void, Unavailable>
    readonly queue: (team: TeamName) => Effect.Effect<TeamQueue, Unavailable>
    /** The state of the prompts published to the team. After it reports `isReplaced`, prompts go to the new queue. */
    readonly inspect: (team: TeamName) => Effect.Effect<Inspection, Unavailable>
    /** Removes the prompts from the team's queue that no leader has. Returns how many; 0: a leader may have one. */
    readonly withdraw: (team: TeamName) => Effect.Effect<number, Unavailable>
    /** Deletes the queue of a deleted team, unless it has messages or consumers. */
    readonly removeQueue: (team: TeamName) => Effect.Effect<void, Unavailable>
    /**
     * Passes replies to `handle` in groups, one group at a time, until the scope closes. Reconnects as often as needed.
     * The replies of one team stay in order. Replies are acknowledged once `handle` succeeds, and retried if it fails.
     * Messages that fail the `correlation` check are dropped. With several servers, replies move to another server if
     * `handle` fails or takes more than 2 seconds. A server gets no replies before `ready` succeeds.
     */
    readonly consume: (handle: ReplyHandler, checks: ReplyChecks) => Effect.Effect<void, never, Scope.Scope>
    /** The number of queued replies of all teams. */
    readonly repliesWaiting: Effect.Effect<number, Unavailable>
    /** Succeeds if the broker responds, even if it is out of memory or disk space. */
    readonly reachable: Effect.Effect<void, Unavailable>
    /** Succeeds if the broker accepts messages. */
    readonly ping: Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/Bus") {}

/** A prompt delivered to a leader. */
export interface Delivery {
  readonly prompt: Prompt
  /** The broker delivered it before, so a leader may have started it. */
  readonly redelivered: boolean
  /** Done when the run was stopped: cancelled, timed out or deleted. */
  readonly cancelled: Deferred.Deferred<void>
  /** Sends a reply. On success the broker has stored it. */
  readonly reply: (reply: LeaderReply) => Effect.Effect<void, Unavailable>
  /** Gets the content of the prompt's file with this ID. */
  readonly file: (id: string) => Effect.Effect<Uint8Array, FileMissing | Unavailable>
  /** Sends the n-th file that the agent left. The answer after it waits a while until it is stored. */
  readonly sendFile: (n: number, file: SentFile) => Effect.Effect<void, Unavailable>
  /**
   * Reports progress, about four times a second at most. It returns at once, delays no reply, and is dropped if the
   * broker cannot take it.
   */
  readonly progress: (progress: NumberedProgress) => Effect.Effect<void>
}

/** The leader's side of the message bus. Layers: `BusMemory.layer` and `LeaderAmqp.layer`. */
export class LeaderBus extends Context.Service<
  LeaderBus,
  {
    /**
     * Consumes the team's prompts, one at a time, until the scope closes. Declares the queue if needed, and reconnects. A
     * prompt is acknowledged after `handle`, redelivered first if `handle` was interrupted, and rejected if it dies. If a
     * team has several leaders, only one receives prompts. When the scope closes, it takes no other prompt, and `handle` may
     * continue until `grace` ends (default: at once). Until then it stays the team's leader, so that nobody repeats the work.
     */
    readonly lead: (
      team: TeamName,
      handle: (delivery: Delivery) => Effect.Effect<void, Unavailable>,
      options?: { readonly grace?: Effect.Effect<unknown> }
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>()("webhook-trigger/LeaderBus") {}
