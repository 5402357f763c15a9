/** Leads a team with an agent, for tests of presets. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it } from "@effect/vitest"
import { Clock, Duration, Effect, Layer, Queue, References, Schedule, type Scope } from "effect"
import { Bus, type LeaderBus, type Prompt, type Reply } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { ThreadId } from "../../../src/domain/Id.ts"
import { type Agent, AgentLeader, type Progress } from "../../../src/leader/index.ts"
import { collectReplies, makePrompt, team, untilQueue } from "../../bus/contract/support.ts"

export const behaviour = (name: string, test: Effect.Effect<unknown, unknown, Bus | LeaderBus | Scope.Scope>) =>
  it.live(name, () =>
    Effect.scoped(test).pipe(Effect.provide(BusMemory.layer), Effect.provideService(References.MinimumLogLevel, "None"))
  )

/** For teams of the same name at the same time. The bus ends with the scope of the test. */
export const onBusOfItsOwn = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Layer.build(Layer.fresh(BusMemory.layer)), (bus) => Effect.provide(test, bus))

/** A folder that is the first in `PATH`. */
export const folderInPath = Effect.acquireRelease(
  Effect.sync(() => {
    const before = process.env.PATH
    const folder = mkdtempSync(join(tmpdir(), "agents-"))
    process.env.PATH = `${folder}:${before}`
    return { folder, before }
  }),
  ({ before, folder }) =>
    Effect.sync(() => {
      process.env.PATH = before
      rmSync(folder, { recursive: true })
    })
).pipe(Effect.map(({ folder }) => folder))

/** Leads with the agent; the function that is returned sends it a prompt and gives its reply. */
export const leading = (agent: Agent, options: Pick<AgentLeader.AgentLeaderOptions, "folder" | "stallTimeout"> = {}) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const replies = yield* collectReplies
    const shown: Array<Progress> = []
    const answer: Agent["answer"] = (task) =>
      agent.answer({ ...task, progress: (progress) => shown.push(progress) && task.progress(progress) })
    yield* AgentLeader.start({ team, agent: { ...agent, answer }, ...options })
    yield* untilQueue(({ consumers }) => consumers === 1)
    const publish = (fields: Partial<Prompt>) => Effect.tap(makePrompt(fields), (prompt) => bus.publish(prompt))
    const end = Effect.repeat(Queue.take(replies), {
      until: ({ _tag }: Reply) => _tag === "Answered" || _tag === "Failed"
    })
    const send = (prompt: string, fields: Partial<Prompt> = {}) => Effect.andThen(publish({ prompt, ...fields }), end)
    return { bus, send, publish, end, shown }
  })

/**
 * Leads by a clock that is so many times slower, so that a busy machine keeps the leader's limits of a second. `slept` gets
 * the milliseconds that the leader waits.
 */
export const slower =
  (times: number, slept: Array<number> = []) =>
  <A, E, R>(start: Effect.Effect<A, E, R>) =>
    Effect.updateService(start, Clock.Clock, (clock): Clock.Clock => {
      const begun = Date.now()
      const now = () => Math.round(begun + (Date.now() - begun) / times)
      return Object.assign(Object.create(clock), {
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
        sleep: (duration: Duration.Duration) => {
          slept.push(Duration.toMillis(duration))
          return clock.sleep(Duration.times(duration, times))
        }
      })
    })

/** Leads by a clock on which nothing takes long. */
export const impatient = (slept?: Array<number>) => slower(1 / 1_000, slept)

export const threadId = ThreadId.make("01890a5d-ac96-774b-bcce-b302099a8059")

/** A file that a script has written. */
export const written = (read: (file: string) => string, file: string) =>
  Effect.retry(
    Effect.try(() => read(file)),
    Schedule.spaced("10 millis")
  )

export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
