/** Secrets in a plan. The server never shows them, so only what it shows of them is compared. */
import { isDeepStrictEqual } from "node:util"
import type { Destination } from "../../domain/delivery/Destination.ts"
import { secretHintOf } from "../../domain/webhook/SecretHint.ts"
import { type Fields, isKnown, type Secret } from "./SecretReferences.ts"
import type { Change, PlanOptions } from "./Steps.ts"
import type { WantedDestination } from "./WantedDestination.ts"

export interface SecretPlan {
  readonly changes: ReadonlyArray<Change>
  readonly notes: ReadonlyArray<string>
  readonly payload: Fields
}

export const noSecret: SecretPlan = { changes: [], notes: [], payload: {} }

/** A secret counts as unchanged if its last characters are those that the server shows. */
export const secretPlan = (
  field: string,
  secret: Secret | undefined,
  hint: string | undefined,
  { resetSecrets }: PlanOptions
): SecretPlan => {
  if (secret === undefined) return noSecret
  if (!isKnown(secret)) return { ...noSecret, notes: [`${field} not compared: ${secret.unknown}`] }
  const to = secretHintOf(secret.value)
  if (to === hint && !resetSecrets) return noSecret
  return { changes: [{ field, ...(hint && { from: hint }), to }], notes: [], payload: { [field]: secret.value } }
}

/** The values of headers are never shown, so only their names are compared. */
export const headersPlan = (
  headers: WantedDestination["headers"],
  before: Destination | undefined,
  isMoved: boolean,
  { resetSecrets }: PlanOptions
): SecretPlan => {
  if (headers === undefined) return noSecret
  const unknown = Object.values(headers).filter((value) => !isKnown(value))
  const from = [...(before?.header_names ?? [])].sort()
  const to = Object.keys(headers).sort()
  const isSame = isDeepStrictEqual(from, to) && !resetSecrets
  if (isSame && !isMoved) return noSecret
  if (unknown.length > 0) {
    return {
      ...noSecret,
      notes: unknown.map((value) => `headers not compared: ${"unknown" in value && value.unknown}`)
    }
  }
  const values = Object.entries(headers).flatMap(([name, value]) => (isKnown(value) ? [[name, value.value]] : []))
  return {
    changes: isSame ? [] : [{ field: "headers", ...(from.length > 0 && { from }), to }],
    notes: [],
    payload: { headers: Object.fromEntries(values) }
  }
}
