/** Replies on their way to the server's handler: how much of them is passed on, and in which groups. */
import { type Duration, Effect, Queue, type Scope, type Tracer } from "effect"
import { whenTraced } from "../telemetry/Span.ts"
import * as TraceContext from "../telemetry/TraceContext.ts"
import { handleReplies, type PendingReply } from "./Acknowledgement.ts"
import { storableReply, textLength } from "./Bodies.ts"
import type { Prompt, Reply, ReplyChecks, ReplyHandler } from "./Bus.ts"

/** Replies that are taken and not acknowledged, unless the server says how many: those of a group, and those behind it. */
export const defaultAtOnce = 20
/** There is no more text than this in a group, in UTF-16 code units; one reply may be longer. */
const maxGroupText = 4_000_000

interface Waiting extends PendingReply {
  readonly span?: Tracer.AnySpan | undefined
}

interface Inbox {
  /** Takes a reply that is stored nowhere else. It stays here until a consumer has acknowledged it. */
  readonly put: (reply: Reply) => void
  /** How much of what was `put` is unacknowledged. */
  readonly size: () => number
  /** Ends when all of it is acknowledged, when nobody consumes it, or after `limit` milliseconds of real time. */
  readonly emptied: (limit: number) => Effect.Effect<void>
  /**
   * As `Bus.consume`. Of several consumers one gets everything that is `put`. The returned function takes a reply that a
   * broker stores until it is acknowledged. It is forgotten when the scope closes, since the broker delivers it again.
   */
  readonly consume: (
    handle: ReplyHandler,
    checks?: Pick<ReplyChecks, "atOnce">
  ) => Effect.Effect<(received: Omit<Waiting, "deaths">) => void, never, Scope.Scope>
}

export const makeInbox = (): Inbox => {
  /** All that was `put` and not acknowledged, oldest first. What a consumer leaves behind, the next one finds here. */
  const stored = new Set<Waiting>()
  const listeners = new Set<() => void>()
  const consumers: Array<Queue.Queue<Waiting>> = []
  const offerStored = () => {
    const [first] = consumers
    if (first !== undefined) Queue.offerAllUnsafe(first, stored)
  }

  const forget = (waiting: Waiting) => {
    stored.delete(waiting)
    if (stored.size === 0) for (const listener of listeners) listener()
  }

  const join = Effect.map(Queue.unbounded<Waiting>(), (queue) => {
    if (consumers.push(queue) === 1) offerStored()
    return queue
  })
  const leave = (queue: Queue.Queue<Waiting>) =>
    Effect.sync(() => {
      const wasFirst = consumers[0] === queue
      consumers.splice(consumers.indexOf(queue), 1)
      if (wasFirst) offerStored()
    })

  return {
    put: (reply) => {
      const waiting: Waiting = { reply: storableReply(reply), acknowledge: () => forget(waiting), deaths: 0 }
      stored.add(waiting)
      const [first] = consumers
      if (first !== undefined) Queue.offerUnsafe(first, waiting)
    },
    size: () => stored.size,
    emptied: (limit) =>
      Effect.callback((resume) => {
        const end = () => {
          clearTimeout(timer)
          listeners.delete(end)
          resume(Effect.void)
        }
        const timer = setTimeout(end, limit)
        listeners.add(end)
        if (stored.size === 0 || consumers.length === 0) end()
      }),
    consume: Effect.fnUntraced(function* (handle, { atOnce = defaultAtOnce } = {}) {
      const scope = yield* Effect.scope
      const queue = yield* Effect.acquireRelease(join, leave)
      const postpone = (group: ReadonlyArray<Waiting>, pause: Duration.Duration) =>
        Queue.offerAll(queue, group).pipe(Effect.delay(pause), Effect.forkIn(scope))
      const fork = (work: Effect.Effect<void>) => Effect.forkIn(work, scope)
      yield* Queue.takeBetween(queue, 1, atOnce).pipe(
        Effect.flatMap((waiting) =>
          Effect.forEach(groupsOf(waiting), (group) => traced(group)(handleReplies(handle, group, postpone, fork)), {
            discard: true
          })
        ),
        Effect.forever,
        Effect.forkScoped
      )
      return (received) => void Queue.offerUnsafe(queue, { ...received, deaths: 0 })
    })
  }
}

/** In order. A reply on which the handler has died is a group of its own. */
const groupsOf = (waiting: ReadonlyArray<Waiting>): ReadonlyArray<ReadonlyArray<Waiting>> => {
  const groups: Array<[Waiting, ...Array<Waiting>]> = []
  let text = 0
  for (const one of waiting) {
    const group = groups.at(-1)
    const length = textLength(one.reply)
    text += length
    if (group === undefined || text > maxGroupText || one.deaths > 0 || group[0].deaths > 0) {
      groups.push([one])
      text = length
    } else group.push(one)
  }
  return groups
}

/** Around the publication of a prompt, in its trace. */
export const tracedPublish = ({ traceparent }: Prompt) =>
  whenTraced("Bus.publish", () => {
    const parent = TraceContext.parse(traceparent)
    return { kind: "producer", ...(parent && { parent }) }
  })

/** A group of several belongs to several traces, so its span is linked to them. */
const traced = (group: ReadonlyArray<Waiting>) => {
  const spans = group.flatMap(({ span }) => span ?? [])
  const [parent] = spans
  return whenTraced("Bus.receive", {
    kind: "consumer",
    attributes: group.length === 1 ? { run_id: group[0]?.reply.run_id } : { replies: group.length },
    ...(group.length === 1 && parent !== undefined
      ? { parent }
      : { links: spans.map((span) => ({ _tag: "SpanLink", span, attributes: {} })) })
  })
}
