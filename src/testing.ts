/** The service's ports in memory, so that a host tests its own code without PostgreSQL or RabbitMQ. */
import { Layer, Redacted } from "effect"
import { AdminKey } from "./engine/AdminKey.ts"
import type { Bus, LeaderBus } from "./engine/Bus.ts"
import * as Engine from "./engine/Engine.ts"
import { Limiter } from "./engine/Limiter.ts"
import { Renderer } from "./engine/Renderer.ts"
import type { Repo } from "./engine/Repo.ts"
import { Settings, type SettingsValues } from "./engine/Settings.ts"
import * as BusMemory from "./memory/BusMemory.ts"
import * as RepoMemory from "./memory/RepoMemory.ts"

export { LeaderBus } from "./engine/Bus.ts"
export { BusMemory, RepoMemory }

/** The admin key that `layer` takes. */
export const adminKey = Redacted.make("test-admin-key")

/** Rows and bus in memory; `LeaderBus` is where a test's own leader takes its prompts from. */
export const layerPorts: Layer.Layer<Repo | Bus | LeaderBus> = Layer.merge(RepoMemory.layer, BusMemory.layer)

/** The engine on whatever ports are given, with the service's own limiter and renderer. */
export const layerEngine = (settings: Partial<SettingsValues> = {}) =>
  Engine.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Limiter.layer, Renderer.layer, AdminKey.layerGiven(adminKey))),
    Layer.provideMerge(Settings.layer(settings))
  )

/** All that `Routes.layer` needs, in memory. Its clock is Effect's, so `TestClock` moves its deadlines. */
export const layer = (settings: Partial<SettingsValues> = {}) => Layer.provideMerge(layerEngine(settings), layerPorts)
