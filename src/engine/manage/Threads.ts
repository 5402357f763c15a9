import { Context, DateTime, Effect, Layer, Struct } from "effect"
import {
  Forbidden,
  type InvalidParameter,
  type NotFound,
  type RunUnfinished,
  type ThreadEnded,
  type Unavailable
} from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { teamNameOf, threadIdOf } from "../../domain/ParsedId.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { Thread } from "../../domain/Thread.ts"
import { type Actor, needsApproval } from "../../domain/webhook/Approvers.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { type ThreadPage, type ThreadQuery, ThreadStore } from "../../repo/run/ThreadStore.ts"
import * as Audit from "../access/Audit.ts"

/** Conversations with teams. A text that cannot be a team's name or an id is `NotFound`. */
export class Threads extends Context.Service<
  Threads,
  {
    /** The team's threads, those with the newest runs first. */
    readonly list: (
      team: string,
      query: Omit<ThreadQuery, "team">
    ) => Effect.Effect<ThreadPage, InvalidParameter | NotFound | Unavailable>
    readonly show: (id: string) => Effect.Effect<Thread, NotFound | Unavailable>
    /**
     * The thread that a reply to this run continues: the run's own, or one that it begins. The agent may do what it might in the
     * run, and no more (`agent`).
     */
    readonly ofReply: (
      run_id: RunId
    ) => Effect.Effect<Thread & Pick<Run, "agent">, NotFound | RunUnfinished | ThreadEnded | Unavailable>
    /** The same for a message, which no approval holds: so only for somebody who needs none for a run of the webhook. */
    readonly ofOperatorsReply: (
      run_id: RunId,
      by: Actor
    ) => Effect.Effect<Thread & Pick<Run, "agent">, Forbidden | NotFound | RunUnfinished | ThreadEnded | Unavailable>
    /** Ends the thread: the next run with its key begins another one. Runs that belong to it go on. */
    readonly reset: (id: string) => Effect.Effect<Thread, NotFound | Unavailable>
  }
>()("webhook-trigger/Threads") {
  static readonly layer: Layer.Layer<Threads, never, HistoryStore | ThreadStore | WebhookStore> = Layer.effect(
    Threads,
    Effect.gen(function* () {
      const history = yield* HistoryStore
      const store = yield* ThreadStore
      const { webhookRow } = yield* WebhookStore

      const ofReply = Effect.fnUntraced(function* (run_id: RunId) {
        const thread = yield* store.continueThread(run_id, yield* DateTime.now)
        const { agent } = yield* history.run(run_id)
        // Its folder stays where the thread has come to.
        return { ...thread, ...(agent && { agent: Struct.omit(agent, ["workspace_ref", "workspace_exact"]) }) }
      })

      return Threads.of({
        list: (team, query) => Effect.flatMap(teamNameOf(team), (team) => store.threads({ ...query, team })),
        show: (id) => Effect.flatMap(threadIdOf(id), store.thread),
        ofReply,
        ofOperatorsReply: Effect.fnUntraced(function* (run_id, by) {
          const { webhook_id } = yield* history.run(run_id)
          if (webhook_id !== undefined && needsApproval(yield* webhookRow(webhook_id), by)) return yield* needsApprover
          return yield* ofReply(run_id)
        }),
        reset: Effect.fn("Threads.reset")(function* (given) {
          const id = yield* threadIdOf(given)
          return yield* store.endThread(id, yield* DateTime.now, yield* Audit.draft("thread.reset"))
        })
      })
    })
  )
}

const needsApprover = new Forbidden({
  detail:
    "A reply would reach the agent without an approval, which the webhook requires (`approval`). Only those who may approve its runs (`approvers`) can reply."
})
