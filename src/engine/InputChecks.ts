import { Option } from "effect"
import { SchemaMismatch, Unavailable } from "../domain/Errors.ts"
import type { WebhookId } from "../domain/Id.ts"
import type { Variables } from "../domain/Run.ts"
import type { WebhookRow } from "../domain/Webhook.ts"
import * as Input from "./Input.ts"
import { check, checkTime } from "./InputSchema.ts"

/** For how long a webhook rests whose check was ended, in milliseconds: so its checks take a tenth of the server at most. */
const rest = 9 * checkTime

/** Why the webhook refuses the input, beside what its template asks for; `undefined`: it does not. */
export type RefusalOf = (
  webhook: Pick<WebhookRow, "id" | "input" | "schema">,
  input: Variables
) => SchemaMismatch | Unavailable | undefined

export const make = (): RefusalOf => {
  const restsUntil = new Map<WebhookId, number>()

  return (webhook, input) => {
    const { id, schema } = webhook
    if (schema === undefined) return undefined
    const [subject, root] = Input.takesPayload(webhook) ? [input.payload, "/payload"] : [input, "/variables"]
    if (performance.now() < (restsUntil.get(id) ?? 0)) return resting
    restsUntil.delete(id)
    const faults = check(schema, subject)
    if (Option.isSome(faults)) {
      return faults.value.length === 0
        ? undefined
        : new SchemaMismatch({
            faults: faults.value.map((fault) => ({ ...fault, pointer: `${root}${fault.pointer}` }))
          })
    }
    restsUntil.set(id, performance.now() + rest)
    return new SchemaMismatch({ faults: [{ pointer: root, detail: tooLong }] })
  }
}

const tooLong = `takes more than ${checkTime} ms to check against the schema`

const resting = new Unavailable({
  what: "server",
  detail: "A check of the webhook took too long; it checks nothing for a moment. Try again."
})
