/** The services that a webhook can be set up for. */
import type { PresetName } from "../domain/verification/Presets.ts"
import { alertmanager } from "./alertmanager.ts"
import { awsSns } from "./awsSns.ts"
import { eventGrid } from "./eventGrid.ts"
import { generic } from "./generic.ts"
import { github } from "./github.ts"
import { gitlab } from "./gitlab.ts"
import { grafana } from "./grafana.ts"
import { jira } from "./jira.ts"
import { linear } from "./linear.ts"
import { meta } from "./meta.ts"
import { microsoftGraph } from "./microsoftGraph.ts"
import { pagerduty } from "./pagerduty.ts"
import type { Recipe } from "./Recipe.ts"
import { sentry } from "./sentry.ts"
import { slackCommand } from "./slackCommand.ts"
import { standardWebhooks } from "./standardWebhooks.ts"
import { stripe } from "./stripe.ts"
import { trello } from "./trello.ts"

/** In the order in which they are shown. */
export const recipes = {
  github,
  gitlab,
  "slack-command": slackCommand,
  alertmanager,
  grafana,
  sentry,
  stripe,
  linear,
  pagerduty,
  jira,
  trello,
  "aws-sns": awsSns,
  "event-grid": eventGrid,
  "microsoft-graph": microsoftGraph,
  meta,
  "standard-webhooks": standardWebhooks,
  generic
} as const satisfies { readonly [name: string]: Recipe }

export type RecipeName = keyof typeof recipes

export const recipeNames = Object.keys(recipes) as ReadonlyArray<RecipeName>

export const isRecipeName = (text: string): text is RecipeName => Object.hasOwn(recipes, text)

/** The recipe of the service whose requests a webhook verifies, whether or not it was made from it. */
export const recipeOf = (preset: PresetName): Recipe | undefined =>
  recipeNames.map((name): Recipe => recipes[name]).find(({ verification }) => verification.preset === preset)
