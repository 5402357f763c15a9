import { Data, Either } from "effect"
import { FilterFailed, SchemaMismatch, type Unavailable } from "../../domain/Errors.ts"
import * as Jmespath from "../../domain/evaluation/Jmespath.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { filter, tooMuchWork } from "../../domain/prompt/Filter.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import * as Evaluation from "./Evaluation.ts"
import * as Input from "./Input.ts"
import { checkTime, faultsIn } from "./InputSchema.ts"

/** The webhook's `accept_if` does not hold: there is nothing to do, and nothing is wrong. */
export class Ignored extends Data.TaggedError("Ignored") {}

export type Objection = Ignored | FilterFailed | SchemaMismatch | Unavailable

/** What the webhook has against the input, beside what its template asks for; `undefined`: nothing. */
export type ObjectionTo = (
  webhook: Pick<WebhookRow, "id" | "input" | "accept_if" | "schema">,
  input: Variables
) => Objection | undefined

/** The CPU time that a filter may take, in milliseconds: four times what its budget usually takes. */
const filterTime = 1_000

/** Compiled filters in memory, at most. */
const maxCompiled = 2_000

export const make = (): ObjectionTo => {
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

  const filterObjection = (id: WebhookId, accept_if: string, input: Variables): Objection | undefined => {
    const evaluated = evaluateFilter(id, (budget) => filter(accept_if, input, { budget, compile }))
    if (Either.isLeft(evaluated)) {
      return evaluated.left._tag === "TooSlow" ? new FilterFailed({ detail: tooMuchWork }) : evaluated.left
    }
    const result = evaluated.right
    if ("failed" in result) return new FilterFailed({ detail: result.failed })
    return result.accepted ? undefined : new Ignored()
  }

  return (webhook, input) => {
    const { id, accept_if, schema } = webhook
    const objection = accept_if === undefined ? undefined : filterObjection(id, accept_if, input)
    if (objection !== undefined || schema === undefined) return objection
    const [subject, root] = Input.takesPayload(webhook) ? [input.payload, "/payload"] : [input, "/variables"]
    const checked = evaluateSchema(id, () => faultsIn(schema, subject))
    if (Either.isLeft(checked)) {
      if (checked.left._tag === "Unavailable") return checked.left
      return new SchemaMismatch({ faults: [{ pointer: root, detail: tooSlow }] })
    }
    const faults = checked.right.map((fault) => ({ ...fault, pointer: `${root}${fault.pointer}` }))
    return faults.length === 0 ? undefined : new SchemaMismatch({ faults })
  }
}

const tooSlow = `takes more than ${checkTime} ms to check against the schema`
