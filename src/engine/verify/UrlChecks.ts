/** Tests of a webhook's URL that come before any secret is known, so they are not signed. Pure. */
import { cloudEvents } from "../../domain/verification/cloudEvents.ts"
import type { Preset, UrlCheck } from "../../domain/verification/Description.ts"
import { type Options, presets } from "../../domain/verification/Presets.ts"
import * as Lookup from "./RequestLookup.ts"
import { isSecret } from "./Signing.ts"
import type { Cause, Handshake } from "./Verify.ts"

/** In characters. Services send some hundreds. */
const maxEcho = 2_000

const ofEveryWebhook: ReadonlyArray<UrlCheck> = [cloudEvents]

const none: ReadonlyArray<UrlCheck> = []

const checksOf = (verification: Options | undefined): ReadonlyArray<UrlCheck> => {
  const preset: Preset | undefined = verification && presets[verification.preset]
  return preset?.urlChecks ?? none
}

/** The test that the request is; `undefined`: none. Most requests are none, and cost no more than this. */
export const find = (verification: Options | undefined, request: Lookup.SignedRequest): UrlCheck | undefined => {
  const own = checksOf(verification)
  const isPost = request.method === "POST"
  if (isPost && own === none) return undefined
  const lookup = Lookup.make(request)
  return (isPost ? own : [...own, ...ofEveryWebhook]).find(
    ({ method, when = [] }) => method === request.method && when.every(lookup.holds)
  )
}

const filled = (texts: { readonly [name: string]: string }, echo: string): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.replace("{echo}", () => echo)]))

/** The answer that the sender expects, or why it gets none. */
export const answer = (
  { echo: source, expects, headers, json }: UrlCheck,
  verification: Options | undefined,
  request: Lookup.SignedRequest
): Handshake | Cause => {
  const lookup = Lookup.make(request)
  if (expects !== undefined) {
    const sent = lookup.at(expects.at)
    if (sent === undefined) return "missing"
    if (!isSecret(Buffer.from(sent), Buffer.from(verification?.[expects.option] ?? ""))) return "mismatch"
  }
  const echo = source === undefined ? "" : lookup.at(source)
  if (echo === undefined) return "missing"
  if (echo.length > maxEcho) return "malformed"
  return {
    _tag: "Handshake",
    ...(headers === undefined && json === undefined && { echo }),
    ...(json && { json: filled(json, echo) }),
    ...(headers && { echo: "", headers: filled(headers, echo) })
  }
}
