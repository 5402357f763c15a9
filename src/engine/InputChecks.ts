import { Data, Option } from "effect"
import { FilterFailed, SchemaMismatch, Unavailable } from "../domain/Errors.ts"
import { filter } from "../domain/Filter.ts"
import type { WebhookId } from "../domain/Id.ts"
import type { Variables } from "../domain/Run.ts"
import type { WebhookRow } from "../domain/Webhook.ts"
import * as Input from "./Input.ts"
import { check, checkTime } from "./InputSchema.ts"
import { restAfter, withinTime } from "./TimeLimit.ts"

/** The webhook's `accept_if` does not hold: there is nothing to do, and nothing is wrong. */
export class Ignored extends Data.TaggedError("Ignored") {}

export type Objection = Ignored | FilterFailed | SchemaMismatch | Unavailable

/** What the webhook has against the input, beside what its template asks for; `undefined`: nothing. */
export type ObjectionTo = (
  webhook: Pick<WebhookRow, "id" | "input" | "accept_if" | "schema">,
  input: Variables
) => Objection | undefined

export const make = (): ObjectionTo => {
  const restsUntil = new Map<WebhookId, number>()

  const tookTooLong = <E>(id: WebhookId, refusal: E): E => {
    restsUntil.set(id, performance.now() + restAfter(checkTime))
    return refusal
  }

  return (webhook, input) => {
    const { id, accept_if, schema } = webhook
    if (accept_if === undefined && schema === undefined) return undefined
    if (performance.now() < (restsUntil.get(id) ?? 0)) return resting
    restsUntil.delete(id)
    if (accept_if !== undefined) {
      const result = withinTime(checkTime, () => filter(accept_if, input))
      if (Option.isNone(result)) return tookTooLong(id, new FilterFailed({ detail: `It takes ${tooLong}.` }))
      if ("failed" in result.value) return new FilterFailed({ detail: result.value.failed })
      if (!result.value.accepted) return new Ignored()
    }
    if (schema === undefined) return undefined
    const [subject, root] = Input.takesPayload(webhook) ? [input.payload, "/payload"] : [input, "/variables"]
    const faults = check(schema, subject)
    if (Option.isNone(faults)) {
      const detail = `takes ${tooLong} to check against the schema`
      return tookTooLong(id, new SchemaMismatch({ faults: [{ pointer: root, detail }] }))
    }
    if (faults.value.length === 0) return undefined
    return new SchemaMismatch({
      faults: faults.value.map((fault) => ({ ...fault, pointer: `${root}${fault.pointer}` }))
    })
  }
}

const tooLong = `more than ${checkTime} ms`

const resting = new Unavailable({
  what: "server",
  detail: "A check of the webhook took too long; it checks nothing for a moment. Try again."
})
