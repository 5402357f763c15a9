/** The services that a webhook can be set up for. */

import { type PresetName, presets } from "../domain/verification/Presets.ts"
import { discord } from "./communication/discord.ts"
import { meta } from "./communication/meta.ts"
import { microsoftGraph } from "./communication/microsoftGraph.ts"
import { slackCommand } from "./communication/slackCommand.ts"
import { slackMention } from "./communication/slackMention.ts"
import { teams } from "./communication/teams.ts"
import { twilio } from "./communication/twilio.ts"
import { zoom } from "./communication/zoom.ts"
import { calendly } from "./customers/calendly.ts"
import { hubspot } from "./customers/hubspot.ts"
import { zendesk } from "./customers/zendesk.ts"
import { github } from "./development/github.ts"
import { githubComment } from "./development/githubComment.ts"
import { gitlab } from "./development/gitlab.ts"
import { jira } from "./development/jira.ts"
import { linear } from "./development/linear.ts"
import { trello } from "./development/trello.ts"
import { generic } from "./generic.ts"
import { mux } from "./media/mux.ts"
import { twitch } from "./media/twitch.ts"
import { alertmanager } from "./operations/alertmanager.ts"
import { awsSns } from "./operations/awsSns.ts"
import { eventGrid } from "./operations/eventGrid.ts"
import { grafana } from "./operations/grafana.ts"
import { pagerduty } from "./operations/pagerduty.ts"
import { sentry } from "./operations/sentry.ts"
import { paddle } from "./payments/paddle.ts"
import { square } from "./payments/square.ts"
import { stripe } from "./payments/stripe.ts"
import type { Recipe } from "./Recipe.ts"
import { standardWebhooks } from "./standardWebhooks.ts"

/** In the order in which they are shown. */
export const recipes = {
  github,
  "github-comment": githubComment,
  gitlab,
  "slack-command": slackCommand,
  "slack-mention": slackMention,
  alertmanager,
  grafana,
  sentry,
  stripe,
  linear,
  pagerduty,
  jira,
  trello,
  zendesk,
  hubspot,
  twilio,
  teams,
  discord,
  paddle,
  square,
  calendly,
  zoom,
  mux,
  twitch,
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

/** Who calls, in a sentence: a recipe's label may be what it is about, such as “GitHub comments”. */
export const serviceOf = ({ label, verification: { preset } }: Recipe): string =>
  label === generic.label ? label.toLowerCase() : presets[preset].label

/** The recipe of the service whose requests a webhook verifies, whether or not it was made from it. */
export const recipeOf = (preset: PresetName): Recipe | undefined =>
  recipeNames.map((name): Recipe => recipes[name]).find(({ verification }) => verification.preset === preset)
