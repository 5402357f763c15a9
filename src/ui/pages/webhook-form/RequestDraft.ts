/** The initial values of the form for a listening webhook that has received a request. */
import { placeholderAt } from "../../../domain/prompt/Placeholder.ts"
import { ofKept } from "../../../domain/request/Payload.ts"
import type { Recipe } from "../../../recipes/Recipe.ts"
import type { ReceivedRequest, Webhook } from "../../api/Types.ts"
import { inputsOfRequest } from "../../components/form/VariableInput.ts"
import { type FormDraft, recipeDraft } from "./RecipeDraft.ts"
import { textsOf } from "./WebhookFields.ts"

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

/** The fields that are most often a title, best first. */
const titles = ["title", "subject", "summary", "name", "message", "event", "action", "type"]

/** Where the payload, or an object in it, has a title. */
const titleIn = (payload: unknown): string | undefined => {
  const objects = [
    [[], payload] as const,
    ...Object.entries(fieldsOf(payload)).map(([key, it]) => [[key], it] as const)
  ]
  for (const title of titles) {
    const found = objects.find(([, object]) => typeof fieldsOf(object)[title] === "string")
    if (found !== undefined) return placeholderAt(["payload", ...found[0], title], "simple")
  }
  return undefined
}

/** Rejected requests stay to be looked at, since the first ones often are. */
const kept = { input: "payload", store_requests: "refused" } as const

export const requestDraft = (webhook: Webhook, request: ReceivedRequest, recipe: Recipe | undefined): FormDraft => {
  const { team } = webhook
  const samples = inputsOfRequest(request)
  if (recipe !== undefined) {
    const draft = recipeDraft(recipe)
    return { ...draft, samples, texts: { ...draft.texts, team, store_requests: kept.store_requests } }
  }
  const run_title = titleIn(ofKept(request))
  const webhookOf = {
    name: webhook.name,
    team,
    prompt_template: "{{payload}}",
    ...kept,
    ...(run_title && { run_title })
  }
  return { samples, texts: textsOf(webhookOf) }
}
