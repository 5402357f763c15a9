import { json, type Recipe, wholeRequest } from "../Recipe.ts"

const channel = "19:253b1f341670408fb6fe51050b6e5ceb@thread.tacv2"

export const teams: Recipe = {
  label: "Microsoft Teams",
  name: "Teams: @Agent",
  summary: "Lets people in Microsoft Teams ask the agents by mentioning the webhook.",
  starts: ["Messages with text"],
  verification: { preset: "teams", reply_text: "On it. The answer will be posted in this channel." },
  secret: "shown after",
  settings: {
    ...wholeRequest,
    template_language: "liquid",
    accept_if: "payload.type == 'message' && payload.text",
    run_title:
      '{{ payload.from.name | default: "Someone" }}: {{ payload.text | strip_html | replace: "&nbsp;", " " | strip }}'
  },
  prompt_template: `{{ payload.from.name | default: "Someone" }} asks in a Microsoft Teams channel:

{{ payload.text | strip_html | replace: "&nbsp;", " " | strip }}

Write a short answer for the channel, without a greeting.`,
  steps: [
    "In Teams: the team's “Manage team”, “Apps”, “Create an outgoing webhook”.",
    "“Name”: what people mention, such as Agent. “Callback URL”: the trigger URL. “Create”.",
    "Teams shows the security token once: that is the secret."
  ],
  notes: [
    "Teams waits 5 seconds for a response. So the server sends `reply_text` immediately, and the run continues.",
    "The server can send the answer: add a destination of the kind `teams` with the URL of the channel's workflow (docs/use/destinations.md).",
    "The text begins with the mentioned name. It is not marked as data, because the people in the team may instruct the agents.",
    "Outgoing webhooks work in public channels of one team. Everyone in the team can use them."
  ],
  sample: {
    headers: { ...json, "user-agent": "Microsoft-SkypeBotApi (Microsoft-BotFramework/3.0)" },
    payload: {
      type: "message",
      id: "1777882512345",
      timestamp: "2026-05-04T08:15:12.345Z",
      localTimestamp: "2026-05-04T10:15:12.345+02:00",
      serviceUrl: "https://smba.trafficmanager.net/emea/",
      channelId: "msteams",
      from: {
        id: "29:1Ldrx0lKqrD0hD3mLfWqb5pA9nB7cT4uV",
        name: "Rosa Diaz",
        aadObjectId: "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
      },
      conversation: {
        isGroup: true,
        conversationType: "channel",
        tenantId: "72f988bf-86f1-41af-91ab-2d7cd011db47",
        id: `${channel};messageid=1777882512345`
      },
      recipient: null,
      textFormat: "plain",
      text: "<at>Agent</at>&nbsp;why was order 4711 refunded?\n",
      attachments: [
        {
          contentType: "text/html",
          content: '<div><div><span itemscope="" itemid="0">Agent</span>&nbsp;why was order 4711 refunded?</div></div>'
        }
      ],
      entities: [{ type: "clientInfo", locale: "en-US", country: "US", platform: "Windows" }],
      channelData: {
        teamsChannelId: channel,
        teamsTeamId: "19:712c61d0ef384e5fa681ba90ca943398@thread.tacv2",
        channel: { id: channel },
        team: { id: "19:712c61d0ef384e5fa681ba90ca943398@thread.tacv2" },
        tenant: { id: "72f988bf-86f1-41af-91ab-2d7cd011db47" }
      },
      locale: "en-US"
    }
  },
  documentation:
    "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook"
}
