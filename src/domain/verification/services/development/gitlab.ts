import type { Preset } from "../../Description.ts"
import { symmetric } from "../../standardWebhooks.ts"

/** A retried delivery keeps its `Idempotency-Key`. */
const id = [{ header: "webhook-id" }, { header: "idempotency-key" }, { header: "x-gitlab-event-uuid" }]

export const gitlab: Preset = {
  label: "GitLab",
  secret: "the webhook's “Signing token” (`whsec_…`), or its “Secret token”",
  documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
  descriptions: [
    { ...symmetric, for: { secret: "whsec_" } },
    { scheme: "header", headers: ["x-gitlab-token"], id }
  ]
}
