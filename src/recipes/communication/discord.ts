import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const discord: Recipe = {
  label: "Discord",
  name: "Discord: /ask",
  summary: "Lets people in Discord ask the agents with a command.",
  starts: ["Slash commands"],
  verification: { preset: "discord" },
  secret: "known before",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.type == `2`",
    run_title: "/{{ payload.data.name }}{% for option in payload.data.options %} {{ option.value }}{% endfor %}"
  },
  prompt_template: `Someone asks in Discord:

{% data %}
From: {% if payload.member %}{{ payload.member.user.username }}{% else %}{{ payload.user.username | default: "unknown" }}{% endif %}
Command: /{{ payload.data.name }}
{% if payload.data.options %}{% for option in payload.data.options %}{{ option.name }}: {{ option.value }}
{% endfor %}{% endif %}
Answer URL: https://discord.com/api/v10/webhooks/{{ payload.application_id }}/{{ payload.token }}/messages/@original
{% enddata %}

Answer the question in at most 2,000 characters. When you are done, PATCH {"content": "your answer", "allowed_mentions": {"parse": []}} as JSON to the answer URL within 15 minutes.`,
  steps: [
    "At discord.com/developers/applications, open your application, or create one. “General Information”, “Public Key”: that is the secret.",
    "“Bot”, “Reset Token”. POST the command below as JSON to https://discord.com/api/v10/applications/APPLICATION_ID/commands with the header `Authorization: Bot` and the token.",
    "“General Information”, “Interactions Endpoint URL”: the trigger URL. Save. Discord tests the URL immediately, and the server answers.",
    "“Installation”: open the “Install Link”, and add the application to your Discord server."
  ],
  config: {
    file: "command.json",
    text: `{
  "name": "ask",
  "description": "Ask the agents",
  "options": [{"type": 3, "name": "question", "description": "Your question", "required": true}]
}
`
  },
  notes: [
    "Discord waits 3 seconds for a response. So it shows “thinking…” immediately, and the run continues. The answer URL needs no bot token, and works for 15 minutes.",
    "To replace “thinking…” with the answer, agents need network access to discord.com. A destination of the kind `discord` can only send the answer to a channel.",
    "Buttons have the type 3 and dialogs the type 5, with `payload.data.custom_id`. Everyone in the Discord server can use the command, unless “Server Settings”, “Integrations” restricts it."
  ],
  sample: {
    headers: { ...json, "user-agent": "Discord-Interactions/1.0 (+https://discord.com)" },
    payload: {
      id: "786008729715212338",
      application_id: "786008729715212300",
      type: 2,
      version: 1,
      token: "aW50ZXJhY3Rpb246Nzg2MDA4NzI5NzE1MjEyMzM4",
      guild_id: "290926798626357999",
      channel_id: "645027906669510667",
      guild_locale: "en-US",
      locale: "en-US",
      app_permissions: "442368",
      context: 0,
      member: {
        user: {
          id: "53908232506183680",
          username: "rosadiaz",
          global_name: "Rosa Diaz",
          avatar: null,
          discriminator: "0",
          public_flags: 0
        },
        roles: ["539082325061836999"],
        premium_since: null,
        permissions: "2147483647",
        pending: false,
        nick: null,
        mute: false,
        joined_at: "2025-03-13T19:19:14.040000+00:00",
        deaf: false
      },
      data: {
        id: "771825006014889984",
        type: 1,
        name: "ask",
        options: [{ type: 3, name: "question", value: "why was order 4711 refunded?" }]
      }
    }
  },
  documentation: "https://discord.com/developers/docs/interactions/receiving-and-responding"
}
