import { Context, type DateTime, type Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { CombinedTemplate } from "../../domain/prompt/Combined.ts"
import type { PromptLayout } from "../../domain/prompt/PromptLayout.ts"
import type { RunRow, Variables } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { OutRun } from "./RunStore.ts"

/** The number of waiting runs. */
interface Queued {
  readonly all: number
  /** Webhooks without waiting runs are absent. */
  readonly webhooks: ReadonlyMap<WebhookId, number>
}

/** A team whose next run may be sent. */
export interface Lane {
  readonly team: TeamName
  /** That run is sent only to a leader. */
  readonly needs_leader: boolean
}

/** A run that is out, without what it is sent with. */
export interface OutState
  extends Pick<RunRow, "run_id" | "webhook_id" | "team" | "admitted_at" | "sent_at" | "stop_at"> {
  /** It was offered to its team's leader over HTTP (`HttpLeaderStore`). */
  readonly over_http: boolean
}

/** A run that combines requests, when its window is closed. `prompt` and `variables` are those of its last request alone. */
export interface CombinedRun
  extends Required<Pick<RunRow, "run_id" | "team" | "webhook_id" | "prompt" | "variables" | "joined">> {
  readonly layout?: PromptLayout
  readonly template: CombinedTemplate
  /** The kept ones, the first one first. */
  readonly requests: ReadonlyArray<Variables>
}

/** The prompt of all its requests. */
export type PlacedRun = Pick<CombinedRun, "run_id" | "prompt" | "layout" | "variables">

/**
 * What there may be to do in a second:
 * - `stuck`: statements to undo (`undoStuck`).
 * - `deadlines`: runs to end (`RunStore.expire`).
 * - `holds`: runs to let go (`endHolds`), and prompts of closed windows to make.
 * - `approvals`: runs that nobody has approved in time (`RunStore.expireApprovals`).
 * - `rests`: teams to wake (`wakeTeams`).
 * - `waiting`: runs in lanes, which may be admitted. `out`: runs that are out.
 * - `retries`: failed runs to try again (`RunStore.retriesDue`).
 * - `offers`: requests to offer again (`OfferStore.webhooksWithOffers`).
 * - `early`: destinations that want events of runs that have not ended (`DeliveryStore.deliverEarly`).
 * - `buttons`: messages with buttons, which may have to end (`DeliveryStore.endButtons`).
 */
export type DueWork =
  | ("stuck" | "deadlines" | "holds" | "approvals" | "rests" | "waiting" | "out")
  | ("retries" | "offers" | "early" | "buttons")

/** What a server is told each second. */
interface Second {
  /** As from `HttpLeaderStore.ledTeams`. */
  readonly ledTeams: ReadonlyArray<TeamName>
  /** If this server does the work of this second: what there may be to do. */
  readonly due?: ReadonlySet<DueWork>
}

/** The runs that wait and that are out, for the work of each second. */
export class LaneStore extends Context.Service<
  LaneStore,
  {
    /**
     * Asks for the work of this second: the only statement that a server makes each second while there is none. One server
     * gets the work, and keeps it (`isHere`) while it asks each second.
     */
    readonly claimTick: (now: DateTime.Utc, isHere: boolean) => Effect.Effect<Second, Unavailable>
    /**
     * Undoes statements of processes that do not read their results, as they are frozen: they hold their locks, such as that
     * of `RunStore.step`. Returns how many.
     */
    readonly undoStuck: Effect.Effect<number, Unavailable>
    /** The number of queued runs that are not admitted: over all teams, counted up to `most`, and of these webhooks. */
    readonly queued: (most: number, webhooks?: ReadonlyArray<WebhookId>) => Effect.Effect<Queued, Unavailable>
    /** Teams that are not paused, do not rest, have a run in their lane, and none out. */
    readonly lanes: Effect.Effect<ReadonlyArray<Lane>, Unavailable>
    /** The runs that are out, of all teams. */
    readonly out: Effect.Effect<ReadonlyArray<OutState>, Unavailable>
    /** Those of these runs that are out. */
    readonly outRuns: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyArray<OutRun>, Unavailable>
    /** Ends the rests (`RunStore.rest`) that were to last until `now`, and notifies `RunAccepted`. Returns their teams. */
    readonly wakeTeams: (now: DateTime.Utc) => Effect.Effect<ReadonlyArray<TeamName>, Unavailable>
    /**
     * Lets go of the runs that were held until `now`, in a window or for a time. From then on, no trigger joins them. They take
     * their places behind every run accepted before this call began, before every run whose acceptance begins after it, and
     * in the order in which their holds ended; or wait for their approval. Those of `combinedRuns` do so later, by
     * `placeCombined`; returns whether there are any.
     */
    readonly endHolds: (now: DateTime.Utc) => Effect.Effect<boolean, Unavailable>
    /** Some of the runs whose windows are closed and whose prompts are to be made, in the order in which those ended. */
    readonly combinedRuns: (except: ReadonlyArray<WebhookId>) => Effect.Effect<ReadonlyArray<CombinedRun>, Unavailable>
    /** It takes its place, as from `endHolds`, with this prompt. Changes nothing the second time. */
    readonly placeCombined: (run: PlacedRun) => Effect.Effect<void, Unavailable>
    /**
     * Forgets that the runs that are out were sent and started: each is `queued` and admitted again, and the clock of an
     * asynchronous run starts again. Ended runs, which are not sent again, are released.
     */
    readonly forgetSent: (at: DateTime.Utc) => Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/LaneStore") {}
