/** What the handlers of destinations share. */
import { Redacted } from "effect"
import type { WithSecret } from "../../engine/delivery/Destinations.ts"

/** The only place that shows a signing secret. */
export const withSecret = ({ destination, secret }: WithSecret) => ({
  destination,
  ...(secret !== undefined && { secret: Redacted.value(secret) })
})

type Given<A> = { readonly [Field in keyof A]?: Exclude<A[Field], undefined> }

/** The parameters that are there. */
export const given = <A extends object>(parameters: A): Given<A> =>
  Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined)) as Given<A>
