import { Layer } from "effect"
import type { Bus } from "../bus/Bus.ts"
import type { Repo } from "../repo/Repo.ts"
import { HandOver } from "./accept/HandOver.ts"
import { Replay } from "./accept/Replay.ts"
import * as Retries from "./accept/Retries.ts"
import { Trigger } from "./accept/Trigger.ts"
import { CurrentLanes } from "./dispatch/CurrentLanes.ts"
import * as Dispatcher from "./dispatch/Dispatcher.ts"
import type { Limiter } from "./dispatch/Limiter.ts"
import { Cancellation } from "./manage/Cancellation.ts"
import { Overview } from "./manage/Overview.ts"
import { StoredRequests } from "./manage/StoredRequests.ts"
import { Teams } from "./manage/Teams.ts"
import { Webhooks } from "./manage/Webhooks.ts"
import { Correlation } from "./outcome/Correlation.ts"
import { Outcomes } from "./outcome/Outcomes.ts"
import * as Replies from "./outcome/Replies.ts"
import { Waiting } from "./outcome/Waiting.ts"
import { InputChecks } from "./prompt/InputChecks.ts"
import type { Renderer } from "./prompt/Renderer.ts"
import type { Settings } from "./Settings.ts"
import { Shutdown } from "./Shutdown.ts"
import * as RollUp from "./upkeep/RollUp.ts"
import * as SecretRotation from "./verify/SecretRotation.ts"

// A service is a tag with a layer if it has state or several services use it. Anything else is a function `make`.

/** The flow, running: `Trigger` accepts, the dispatcher sends, the reply path records. */
const flow = Layer.mergeAll(Trigger.layer, Replay.layer, Dispatcher.layer, Replies.layer, Retries.layer).pipe(
  Layer.provide(Layer.merge(HandOver.layer, Waiting.layer)),
  Layer.provide(Layer.mergeAll(CurrentLanes.layer, Correlation.layer))
)

const management = Layer.mergeAll(
  Cancellation.layer,
  Teams.layer,
  Webhooks.layer,
  Overview.layer,
  StoredRequests.layer,
  RollUp.layer,
  SecretRotation.layer
)

/** The whole engine, running. What it runs on is the host's to choose. */
export const layer: Layer.Layer<
  Trigger | Replay | Cancellation | Outcomes | Teams | Webhooks | Overview | StoredRequests | Shutdown,
  never,
  Bus | Limiter | Renderer | Repo | Settings
> = Layer.merge(flow, management).pipe(
  Layer.provide(InputChecks.layer),
  Layer.provideMerge(Layer.merge(Layer.provide(Outcomes.layer, CurrentLanes.layer), Shutdown.layer))
)
