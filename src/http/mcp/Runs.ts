/** The runs that tools start, read, cancel and answer. */
import { Context, Data, DateTime, Duration, Effect, Option, Result, Stream } from "effect"
import { type Grant, includesWebhook } from "../../domain/access/Grant.ts"
import { mayDo } from "../../domain/access/Roles.ts"
import { NotFound, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { runIdOf } from "../../domain/ParsedId.ts"
import type { Run, Variables } from "../../domain/run/Run.ts"
import { startedRunOf } from "../../domain/run/Submitted.ts"
import type { Actor } from "../../domain/webhook/Approvers.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Cancellation } from "../../engine/manage/Cancellation.ts"
import { Threads } from "../../engine/manage/Threads.ts"
import type { RunUpdate } from "../../engine/progress/RunUpdate.ts"
import { RunWatch } from "../../engine/progress/RunWatch.ts"
import * as Input from "../../engine/prompt/Input.ts"
import { Trigger } from "../../engine/trigger/Trigger.ts"
import { OwnerStore } from "../../repo/access/OwnerStore.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { whileTrue } from "../access/ActorStreams.ts"
import { RunEvents } from "../events/RunEvents.ts"
import * as Idempotency from "../trigger/Idempotency.ts"
import * as QuestionReplies from "./QuestionReplies.ts"
import { idempotencyMeta, isToolOf } from "./QuestionReplies.ts"
import { inputOf, toolsOf } from "./Tool.ts"

/** How old the list may be if this server was not told of a change. */
const freshFor = Duration.seconds(1)

/** The webhooks that are tools of somebody, by name. They are read once for any number of calls, and again after a change. */
const makeOfferedTools = Effect.gen(function* () {
  const { webhooks } = yield* WebhookStore
  const feed = yield* ChangeFeed
  const readOffered = Effect.map(webhooks, (all) =>
    all.filter(({ enabled, mcp_tool }) => enabled && mcp_tool !== undefined)
  )
  const [offered, forget] = yield* Effect.cachedInvalidateWithTTL(readOffered, freshFor)
  yield* feed.listen((changes) => {
    if (changes.some(({ _tag }) => _tag === "WebhookChanged")) Effect.runSync(forget)
  })
  return ({ grant }: { readonly grant: Grant }) =>
    Effect.map(offered, (all) => toolsOf(all.filter((webhook) => includesWebhook(grant, webhook))))
})

/** The sender of a call. */
export interface Caller {
  /** Identifies its key. Its runs are stored with it (`triggered_by`), and it sees no others. */
  readonly id: string
  readonly grant: Grant
  /** The same for the rule of approvals. */
  readonly by: Actor
  /** Whether its key has neither been revoked nor expired meanwhile. */
  readonly works: Effect.Effect<boolean>
}

/** No tool with this name is offered to the caller. */
export class UnknownTool extends Data.TaggedError("UnknownTool")<{ readonly name: string }> {}

/** Hears what happens to a run that is waited for, as one line. */
export type OnProgress = (line: string) => void

/** The parts of a request beside its arguments. */
export interface Extra {
  /** Absent: the client does not want to hear. */
  readonly onProgress?: OnProgress
  /** As its client sent it: a repeat with the same one starts no second run. */
  readonly idempotency_key?: unknown
}

/** A call's idempotency key, which is of its caller. */
const idempotencyOf = (caller: Caller, { idempotency_key: key }: Extra, content: unknown) =>
  key === undefined ? Result.succeed({}) : Idempotency.ofSender(idempotencyMeta, key, caller.id, content)

/**
 * How long a call waits for a run. Clients give up after 60 seconds, and some after 30, unless they hear of progress, which
 * clients of the first kind ask for.
 */
export class LongestWait extends Context.Reference("webhook-trigger/LongestWait", {
  defaultValue: () => ({ withProgress: Duration.seconds(50), withoutProgress: Duration.seconds(25) })
}) {}

const lineOf = (update: RunUpdate): string | undefined => {
  switch (update._tag) {
    case "Started":
      return "The agent has started."
    case "Progressed":
      return update.activity
    default:
      return undefined
  }
}

export const make = Effect.gen(function* () {
  const history = yield* HistoryStore
  const owners = yield* OwnerStore
  const trigger = yield* Trigger
  const threads = yield* Threads
  const cancellation = yield* Cancellation
  const watch = yield* RunWatch
  const longestWait = yield* LongestWait
  const toolsFor = yield* makeOfferedTools
  const { enter } = yield* RunEvents
  const answer = yield* QuestionReplies.make

  /** For a query of the caller's runs. Of a webhook that was moved, they belong to both teams. */
  const ownOf = ({ grant: { teams }, id }: Caller) => ({ triggered_by: id, ...(teams && { owners: teams }) })

  const isOwn = (caller: Caller, id: RunId) =>
    owners.isOwned({ run_id: id }, { ...caller.grant, triggered_by: caller.id })

  const read = (caller: Caller, id: RunId): Effect.Effect<Run, NotFound | Unavailable> =>
    Effect.flatMap(isOwn(caller, id), (isOwn) => (isOwn ? history.run(id) : new NotFound()))

  /** A failed run's last attempt so far. */
  const lastAttempt = (caller: Caller, run: Run): Effect.Effect<Run, NotFound | Unavailable> =>
    run.retried_by === undefined
      ? Effect.succeed(run)
      : Effect.flatMap(read(caller, run.retried_by), (next) => lastAttempt(caller, next))

  return {
    tools: toolsFor,

    /** Starts a run. `undefined`: the webhook's filter ignores these arguments. */
    start: Effect.fnUntraced(function* (caller: Caller, name: string, args: Variables, extra: Extra) {
      const received_at = yield* DateTime.now
      const found = (yield* toolsFor(caller)).get(name)
      if (found === undefined) return yield* new UnknownTool({ name })
      const webhook = yield* trigger.open(found.id)
      // The list of tools may be a moment old.
      if (!isToolOf(caller, webhook)) return yield* new UnknownTool({ name })
      const variables = inputOf(webhook, args)
      const idempotency = yield* Effect.fromResult(
        Result.flatMap(Input.contentOf(webhook, variables), (content) => idempotencyOf(caller, extra, content))
      )
      const { triggered_by: thread_owner } = caller.grant
      const request = {
        ...{ variables, received_at, wait: false, triggered_by: caller.id, by: caller.by },
        ...{ ...(thread_owner !== undefined && { thread_owner }), ...idempotency }
      }
      const submitted = yield* Audit.recordStart("webhook.run_started", webhook.id)(trigger.trigger(webhook, request))
      return submitted._tag === "Ignored" ? undefined : startedRunOf(submitted)
    }),

    /** The caller's run with this ID. `NotFound` for those of other keys, too. */
    own: (caller: Caller, run_id: string) => Effect.flatMap(runIdOf(run_id), (id) => read(caller, id)),

    /** The caller's run as it ends, or as it is after `LongestWait`. */
    wait: (caller: Caller, run_id: string, onProgress: OnProgress | undefined) =>
      Effect.gen(function* () {
        const last = yield* Effect.flatMap(
          Effect.flatMap(runIdOf(run_id), (id) => read(caller, id)),
          (run) => lastAttempt(caller, run)
        )
        // A person may take days.
        if (last.held_for !== undefined && last.held_for !== "window") return last
        const id = last.run_id
        // Its webhook may be moved to another team meanwhile.
        const isShown = Effect.flatMap(caller.works, (works) =>
          works ? Effect.orElseSucceed(isOwn(caller, id), () => false) : Effect.succeed(false)
        )
        const end = yield* Effect.andThen(
          enter({ of: "key", id: caller.id }),
          watch.follow(id, { read: read(caller, id) })
        ).pipe(
          Effect.flatMap((updates) =>
            whileTrue(updates, isShown).pipe(
              Stream.tap((update) =>
                Effect.sync(() => {
                  const line = lineOf(update)
                  if (line !== undefined) onProgress?.(line)
                })
              ),
              Stream.filterMap((update) => (update._tag === "Ended" ? Result.succeed(update.run) : Result.failVoid)),
              Stream.runHead
            )
          ),
          Effect.scoped,
          Effect.timeoutOption(onProgress === undefined ? longestWait.withoutProgress : longestWait.withProgress),
          Effect.map(Option.flatten)
        )
        if (!(yield* caller.works)) return yield* new NotFound()
        return Option.isSome(end) ? end.value : yield* read(caller, id)
      }),

    /** Answers the agent of the caller's run, in its conversation. Returns the ID of the run that goes on. */
    reply: (caller: Caller, run_id: string, message: string, extra: Extra) =>
      Effect.gen(function* () {
        const received_at = yield* DateTime.now
        const id = yield* runIdOf(run_id)
        const run = yield* read(caller, id)
        if (!mayDo(caller.grant.role, "operate")) {
          return startedRunOf(
            yield* answer(caller, run, { message, received_at, idempotency_key: extra.idempotency_key })
          )
        }
        const { agent, key, team } = yield* threads.ofOperatorsReply(id, caller.by)
        const idempotency = yield* Effect.fromResult(idempotencyOf(caller, extra, { run_id: id, message }))
        const request = {
          ...{ received_at, wait: false, thread_key: key, triggered_by: caller.id },
          ...(agent && { agent }),
          ...idempotency
        }
        const sent = yield* Audit.recordStart("run.replied", id)(trigger.message(team, message, request))
        return sent._tag === "Ignored" ? yield* new NotFound() : startedRunOf(sent)
      }),

    cancel: (caller: Caller, run_id: string) =>
      Effect.gen(function* () {
        const id = yield* runIdOf(run_id)
        yield* read(caller, id)
        return yield* Audit.recordDone<Run>("run.cancelled", id)(cancellation.cancel(id))
      }),

    /** The caller's newest runs. */
    list: (caller: Caller, limit: number) => Effect.map(history.runs({ ...ownOf(caller), limit }), ({ data }) => data),

    /** The run that a run's conversation has come to: the caller's newest one in its thread, or the run itself. */
    latest: (caller: Caller, run: Run) =>
      run.thread === undefined
        ? lastAttempt(caller, run)
        : Effect.flatMap(history.runs({ ...ownOf(caller), thread_id: run.thread.id, limit: 1 }), ({ data }) => {
            const id = data[0]?.run_id ?? run.run_id
            return id === run.run_id ? Effect.succeed(run) : read(caller, id)
          })
  }
})

export type Runs = Effect.Success<typeof make>
