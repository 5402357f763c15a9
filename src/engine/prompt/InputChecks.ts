import { Context, Data, Either, Layer, Option } from "effect"
import { FilterFailed, SchemaMismatch, type Unavailable } from "../../domain/Errors.ts"
import * as Jmespath from "../../domain/evaluation/Jmespath.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { filter, tooMuchWork } from "../../domain/prompt/Filter.ts"
import { type FilterReason, reasonOf } from "../../domain/prompt/FilterReason.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import * as Evaluation from "./Evaluation.ts"
import * as Input from "./Input.ts"
import { checkTime, faultsIn } from "./InputSchema.ts"

/** The request is ignored; nothing is wrong. Without a reason, the webhook's `accept_if` does not hold. */
export class Ignored extends Data.TaggedError("Ignored")<{ readonly reason?: string }> {}

export type InputRefused = Ignored | FilterFailed | SchemaMismatch | Unavailable

type Webhook = Pick<WebhookRow, "id" | "input" | "accept_if" | "schema">

/** The CPU time that a filter may take, in milliseconds: four times what its budget usually takes. */
const filterTime = 1_000

/** Compiled filters in memory, at most. */
const maxCompiled = 2_000

/** Checks inputs by the webhook's own rules, beyond what its template needs. */
export class InputChecks extends Context.Tag("webhook-trigger/InputChecks")<
  InputChecks,
  {
    /** `undefined`: the webhook accepts the input. */
    readonly refusalOf: (webhook: Webhook, input: Variables) => InputRefused | undefined
    /** Why the webhook's filter ignores the input, as far as that can be found out within the filter's limits. */
    readonly ignoredBecause: (webhook: Webhook, input: Variables) => FilterReason | undefined
  }
>() {
  static readonly layer: Layer.Layer<InputChecks> = Layer.sync(InputChecks, () => {
    const evaluateFilter = Evaluation.make<WebhookId>(filterTime)
    const evaluateSchema = Evaluation.make<WebhookId>(checkTime)

    const compiled = new RecentMap<string, Jmespath.Expression>(maxCompiled)

    const compile = (expression: string): Jmespath.Expression => {
      const known = compiled.get(expression)
      if (known !== undefined) return known
      const fresh = Jmespath.compile(expression)
      compiled.set(expression, fresh)
      return fresh
    }

    const filterRefusal = (id: WebhookId, accept_if: string, input: Variables): InputRefused | undefined => {
      const evaluated = evaluateFilter(id, (budget) => filter(accept_if, input, { budget, compile }))
      if (Either.isLeft(evaluated)) {
        return evaluated.left._tag === "TooSlow" ? new FilterFailed({ detail: tooMuchWork }) : evaluated.left
      }
      const result = evaluated.right
      if ("failed" in result) return new FilterFailed({ detail: result.failed })
      return result.accepted ? undefined : new Ignored({})
    }

    const refusalOf = (webhook: Webhook, input: Variables): InputRefused | undefined => {
      const { id, accept_if, schema } = webhook
      const refusal = accept_if === undefined ? undefined : filterRefusal(id, accept_if, input)
      if (refusal !== undefined || schema === undefined) return refusal
      const [subject, root] = Input.takesPayload(webhook) ? [input.payload, "/payload"] : [input, "/variables"]
      const checked = evaluateSchema(id, () => faultsIn(schema, subject))
      if (Either.isLeft(checked)) {
        if (checked.left._tag === "Unavailable") return checked.left
        return new SchemaMismatch({ faults: [{ pointer: root, detail: tooSlow }] })
      }
      const faults = checked.right.map((fault) => ({ ...fault, pointer: `${root}${fault.pointer}` }))
      return faults.length === 0 ? undefined : new SchemaMismatch({ faults })
    }

    const ignoredBecause = ({ id, accept_if }: Webhook, input: Variables): FilterReason | undefined =>
      accept_if === undefined
        ? undefined
        : Option.getOrUndefined(
            Either.getRight(evaluateFilter(id, (budget) => reasonOf(accept_if, input, { budget, compile })))
          )

    return { refusalOf, ignoredBecause }
  })
}

const tooSlow = `takes more than ${checkTime} ms to check against the schema`
