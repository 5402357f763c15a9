import { json, type Recipe, wholeRequest } from "../Recipe.ts"

export const slackMention: Recipe = {
  label: "Slack mentions and replies",
  name: "Slack: mentions",
  summary: "Answers people who mention the app in Slack, and goes on in the thread.",
  starts: ["Mentions of the app", "Direct messages to it", "Replies in threads continue the conversation"],
  destination: {
    kind: "slack-message",
    target: "{{ values.payload.event.channel }}/{{ values.payload.event.thread_ts | default: values.payload.event.ts }}"
  },
  verification: { preset: "slack" },
  secret: "known before",
  settings: {
    ...wholeRequest,
    template_language: "liquid",
    accept_if:
      "(payload.event.type == 'app_mention' || (payload.event.type == 'message' && payload.event.channel_type == 'im')) && (payload.event.subtype == `null` || payload.event.subtype == 'file_share' || payload.event.subtype == 'thread_broadcast' || payload.event.subtype == 'me_message') && payload.event.bot_id == `null` && payload.event.edited == `null`",
    thread_key: "{{ payload.event.channel }}/{{ payload.event.thread_ts | default: payload.event.ts }}",
    run_title: "{{ payload.event.text }}",
    attachments: {
      urls: "payload.event.[files || `[]`, attachments[].files[] || `[]`][].{url: url_private_download || url_private, id: id, name: name, type: mimetype}",
      hosts: ["files.slack.com"],
      token_of: "slack-message"
    }
  },
  prompt_template: `{{ payload.event.user }} writes in Slack, in the channel {{ payload.event.channel }}, message {{ payload.event.ts }}{% if payload.event.thread_ts %} of the thread {{ payload.event.thread_ts }}{% endif %}:

{{ payload.event.text }}
{% if payload.event.attachments %}{% for it in payload.event.attachments %}{% if it.is_share or it.is_msg_unfurl %}
Forwarded message of {{ it.author_name | default: "somebody" }} ({{ it.from_url | default: "no link" }}):
{{ it.text | default: it.fallback }}
{% endif %}{% endfor %}{% endif %}
Your answer is posted in the thread of the message.`,
  steps: [
    "At api.slack.com/apps, open your app, or create one “From scratch”. Its secret: “Basic Information”, “App Credentials”, “Signing Secret”.",
    "“OAuth & Permissions”, “Bot Token Scopes”: `app_mentions:read`, `channels:history`, `chat:write`, `files:read`, `im:history`, `reactions:read`. Then “Install to Workspace”. The destination needs the “Bot User OAuth Token”.",
    "“Event Subscriptions”: “Enable Events”. “Request URL”: the trigger URL. “Subscribe to bot events”: `app_mention`, `message.channels`, `message.im`, `reaction_added`. Save, and install the app again.",
    "“App Home”, “Messages Tab”: allow users to send messages. In Slack, invite the app to a channel: /invite @your-app."
  ],
  notes: [
    "In a thread where the app has answered, each reply of a person goes to the agent, unless you leave out `message.channels`: then only mentions do.",
    "Replies and reactions also count for messages about runs that began elsewhere: docs/use/destinations.md, “Conversations in Slack”.",
    "An app has one URL for its events. Other webhooks can share it: see `shares` in docs/use/webhooks.md, “Share a URL”.",
    "Keep `channel`, `ts` and `thread_ts` in the template: the destination needs them, and only values that it names are stored.",
    "The agent gets the files of a message, with the destination's token (`files:read`).",
    "For private channels, add the scope `groups:history` and the event `message.groups`.",
    "The message is not marked as data: people in the channel instruct the agents."
  ],
  sample: {
    headers: { ...json, "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)" },
    payload: {
      token: "verification-token-out-of-use",
      team_id: "T0001",
      api_app_id: "A123456",
      event: {
        type: "app_mention",
        user: "U2147483697",
        text: "<@U0LAN0Z89> why was order 4711 refunded?",
        ts: "1700000000.000100",
        channel: "C2147483705",
        event_ts: "1700000000.000100"
      },
      type: "event_callback",
      event_id: "Ev0PV52K21",
      event_time: 1700000000,
      authed_users: ["U0LAN0Z89"]
    }
  },
  documentation: "https://docs.slack.dev/reference/events/app_mention"
}
