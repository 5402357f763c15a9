import { Context, Data, Effect, Layer } from "effect"
import { type Fault, FilterFailed, SchemaMismatch, type Unavailable } from "../../domain/Errors.ts"
import { Budget } from "../../domain/evaluation/Budget.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { tooMuchWork } from "../../domain/prompt/Filter.ts"
import { type FilterReason, reasonOf } from "../../domain/prompt/FilterReason.ts"
import { type Attachments, type NamedFile, namedFiles } from "../../domain/run/Attachments.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { RunFile } from "../../domain/run/RunFile.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import { Evaluator, quickWork } from "./Evaluator.ts"
import * as Input from "./Input.ts"

/**
 * The request is ignored; nothing is wrong. Without a reason, the webhook's `accept_if` does not hold. `run_id`: the run for
 * which it is.
 */
export class Ignored extends Data.TaggedError("Ignored")<{ readonly reason?: string; readonly run_id?: RunId }> {}

type InputRefused = Ignored | FilterFailed | SchemaMismatch | Unavailable

type Webhook = Pick<WebhookRow, "id" | "input" | "accept_if" | "schema">

/** For the reason why a filter ignores an input: at most a few milliseconds, as it is only shown. */
const reasonWork = 100_000

/** Checks inputs by the webhook's own rules, beyond what its template needs. */
export class InputChecks extends Context.Service<
  InputChecks,
  {
    /** Succeeds if the webhook accepts the input. */
    readonly check: (webhook: Webhook, input: Variables) => Effect.Effect<void, InputRefused>
    /** The webhooks whose filters ignore the input, as far as that is found out in a millisecond for all of them. */
    readonly ignoring: <Row extends Webhook>(webhooks: ReadonlyArray<Row>, input: Variables) => ReadonlyArray<Row>
    /** Whether the webhook's `cancel_if` holds for the input. */
    readonly cancels: (
      webhook: Pick<WebhookRow, "id" | "cancel_if">,
      input: Variables
    ) => Effect.Effect<boolean, FilterFailed | Unavailable>
    /** The files that the input names, by the webhook's `attachments`, beside those that were sent. */
    readonly attachments: (
      webhook: Pick<WebhookRow, "id" | "attachments">,
      input: Variables,
      sent: ReadonlyArray<RunFile>
    ) => Effect.Effect<ReadonlyArray<NamedFile>, Unavailable>
    /** Why the webhook's filter ignores the input, as far as that can be found out quickly. */
    readonly ignoredBecause: (webhook: Webhook, input: Variables) => FilterReason | undefined
    /** The refusal of whatever is not quick, if the CPU time of this webhook is used up for now. */
    readonly refusalOf: (id: WebhookId) => Unavailable | undefined
    /** Counts other work for this webhook, in milliseconds of CPU time. */
    readonly charge: (id: WebhookId, milliseconds: number) => void
  }
>()("webhook-trigger/InputChecks") {
  static readonly layer: Layer.Layer<InputChecks, never, Evaluator> = Layer.effect(
    InputChecks,
    Effect.map(Evaluator, ({ charge, evaluate, evaluateNow, refusalOf }) => {
      const holds = (
        id: WebhookId,
        accept_if: string,
        input: Variables
      ): Effect.Effect<boolean, FilterFailed | Unavailable> =>
        evaluate("filter", { accept_if, input }, id).pipe(
          Effect.catchTag("TooSlow", () => Effect.succeed({ failed: tooMuchWork })),
          Effect.flatMap((result) =>
            "failed" in result
              ? Effect.fail(new FilterFailed({ detail: result.failed }))
              : Effect.succeed(result.accepted)
          )
        )

      const checkFilter = (id: WebhookId, accept_if: string, input: Variables): Effect.Effect<void, InputRefused> =>
        Effect.flatMap(holds(id, accept_if, input), (isAccepted) => (isAccepted ? Effect.void : notAccepted))

      const checkSchema = (
        webhook: Webhook,
        schema: JsonObject,
        input: Variables
      ): Effect.Effect<void, InputRefused> => {
        const [value, root] = Input.takesPayload(webhook) ? [input.payload, "/payload"] : [input, "/variables"]
        return evaluate("value", { schema, value }, webhook.id).pipe(
          Effect.catchTag("TooSlow", () => Effect.succeed<ReadonlyArray<Fault>>([tooSlow])),
          Effect.flatMap((faults) =>
            faults.length === 0
              ? Effect.void
              : Effect.fail(
                  new SchemaMismatch({ faults: faults.map((fault) => ({ ...fault, pointer: root + fault.pointer })) })
                )
          )
        )
      }

      return {
        check: (webhook, input) => {
          const { accept_if, id, schema } = webhook
          const filtered = accept_if === undefined ? Effect.void : checkFilter(id, accept_if, input)
          return schema === undefined ? filtered : Effect.andThen(filtered, checkSchema(webhook, schema, input))
        },
        ignoring: (webhooks, input) => {
          const budget = new Budget(quickWork)
          return webhooks.filter(({ accept_if }) => {
            if (accept_if === undefined || budget.isExceeded) return false
            const result = evaluateNow("filter", { accept_if, input }, budget)
            return result !== undefined && "accepted" in result && !result.accepted
          })
        },
        cancels: ({ cancel_if, id }, input) =>
          cancel_if === undefined ? Effect.succeed(false) : holds(id, cancel_if, input),
        attachments: ({ attachments, id }, input, sent) => {
          if (attachments === undefined) return Effect.succeed([])
          // It was checked when it was saved.
          const setting = attachments as unknown as Attachments
          return evaluate("attachments", { setting, input }, id).pipe(
            Effect.catchTag("TooSlow", () => Effect.succeed({ failed: true as const })),
            Effect.map((result) => namedFiles("failed" in result ? "failed" : result.found, setting, sent))
          )
        },
        refusalOf,
        charge,
        ignoredBecause: ({ accept_if }, input) =>
          accept_if === undefined ? undefined : reasonOf(accept_if, input, { budget: new Budget(reasonWork) })
      }
    })
  )
}

/** Made once: it has a stack, which would be most of the work for a request that a filter ignores. */
const notAccepted = new Ignored({})

const tooSlow: Fault = { pointer: "", detail: "takes too long to check against the schema" }
