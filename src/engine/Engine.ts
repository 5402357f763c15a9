import { Layer } from "effect"
import type { Bus } from "../bus/Bus.ts"
import type { Repo } from "../repo/Repo.ts"
import { ApiKeys } from "./access/ApiKeys.ts"
import { LeaderKeys } from "./access/LeaderKeys.ts"
import { Alerts } from "./alert/Alerts.ts"
import * as Deliverer from "./delivery/Deliverer.ts"
import { Destinations } from "./delivery/Destinations.ts"
import { Outbox } from "./delivery/Outbox.ts"
import { Poster } from "./egress/Poster.ts"
import { AttachedFiles } from "./files/AttachedFiles.ts"
import { TeamLeaders } from "./leaders/TeamLeaders.ts"
import { Approvals } from "./manage/Approvals.ts"
import { Cancellation } from "./manage/Cancellation.ts"
import { Overview } from "./manage/Overview.ts"
import { StoredRequests } from "./manage/StoredRequests.ts"
import { Teams } from "./manage/Teams.ts"
import { Threads } from "./manage/Threads.ts"
import { Webhooks } from "./manage/Webhooks.ts"
import { Correlation } from "./outcome/Correlation.ts"
import { Outcomes } from "./outcome/Outcomes.ts"
import { ProgressReports } from "./progress/ProgressReports.ts"
import { RunWatch } from "./progress/RunWatch.ts"
import { Evaluator } from "./prompt/Evaluator.ts"
import { InputChecks } from "./prompt/InputChecks.ts"
import type { Renderer } from "./prompt/Renderer.ts"
import { Replay } from "./replay/Replay.ts"
import { HttpLeaders } from "./reply/HttpLeaders.ts"
import * as Replies from "./reply/Replies.ts"
import { ReplyRecorder } from "./reply/ReplyRecorder.ts"
import type { Settings } from "./Settings.ts"
import { Shutdown } from "./Shutdown.ts"
import { SlackActions } from "./slack/SlackActions.ts"
import type { Limiter } from "./step/Limiter.ts"
import { Sender } from "./step/Sender.ts"
import { Steps } from "./step/Steps.ts"
import { Ticks } from "./step/Ticks.ts"
import { HandOver } from "./trigger/HandOver.ts"
import { Trigger } from "./trigger/Trigger.ts"
import { Waiting } from "./trigger/Waiting.ts"
import * as Upkeep from "./upkeep/Upkeep.ts"
import * as SecretRotation from "./verify/SecretRotation.ts"
import { SnsRequests } from "./verify/SnsRequests.ts"
import { TokenKeys } from "./verify/TokenKeys.ts"

// A service is a tag with a layer if several others share its state. Anything else is a function `make`.

/** The flow: `Trigger` accepts, `Steps` admits, `Sender` sends, the reply path records. */
const flow = Layer.mergeAll(Replay.layer, Replies.layer, HttpLeaders.layer, SlackActions.layer, Upkeep.layer).pipe(
  Layer.provideMerge(Trigger.layer),
  Layer.provide(Layer.mergeAll(Approvals.layer, HandOver.layer, Threads.layer)),
  Layer.provide(Waiting.layer),
  Layer.provide(AttachedFiles.layer),
  Layer.provide(Ticks.layer),
  Layer.provide(ReplyRecorder.layer)
)

/** Shared by flow and management. */
const middle = Sender.layer.pipe(Layer.provideMerge(Layer.merge(Correlation.layer, Steps.layer)))

const management = Layer.mergeAll(
  Approvals.layer,
  Cancellation.layer,
  Teams.layer,
  LeaderKeys.layer,
  ApiKeys.layer,
  Threads.layer,
  Webhooks.layer,
  Overview.layer,
  StoredRequests.layer,
  SecretRotation.layer
)

/** The ends of runs, and alerts, are sent to destinations. */
const delivery = Layer.mergeAll(Destinations.layer, Deliverer.layer, Alerts.layer).pipe(
  Layer.provide(Outbox.layer),
  Layer.provide(flow)
)

/** The whole engine. The host chooses its drivers. */
export const layer: Layer.Layer<
  | Alerts
  | Trigger
  | Replay
  | Approvals
  | Cancellation
  | Destinations
  | HttpLeaders
  | ApiKeys
  | LeaderKeys
  | Outcomes
  | ProgressReports
  | RunWatch
  | Teams
  | Threads
  | Webhooks
  | Overview
  | StoredRequests
  | Shutdown
  | SlackActions
  | SnsRequests
  | TokenKeys
  | TeamLeaders,
  never,
  Bus | Limiter | Renderer | Repo | Settings
> = Layer.mergeAll(flow, management, delivery, SnsRequests.layer, TokenKeys.layer).pipe(
  Layer.provide(middle),
  Layer.provide(Poster.layer),
  Layer.provide(InputChecks.layer),
  Layer.provide(Evaluator.layer),
  Layer.provideMerge(RunWatch.layer),
  Layer.provideMerge(Layer.mergeAll(Outcomes.layer, ProgressReports.layer, Shutdown.layer, TeamLeaders.layer))
)
