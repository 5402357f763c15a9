/**
 * How to set up a webhook for a service: the webhook's settings, the steps at the service and a sample request. Each is a
 * page of docs/sources. The web UI's form and checklist show the same. Browser-safe.
 */

import type { DestinationKind } from "../domain/delivery/DestinationKind.ts"
import type { Options } from "../domain/verification/Presets.ts"
import type { SettingValues } from "../domain/webhook/WebhookSettings.ts"

/** A request as the service sends it, but for its signature or secret. */
export interface Sample {
  /** By their names in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** The body: an object or a list, sent as JSON. With the `content-type` of a form: texts by name, sent as a form. */
  readonly payload: { readonly [name: string]: unknown } | ReadonlyArray<unknown>
}

/**
 * Where the secret comes from: it is made here and given to the service; or the service has it already; or it shows it once it
 * knows the URL, so until then there is another one here.
 */
export type SecretOrigin = "made here" | "known before" | "shown after"

export interface Recipe {
  /** The service, for people. */
  readonly label: string
  /** The name that a webhook made from it has at first. */
  readonly name: string
  /** Its effect, as a sentence. */
  readonly summary: string
  /** The requests that start a run, and how, in a few words each. */
  readonly starts: ReadonlyArray<string>
  /** Where the answers belong, with the target for a request of this service. */
  readonly destination?: { readonly kind: DestinationKind; readonly target: string }
  readonly verification: Options
  readonly secret: SecretOrigin
  readonly settings: Partial<SettingValues>
  readonly prompt_template: string
  /** The settings to make at the service, in this order; its own words are in “quotes”. */
  readonly steps: ReadonlyArray<string>
  /** The content of a file there; `TRIGGER_URL` and `SECRET` stand for what they say. */
  readonly config?: { readonly file: string; readonly text: string }
  /** Notes on what else is good to know. */
  readonly notes: ReadonlyArray<string>
  readonly sample: Sample
  /** The service's documentation of its requests. */
  readonly documentation: string
}

/** The text of `config` with the trigger URL and the secret. */
export const withValues = (text: string, url: string, secret: string): string =>
  text.replace("TRIGGER_URL", () => url).replace("SECRET", () => secret)

/** A secret that is made here, in the form of the recipe's service. */
export const randomSecret = ({ verification }: Recipe): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  return verification.preset === "standard-webhooks"
    ? `whsec_${btoa(String.fromCharCode(...bytes))}`
    : Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
}
