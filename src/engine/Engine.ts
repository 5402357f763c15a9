import { Layer } from "effect"
import type { Bus } from "../bus/Bus.ts"
import type { Repo } from "../repo/Repo.ts"
import { Cancellation } from "./Cancellation.ts"
import { Correlation } from "./Correlation.ts"
import { CurrentLanes } from "./CurrentLanes.ts"
import * as Dispatcher from "./Dispatcher.ts"
import { HandOver } from "./HandOver.ts"
import type { Limiter } from "./Limiter.ts"
import { Outcomes } from "./Outcomes.ts"
import { Overview } from "./Overview.ts"
import type { Renderer } from "./Renderer.ts"
import { Replay } from "./Replay.ts"
import * as Replies from "./Replies.ts"
import { Requests } from "./Requests.ts"
import * as Retries from "./Retries.ts"
import * as RollUp from "./RollUp.ts"
import * as SecretRotation from "./SecretRotation.ts"
import type { Settings } from "./Settings.ts"
import { Shutdown } from "./Shutdown.ts"
import { Teams } from "./Teams.ts"
import { Trigger } from "./Trigger.ts"
import { Webhooks } from "./Webhooks.ts"

/** The flow, running: `Trigger` accepts, the dispatcher sends, the reply path records. */
const flow = Layer.mergeAll(Trigger.layer, Replay.layer, Dispatcher.layer, Replies.layer, Retries.layer).pipe(
  Layer.provide(HandOver.layer),
  Layer.provide(Layer.mergeAll(CurrentLanes.layer, Correlation.layer))
)

const management = Layer.mergeAll(
  Cancellation.layer,
  Teams.layer,
  Webhooks.layer,
  Overview.layer,
  Requests.layer,
  RollUp.layer,
  SecretRotation.layer
)

/** The whole engine, running. What it runs on is the host's to choose. */
export const layer: Layer.Layer<
  Trigger | Replay | Cancellation | Outcomes | Teams | Webhooks | Overview | Requests | Shutdown,
  never,
  Bus | Limiter | Renderer | Repo | Settings
> = Layer.merge(flow, management).pipe(
  Layer.provideMerge(Layer.merge(Layer.provide(Outcomes.layer, CurrentLanes.layer), Shutdown.layer))
)
