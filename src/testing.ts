/** The service's ports in memory, so that a host tests its own code without PostgreSQL or RabbitMQ. */
import { type Duration, Effect, Layer, Redacted, Scheduler } from "effect"
import { TestClock } from "effect/testing"
import type { Bus, LeaderBus } from "./bus/Bus.ts"
import * as BusMemory from "./bus/BusMemory.ts"
import { AdminKey } from "./engine/access/AdminKey.ts"
import * as Engine from "./engine/Engine.ts"
import { Renderer } from "./engine/prompt/Renderer.ts"
import { Settings, type SettingsValues } from "./engine/Settings.ts"
import { Limiter } from "./engine/step/Limiter.ts"
import * as TestDatabase from "./repo/database/TestDatabase.ts"
import type { Repo } from "./repo/Repo.ts"
import * as RepoSql from "./repo/RepoSql.ts"

export { LeaderBus } from "./bus/Bus.ts"
export { BusMemory }

/** The admin key that `layer` takes. */
export const adminKey = Redacted.make("test-admin-key")

/**
 * The rows in an empty PGlite in memory. The first test of a process opens it, which takes a second; later tests get it
 * emptied. Its clock is Effect's.
 */
export const layerRepo: Layer.Layer<Repo> = Layer.provide(RepoSql.layer, TestDatabase.layer)

/** Rows and bus in memory; `LeaderBus` is where a test's own leader takes its prompts from. */
export const layerPorts: Layer.Layer<Repo | Bus | LeaderBus> = Layer.merge(layerRepo, BusMemory.layer)

/** Continues a fiber only when the database has done what is due. */
class AfterDatabase extends Scheduler.MixedScheduler {
  constructor() {
    super("async", (turn) => Effect.runCallback(Effect.andThen(TestDatabase.settled, Effect.sync(turn))))
  }
}

/**
 * Moves the `TestClock`, from one moment at which something is due to the next. At each of them, it waits until the
 * database has done what was due. `TestClock.adjust` does not wait for that.
 */
export const advance = (duration: Duration.Input): Effect.Effect<void> =>
  // The clock yields before it moves, and at each moment.
  TestClock.adjust(duration).pipe(
    Effect.tap(TestDatabase.settled),
    Effect.provideService(Scheduler.Scheduler, new AfterDatabase())
  )

/** The engine on whatever ports are given, with the service's own limiter and renderer. */
export const layerEngine = (settings: Partial<SettingsValues> = {}) =>
  Engine.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Limiter.layer, Renderer.layer, AdminKey.layerGiven(adminKey))),
    Layer.provideMerge(Settings.layer(settings))
  )

/** All that `Routes.layer` needs, in memory. Its clock is Effect's, so `TestClock` moves its deadlines. */
export const layer = (settings: Partial<SettingsValues> = {}) => Layer.provideMerge(layerEngine(settings), layerPorts)
