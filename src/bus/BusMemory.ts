import { Clock, Context, Effect, FiberMap, Latch, Layer } from "effect"
import type { RunId } from "../domain/Id.ts"
import { readProgress } from "../domain/run/Progress.ts"
import type { TeamName } from "../domain/Team.ts"
import { finishBefore, handlePrompt, type PromptHandler } from "./Acknowledgement.ts"
import { Bus, type Delivery, type Inspection, LeaderBus, type Prompt, QueueGone, type ReplyChecks } from "./Bus.ts"
import { makeCancellations } from "./Cancellations.ts"
import { makeFileRequests } from "./FileRequests.ts"
import { makeInbox, tracedPublish } from "./Inbox.ts"

interface Message {
  readonly prompt: Prompt
  readonly redelivered: boolean
}

interface Consumer {
  stopping: boolean
  isWorking: boolean
  /**
   * Opened when there may be work. Only the consumer closes it, in the same step in which it finds nothing, so no wake-up
   * is lost. Effect's `Queue` can neither drop an expired prompt nor put one back at its head.
   */
  readonly woken: Latch.Latch
}

/** A team's queue. Its first consumer is the active one. */
interface TeamQueue {
  readonly waiting: Array<Message>
  readonly consumers: Array<Consumer>
}

/** In milliseconds: how long a leader that stops waits until its answer is recorded. */
const recordedWithin = 5_000

const wakeActive = (queue: TeamQueue): void => {
  queue.consumers[0]?.woken.openUnsafe()
}

const make = Effect.gen(function* () {
  const queues = new Map<TeamName, TeamQueue>()
  /** The queue of each team's latest prompt. */
  const published = new Map<TeamName, TeamQueue>()
  const inbox = makeInbox()
  /** The consumers of progress. If there are several, the first one gets it. */
  const observers: Array<NonNullable<ReplyChecks["progress"]>> = []
  const cancellations = makeCancellations()
  const files = makeFileRequests()
  const timers = yield* FiberMap.make<RunId>()

  const declare = (team: TeamName): TeamQueue => {
    const queue = queues.get(team) ?? { waiting: [], consumers: [] }
    queues.set(team, queue)
    return queue
  }

  const observe = (observer: NonNullable<ReplyChecks["progress"]>) =>
    Effect.acquireRelease(
      Effect.sync(() => observers.push(observer)),
      () => Effect.sync(() => observers.splice(observers.indexOf(observer), 1))
    )

  /** Removes a queued prompt at its deadline. A delivered prompt stays with its leader. */
  const expire = (queue: TeamQueue, run_id: RunId, left: number) =>
    Effect.map(Effect.sleep(left), () => {
      const before = queue.waiting.length
      for (let i = before - 1; i >= 0; i--) if (queue.waiting[i]?.prompt.run_id === run_id) queue.waiting.splice(i, 1)
      if (queue.waiting.length < before) inbox.put({ _tag: "DeadLettered", run_id, reason: "expired" })
    })

  const enqueue = (queue: TeamQueue, message: Message) =>
    Effect.gen(function* () {
      const { deadline, run_id } = message.prompt
      const left = deadline && deadline.epochMilliseconds - (yield* Clock.currentTimeMillis)
      if (left !== undefined && left <= 0) return inbox.put({ _tag: "DeadLettered", run_id, reason: "expired" })
      if (message.redelivered) queue.waiting.unshift(message)
      else queue.waiting.push(message)
      wakeActive(queue)
      if (left !== undefined) yield* FiberMap.run(timers, run_id, expire(queue, run_id, left))
    })

  /** Handles the next prompt, or waits for one. */
  const step = (queue: TeamQueue, consumer: Consumer, handle: PromptHandler) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const message = queue.consumers[0] === consumer && !consumer.stopping ? queue.waiting.shift() : undefined
        if (message === undefined) {
          consumer.woken.closeUnsafe()
          if (!consumer.stopping) yield* restore(consumer.woken.await)
          return
        }
        consumer.isWorking = true
        const { prompt, redelivered } = message
        if (prompt.deadline) yield* FiberMap.remove(timers, prompt.run_id)
        const send: Delivery["reply"] = (it) => Effect.sync(() => inbox.put({ ...it, run_id: prompt.run_id }))
        const progress: Delivery["progress"] = (it) =>
          Effect.sync(() => {
            const read = readProgress(it)
            if (read !== undefined) observers[0]?.({ ...read, run_id: prompt.run_id })
          })
        switch (
          yield* handlePrompt(
            handle,
            {
              ...{ prompt, redelivered, progress },
              cancelled: cancellations.of(prompt.run_id),
              ...files.of(prompt.run_id, send)
            },
            restore
          )
        ) {
          case "ack":
            return
          case "requeue":
            return yield* enqueue(queue, { prompt, redelivered: true })
          case "reject":
            return inbox.put({ _tag: "DeadLettered", run_id: prompt.run_id, reason: "rejected" })
        }
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            consumer.isWorking = false
          })
        )
      )
    )

  const bus = Bus.of({
    durable: false,
    publish: Effect.fnUntraced(
      function* (prompt) {
        const queue = queues.get(prompt.team)
        if (queue === undefined) return yield* new QueueGone()
        published.set(prompt.team, queue)
        yield* enqueue(queue, { prompt, redelivered: false })
      },
      Effect.uninterruptible,
      (publish, prompt) => tracedPublish(prompt)(publish)
    ),

    offer: (prompt) =>
      Effect.suspend(() => {
        const queue = queues.get(prompt.team)
        const isIdle = queue?.waiting.length === 0 && queue.consumers[0]?.isWorking === false
        return isIdle ? enqueue(queue, { prompt, redelivered: false }) : Effect.void
      }),

    cancel: (_team, run_id) => Effect.sync(() => cancellations.put(run_id)),

    sendFile: (_team, run_id, file) => Effect.sync(() => files.put(run_id, file)),

    queue: (team) =>
      Effect.sync(() => {
        const queue = queues.get(team)
        return {
          exists: queue !== undefined,
          consumers: queue?.consumers.length ?? 0,
          messages: queue?.waiting.length ?? 0
        }
      }),

    inspect: (team) =>
      Effect.sync((): Inspection => {
        const queue = queues.get(team)
        return {
          isReplaced: queue === undefined || queue !== published.get(team),
          consumers: queue?.consumers.length ?? 0,
          messages: queue?.waiting.length ?? 0
        }
      }),

    withdraw: (team) =>
      Effect.gen(function* () {
        const withdrawn = queues.get(team)?.waiting.splice(0) ?? []
        for (const { prompt } of withdrawn) yield* FiberMap.remove(timers, prompt.run_id)
        return withdrawn.length
      }),

    removeQueue: (team) =>
      Effect.sync(() => {
        const queue = queues.get(team)
        if (queue?.waiting.length === 0 && queue.consumers.length === 0) queues.delete(team)
      }),

    consume: (handle, checks) =>
      Effect.asVoid(Effect.andThen(observe(checks.progress ?? (() => {})), inbox.consume(handle, checks))),

    repliesWaiting: Effect.sync(inbox.size),

    reachable: Effect.void,
    ping: Effect.void
  })

  const leaderBus = LeaderBus.of({
    lead: (team, handle, { grace = Effect.void } = {}) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.suspend(() => {
            const queue = declare(team)
            const consumer: Consumer = { stopping: false, isWorking: false, woken: Latch.makeUnsafe() }
            queue.consumers.push(consumer)
            const work = Effect.repeat(step(queue, consumer, handle), { while: () => !consumer.stopping })
            return Effect.map(Effect.forkDetach(work), (fiber) => ({ queue, consumer, fiber }))
          }),
          ({ queue, consumer, fiber }) =>
            Effect.suspend(() => {
              consumer.stopping = true
              consumer.woken.openUnsafe()
              // Its answer is nowhere else, and the process may end next.
              return Effect.map(Effect.andThen(finishBefore(grace, fiber), inbox.emptied(recordedWithin)), () => {
                queue.consumers.splice(queue.consumers.indexOf(consumer), 1)
                wakeActive(queue)
              })
            })
        )
      )
  })

  return Context.make(Bus, bus).pipe(Context.add(LeaderBus, leaderBus))
})

/**
 * Both sides of the bus in one process, with the rules of RabbitMQ for order, redelivery, expiry and replies. Nothing
 * survives the process. The server and the leader must share one instance.
 */
export const layer: Layer.Layer<Bus | LeaderBus> = Layer.effectContext(make)
