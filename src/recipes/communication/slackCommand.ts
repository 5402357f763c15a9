import { type Recipe, wholeRequest } from "../Recipe.ts"

export const slackCommand: Recipe = {
  label: "Slack slash command",
  name: "Slack: /ask",
  summary: "Lets people in Slack ask the team.",
  starts: ["Slash commands"],
  verification: { preset: "slack", reply_text: "On it. The answer comes here." },
  secret: "known before",
  settings: { ...wholeRequest, accept_if: "payload.command", run_title: "{{payload.command}} {{payload.text}}" },
  prompt_template: `{{payload.user_name?}} ({{payload.user_id}}) asks in the channel {{payload.channel_name}} with {{payload.command}}:

{{payload.text}}

When you are done, answer there: POST {"text": "your answer"} as JSON to {{payload.response_url}} within 30 minutes.`,
  steps: [
    "At api.slack.com/apps, open your app, or create one “From scratch”. Its secret: “Basic Information”, “App Credentials”, “Signing Secret”.",
    "“Slash Commands”, “Create New Command”. “Command”: for example /ask. “Request URL”: the trigger URL. Save.",
    "“Install App”: install it to the workspace, again after each new command."
  ],
  notes: [
    "The server can send the answer: add a destination of the kind `slack-response` with the target `{{ values.payload.response_url }}` (docs/use/destinations.md). The agent then needs no network. Keep `response_url` in the template, because only values that it names are stored.",
    "Slack waits 3 seconds, so the response is `reply_text` at once, and the run continues.",
    "Several commands of an app can have one URL. Other webhooks can share it, each with a filter such as `payload.command == '/review'`: see `shares` in docs/use/webhooks.md, “Share a URL”.",
    "The command's text is not marked as data: its users instruct the agents. Agents need network access to `response_url`."
  ],
  sample: {
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)"
    },
    payload: {
      token: "verification-token-out-of-use",
      team_id: "T0001",
      team_domain: "example",
      enterprise_id: "E0001",
      enterprise_name: "Example Corp",
      channel_id: "C2147483705",
      channel_name: "support",
      user_id: "U2147483697",
      user_name: "steve",
      command: "/ask",
      text: "why was order 4711 refunded?",
      response_url: "https://hooks.slack.com/commands/1234/5678",
      trigger_id: "13345224609.738474920.8088930838d88f008e0",
      api_app_id: "A123456"
    }
  },
  documentation: "https://docs.slack.dev/interactivity/implementing-slash-commands/"
}
