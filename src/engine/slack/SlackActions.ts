/** People's actions on our messages in Slack: clicks on buttons, replies and reactions. They come to webhooks' URLs. */
import { Context, Data, Effect, Layer } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import type { Submitted } from "../../domain/run/Submitted.ts"
import type { OpenedWebhook } from "../../domain/webhook/Webhook.ts"
import type { RunRequest } from "../trigger/Candidates.ts"
import type { TriggerRefused } from "../trigger/Refusals.ts"
import { type ReadFor, Trigger, type Triggered } from "../trigger/Trigger.ts"
import { takesClicks } from "./Buttons.ts"
import * as Clicks from "./Clicks.ts"
import * as SlackThreads from "./SlackThreads.ts"

/** `undefined`: it is a request like any other. */
type Act = Effect.Effect<Submitted | undefined, Unavailable>

/** The request is about a message of ours. `act` decides by the webhook, and nothing checks its version after that. */
class SlackAction extends Data.TaggedError("SlackAction")<{
  readonly request: RunRequest
  readonly act: Act
}> {}

export class SlackActions extends Context.Service<
  SlackActions,
  {
    /** As in `Trigger`, unless the request is such an action. */
    readonly triggerRead: Trigger["Service"]["triggerRead"]
  }
>()("webhook-trigger/SlackActions") {
  static readonly layer = Layer.effect(
    SlackActions,
    Effect.gen(function* () {
      const trigger = yield* Trigger
      const click = yield* Clicks.make
      const inThread = yield* SlackThreads.make

      const actOf = (webhook: OpenedWebhook, request: RunRequest): Effect.Effect<Act | undefined, Unavailable> => {
        const clicked = click(webhook, request)
        return clicked === undefined ? inThread(webhook, request) : Effect.succeed(clicked)
      }

      const triggerRead = <Request extends RunRequest, E>(
        webhook: OpenedWebhook,
        read: ReadFor<Request, E>
      ): Effect.Effect<Triggered<Request>, E | TriggerRefused> => {
        const readNoAction = (webhook: OpenedWebhook): Effect.Effect<Request, E | Unavailable | SlackAction> =>
          Effect.tap(read(webhook), (request) =>
            takesClicks(webhook)
              ? Effect.flatMap(actOf(webhook, request), (act) =>
                  act ? new SlackAction({ request, act }) : Effect.void
                )
              : Effect.void
          )
        return Effect.catch(trigger.triggerRead(webhook, readNoAction), (error) =>
          error instanceof SlackAction
            ? Effect.matchEffect(error.act, {
                onFailure: (failure) => Effect.fail(new Unavailable({ ...failure, is_of_slack: true })),
                onSuccess: (submitted) =>
                  submitted === undefined
                    ? trigger.triggerRead(webhook, read)
                    : Effect.succeed({ request: error.request as Request, submitted })
              })
            : Effect.fail(error as E | TriggerRefused)
        )
      }
      return { triggerRead }
    })
  )
}
