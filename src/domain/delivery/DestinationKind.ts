/**
 * The kinds of destinations, as data: what the API checks, and what the command line and the web UI ask for. How each one
 * sends is in `engine/delivery/kinds`. Plain data: the web UI loads it without `Schema`.
 */

/** How many runs of a chain may follow the first one. So webhooks that start each other come to an end. */
export const maxChainDepth = 5

/** The header of signed events with the number of runs before, should they start another run of a webhook. */
export const depthHeader = "webhook-trigger-depth"

/** A field of a kind, as people see it. */
interface KindField {
  readonly label: string
  readonly help: string
  readonly example: string
}

interface DestinationKindData {
  /** The service, for people. */
  readonly label: string
  /**
   * `event`: a signed event of the Standard Webhooks specification. `message`: text for people, from Markdown. `run`: a run
   * of another webhook, with the event as its input.
   */
  readonly sends: "event" | "message" | "run"
  /**
   * Absent: there is none to set. `isSecret`: it contains a key, so it is stored encrypted and only its host is shown.
   * `default`: the service's own, for those who do not host it themselves.
   */
  readonly url?: KindField & { readonly isSecret?: true; readonly default?: string }
  /** The text shown in place of a URL that each run has itself. */
  readonly shownUrl?: string
  /** Each run has its caller's own URL, and alerts have none. So a failure says nothing about the destination. */
  readonly isOfRuns?: true
  /** The event `run.started` is the reaction 👀 to the target. */
  readonly reacts?: true
  /** All runs with one target share one comment. So deliveries are made one after the other, in the order of the runs. */
  readonly sharesComment?: true
  /** Alerts cannot be sent there. */
  readonly hasNoAlerts?: true
  /** A required token, which is stored encrypted. */
  readonly token?: KindField
  /** The required place at the service: a Liquid template over the same values as `template`. `isFixed`: a text instead. */
  readonly target?: KindField & { readonly isFixed?: true }
}

const destinationKinds = {
  webhook: {
    label: "Webhook (signed event)",
    sends: "event",
    url: {
      label: "URL",
      help: "An https URL with a public address. `CALLBACK_ALLOW` on the server allows others.",
      example: "https://hooks.example.com/runs"
    }
  },
  callback: {
    label: "Callback (signed event to a caller's own URL)",
    sends: "event",
    isOfRuns: true,
    url: {
      label: "Allowed URL prefix",
      help: "It must end with a slash. A caller's `callback_url` must begin with this prefix.",
      example: "https://ci.example.com/hooks/"
    }
  },
  slack: {
    label: "Slack channel (incoming webhook)",
    sends: "message",
    url: {
      label: "Webhook URL",
      help: "In Slack: your app, “Incoming Webhooks”, “Add New Webhook”. Stored encrypted.",
      example: "https://hooks.slack.com/services/T000/B000/XXXX",
      isSecret: true
    }
  },
  "slack-message": {
    label: "Slack channel or thread (bot token)",
    sends: "message",
    url: {
      label: "API URL",
      help: "Of Slack's Web API.",
      example: "https://slack.com/api",
      default: "https://slack.com/api"
    },
    token: {
      label: "Bot token",
      help: "With the scope `chat:write`. Stored encrypted.",
      example: "xoxb-…"
    },
    target: {
      label: "Channel",
      help: "The channel's ID. With a slash and the time stamp of a message, the answer goes into its thread.",
      example: "{{ values.payload.event.channel }}/{{ values.payload.event.ts }}"
    }
  },
  "slack-response": {
    label: "Slack slash command (its response URL)",
    sends: "message",
    shownUrl: "https://hooks.slack.com/…",
    isOfRuns: true,
    target: {
      label: "Response URL",
      help: "The value of the run with the URL; it must be at hooks.slack.com. The person who asked sees the answer.",
      example: "{{ values.payload.response_url }}"
    }
  },
  discord: {
    label: "Discord channel",
    sends: "message",
    url: {
      label: "Webhook URL",
      help: "In Discord: the channel, “Integrations”, “Webhooks”. Stored encrypted.",
      example: "https://discord.com/api/webhooks/000/XXXX",
      isSecret: true
    }
  },
  teams: {
    label: "Microsoft Teams channel or chat",
    sends: "message",
    url: {
      label: "Workflow URL",
      help: "In Teams: “Workflows”, “Send webhook alerts to a channel”. Stored encrypted.",
      example: "https://prod-00.westeurope.logic.azure.com/workflows/…",
      isSecret: true
    }
  },
  github: {
    label: "GitHub comment",
    sends: "message",
    reacts: true,
    sharesComment: true,
    url: {
      label: "API URL",
      help: "GitHub Enterprise Server has its own: https://<host>/api/v3.",
      example: "https://api.github.com",
      default: "https://api.github.com"
    },
    token: {
      label: "Token",
      help: "A fine-grained token with write access to issues or pull requests. Stored encrypted.",
      example: "github_pat_…"
    },
    target: {
      label: "Issue or pull request",
      help: "As owner/repository#number. All runs for it share one comment, which is updated. A slash and a name after it make one for this name.",
      example: "{{ values.payload.repository.full_name }}#{{ values.payload.pull_request.number }}"
    }
  },
  gitlab: {
    label: "GitLab comment",
    sends: "message",
    reacts: true,
    sharesComment: true,
    url: {
      label: "API URL",
      help: "Self-managed GitLab has its own: https://<host>/api/v4.",
      example: "https://gitlab.com/api/v4",
      default: "https://gitlab.com/api/v4"
    },
    token: {
      label: "Token",
      help: "A project, group or personal access token with the scope `api`. Stored encrypted.",
      example: "glpat-…"
    },
    target: {
      label: "Merge request or issue",
      help: "As project!number or project#number. All runs for it share one comment, which is updated.",
      example: "{{ values.payload.project.path_with_namespace }}!{{ values.payload.object_attributes.iid }}"
    }
  },
  email: {
    label: "E-mail",
    sends: "message",
    shownUrl: "mailto:…",
    target: {
      label: "Recipients",
      help: "Addresses, separated by commas. The server sends by its own mail server (`SMTP_URL`).",
      example: "ops@example.com, on-call@example.com",
      isFixed: true
    }
  },
  chain: {
    label: "Another webhook on this server",
    sends: "run",
    shownUrl: "webhook:…",
    hasNoAlerts: true,
    target: {
      label: "Webhook ID",
      help: "Each event starts a run of that webhook. Its template can use the event's data, such as {{response}}.",
      example: "019b7d08-0000-7000-8000-000000000000",
      isFixed: true
    }
  }
} as const satisfies { readonly [name: string]: DestinationKindData }

export type DestinationKind = keyof typeof destinationKinds

export const destinationKindNames = Object.keys(destinationKinds) as [DestinationKind, ...Array<DestinationKind>]

/** The same, with the fields that not every kind has. */
export const kindOf = (kind: DestinationKind): DestinationKindData => destinationKinds[kind]

/** Whether alerts can be sent there, too. */
export const isForAlerts = (kind: DestinationKind): boolean => {
  const { hasNoAlerts = false, isOfRuns = false } = kindOf(kind)
  return !hasNoAlerts && !isOfRuns
}
