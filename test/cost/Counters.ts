/** Counts the work of a run instead of its time: the same on every machine. */
import { createRequire } from "node:module"
import { Context, Effect, type Fiber, Layer, Metric, Scheduler } from "effect"
import { vi } from "vitest"
import { Session } from "../../src/repo/database/Driver.ts"

/** The counts so far. */
export interface Counts {
  /** Steps of Effect's run loop. */
  readonly operations: number
  readonly fibers: number
  /** Sent to PostgreSQL. */
  readonly statements: number
  /** Sent to RabbitMQ. */
  readonly prompts: number
  /** About queues, to RabbitMQ. */
  readonly questions: number
}

const combine = (left: Counts, right: Counts, each: (left: number, right: number) => number): Counts => ({
  operations: each(left.operations, right.operations),
  fibers: each(left.fibers, right.fibers),
  statements: each(left.statements, right.statements),
  prompts: each(left.prompts, right.prompts),
  questions: each(left.questions, right.questions)
})

export const difference = (after: Counts, before: Counts): Counts => combine(after, before, (a, b) => a - b)

/** The lower one of each count. */
export const least = (a: Counts, b: Counts): Counts => combine(a, b, Math.min)

export const perUnit = (counts: Counts, units: number): Counts => combine(counts, counts, (count) => count / units)

/** Called before each step, whether the fiber should yield. */
class CountingScheduler extends Scheduler.MixedScheduler {
  operations = 0
  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    this.operations++
    return super.shouldYield(fiber)
  }
}

/** amqplib does not export the class whose methods are counted. */
const { Channel } = createRequire(createRequire(import.meta.url).resolve("amqplib"))("./lib/channel_model.js")

export class Counters extends Context.Service<Counters, { readonly read: () => Counts }>()("test/Counters") {
  /** Counts the work of the layers that this one is provided to, and of everything that they start. */
  static readonly layer = Layer.unwrap(
    Effect.gen(function* () {
      const scheduler = new CountingScheduler()
      let fibers = 0
      const countFibers = { recordFiberStart: () => void fibers++, recordFiberEnd: () => {} }
      const statements = vi.spyOn(Session.prototype as unknown as { readonly watch: () => void }, "watch")
      const prompts = vi.spyOn(Channel.prototype, "publish")
      const questions = vi.spyOn(Channel.prototype, "checkQueue")
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => [statements, prompts, questions].forEach((spy) => spy.mockRestore()))
      )
      // The leader of these tests is in the same process.
      const ofServer = ([exchange]: ReadonlyArray<unknown>) => exchange !== "webhook.replies"
      const read = (): Counts => ({
        operations: scheduler.operations,
        fibers,
        statements: statements.mock.calls.length,
        prompts: prompts.mock.calls.filter(ofServer).length,
        questions: questions.mock.calls.length
      })
      return Layer.mergeAll(
        Layer.succeed(Counters, { read }),
        Layer.succeed(Scheduler.Scheduler, scheduler),
        Layer.succeed(Metric.FiberRuntimeMetrics, countFibers)
      )
    })
  )
}
