import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const twitch: Recipe = {
  label: "Twitch",
  name: "Twitch unban requests",
  summary: "Prepares decisions about unban requests, or handles other EventSub events.",
  starts: ["Unban requests: created"],
  verification: { preset: "twitch" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    accept_if: "payload.subscription.type == 'channel.unban_request.create'",
    run_title: "{{payload.event.user_name}} in {{payload.event.broadcaster_user_name}}"
  },
  prompt_template: `A viewer asks to be unbanned on Twitch:

{{#data}}
Channel: {{payload.event.broadcaster_user_name}}
Viewer: {{payload.event.user_name}} (@{{payload.event.user_login}}, {{payload.event.user_id}})
Request {{payload.event.id}}, made at {{payload.event.created_at}}

{{payload.event.text?}}
{{/data}}

Read the viewer's messages in the channel and why they were banned, as far as you can. Propose a decision for the moderators, with reasons. Do not decide.`,
  steps: [
    "At dev.twitch.tv/console/apps, open your application, or register one. A moderator authorizes it once with the scope `moderator:read:unban_requests`.",
    "POST the subscription below as JSON to https://api.twitch.tv/helix/eventsub/subscriptions with the headers `Client-Id` and `Authorization: Bearer` with an app access token.",
    "Twitch tests the URL immediately, and the server answers. The subscription is then “enabled”."
  ],
  config: {
    file: "subscription.json",
    text: `{
  "type": "channel.unban_request.create",
  "version": "1",
  "condition": {"broadcaster_user_id": "1337", "moderator_user_id": "1337"},
  "transport": {"method": "webhook", "callback": "TRIGGER_URL", "secret": "SECRET"}
}
`
  },
  notes: [
    "Other events, such as `stream.online` or `automod.message.hold`, need their own subscriptions. Each can have its own webhook, or one webhook without a filter receives all of them.",
    "The request contains the trigger URL, as its callback.",
    "Twitch retries a few times with the same message ID, so a retry starts no second run. It revokes subscriptions whose URL fails too often. A “revocation” message gets 200 and starts no run."
  ],
  sample: {
    headers: {
      ...json,
      "twitch-eventsub-message-id": "befa7b53-d79d-478f-86b9-120f112b044e",
      "twitch-eventsub-message-retry": "0",
      "twitch-eventsub-message-type": "notification",
      "twitch-eventsub-subscription-type": "channel.unban_request.create",
      "twitch-eventsub-subscription-version": "1"
    },
    payload: {
      subscription: {
        id: "f1c2a387-161a-49f9-a165-0f21d7a4e1c4",
        type: "channel.unban_request.create",
        version: "1",
        status: "enabled",
        cost: 0,
        condition: { broadcaster_user_id: "1337", moderator_user_id: "1337" },
        transport: { method: "webhook", callback: "https://hooks.example.com/webhook/trigger" },
        created_at: "2026-05-01T10:11:12.634234626Z"
      },
      event: {
        id: "60",
        broadcaster_user_id: "1337",
        broadcaster_user_login: "cool_user",
        broadcaster_user_name: "Cool_User",
        user_id: "1339",
        user_login: "rosadiaz",
        user_name: "RosaDiaz",
        text: "My account was taken over that week. I have it back, and changed the password.",
        created_at: "2026-05-04T08:15:12.634234626Z"
      }
    }
  },
  documentation: "https://dev.twitch.tv/docs/eventsub/eventsub-subscription-types/"
}
