/** The service's ports in memory, so that a host tests its own code without PostgreSQL or RabbitMQ. */
import { Layer, Redacted } from "effect"
import type { Bus, LeaderBus } from "./bus/Bus.ts"
import * as BusMemory from "./bus/BusMemory.ts"
import { AdminKey } from "./engine/access/AdminKey.ts"
import { Limiter } from "./engine/dispatch/Limiter.ts"
import * as Engine from "./engine/Engine.ts"
import { Renderer } from "./engine/prompt/Renderer.ts"
import { Settings, type SettingsValues } from "./engine/Settings.ts"
import * as RepoMemory from "./repo/memory/RepoMemory.ts"
import type { Repo } from "./repo/Repo.ts"

export { LeaderBus } from "./bus/Bus.ts"
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
