import { Layer } from "effect"
import type { Bus } from "./Bus.ts"
import * as Dispatcher from "./Dispatcher.ts"
import type { Limiter } from "./Limiter.ts"
import { Outcomes } from "./Outcomes.ts"
import type { Renderer } from "./Renderer.ts"
import * as Replies from "./Replies.ts"
import type { Repo } from "./Repo.ts"
import type { Settings } from "./Settings.ts"
import type { Shutdown } from "./Shutdown.ts"
import { Trigger } from "./Trigger.ts"

/**
 * The whole flow, running: `Trigger` accepts, the dispatcher sends, the reply path records. What it runs on is the
 * host's to choose.
 */
export const layer: Layer.Layer<Trigger | Outcomes, never, Bus | Limiter | Renderer | Repo | Settings | Shutdown> =
  Layer.mergeAll(Trigger.layer, Dispatcher.layer, Replies.layer).pipe(Layer.provideMerge(Outcomes.layer))
