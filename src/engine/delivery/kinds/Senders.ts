/** How each kind of destination sends. */
import type { DestinationKind } from "../../../domain/delivery/DestinationKind.ts"
import { chain } from "./Chain.ts"
import { discord } from "./Discord.ts"
import { email } from "./Email.ts"
import { github } from "./GitHub.ts"
import { gitlab } from "./GitLab.ts"
import type { Sender } from "./Sender.ts"
import { slack, slackMessage, slackResponse } from "./Slack.ts"
import { stickyComment } from "./StickyComment.ts"
import { teams } from "./Teams.ts"
import { callback, webhook } from "./Webhook.ts"

export const senders: { readonly [Kind in DestinationKind]: Sender } = {
  webhook,
  callback,
  slack,
  "slack-message": slackMessage,
  "slack-response": slackResponse,
  discord,
  teams,
  github: stickyComment(github),
  gitlab: stickyComment(gitlab),
  email,
  chain
}
