import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const api = "https://api.calendly.com"
const event = `${api}/scheduled_events/a1b2c3d4-5e6f-4a1b-8c2d-3e4f5a6b7c8d`
const user = `${api}/users/9d1f0a2b-3c4d-4e5f-8a6b-7c8d9e0f1a2b`

export const calendly: Recipe = {
  label: "Calendly",
  name: "Prepare Calendly meetings",
  summary: "Writes a briefing for each booked meeting.",
  starts: ["Meetings: booked"],
  verification: { preset: "calendly" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.event == 'invitee.created'",
    run_title:
      '{{ payload.payload.name }}: {{ payload.payload.scheduled_event.name }}, {{ payload.payload.scheduled_event.start_time | date: "%Y-%m-%d %H:%M UTC" }}'
  },
  prompt_template: `A meeting was booked:

{% data %}
{{ payload.payload.scheduled_event.name }}, {{ payload.payload.scheduled_event.start_time | date: "%Y-%m-%d %H:%M UTC" }} to {{ payload.payload.scheduled_event.end_time | date: "%H:%M UTC" }}
With: {% for host in payload.payload.scheduled_event.event_memberships %}{{ host.user_name | default: host.user_email }}{% unless forloop.last %}, {% endunless %}{% endfor %}
Invitee: {{ payload.payload.name }} <{{ payload.payload.email }}>, {{ payload.payload.timezone }}
{% if payload.payload.scheduled_event.location.join_url %}At: {{ payload.payload.scheduled_event.location.join_url }}
{% endif %}{% if payload.payload.old_invitee %}It was rescheduled.
{% endif %}{% for guest in payload.payload.scheduled_event.event_guests %}Guest: {{ guest.email }}
{% endfor %}{% for entry in payload.payload.questions_and_answers %}{{ entry.question }} {{ entry.answer }}
{% endfor %}{% enddata %}

Find out what we know about the invitee and their company. Write a briefing of at most one page: who they are, what they want, open points, and three questions to ask.`,
  steps: [
    "In Calendly: “Integrations & apps”, “API & webhooks”: create a personal access token. Webhooks require a paid plan.",
    "POST the subscription below as JSON to https://api.calendly.com/webhook_subscriptions with the header `Authorization: Bearer` and the token. GET https://api.calendly.com/users/me shows `current_organization`."
  ],
  config: {
    file: "subscription.json",
    text: `{
  "url": "TRIGGER_URL",
  "events": ["invitee.created"],
  "organization": "https://api.calendly.com/organizations/…",
  "scope": "organization",
  "signing_key": "SECRET"
}
`
  },
  notes: [
    "A rescheduled meeting sends `invitee.created` with `old_invitee`, and `invitee.canceled` for the earlier time.",
    "The server can send the briefing: add a destination, such as `email` or `slack` (docs/use/destinations.md).",
    "Calendly retries for 24 hours. The same body starts no second run within 7 days."
  ],
  sample: {
    headers: { ...json, "user-agent": "Calendly" },
    payload: {
      created_at: "2026-05-04T08:15:12.000000Z",
      created_by: user,
      event: "invitee.created",
      payload: {
        cancel_url: "https://calendly.com/cancellations/b2c3d4e5",
        created_at: "2026-05-04T08:15:11.512317Z",
        email: "rosa@example.com",
        event,
        first_name: null,
        last_name: null,
        name: "Rosa Diaz",
        new_invitee: null,
        no_show: null,
        old_invitee: null,
        payment: null,
        questions_and_answers: [
          { answer: "We have 40 shops and want to accept coupons.", position: 0, question: "What is it about?" }
        ],
        reconfirmation: null,
        reschedule_url: "https://calendly.com/reschedulings/b2c3d4e5",
        rescheduled: false,
        routing_form_submission: null,
        scheduled_event: {
          created_at: "2026-05-04T08:15:11.493847Z",
          end_time: "2026-05-06T14:30:00.000000Z",
          event_guests: [{ email: "lee@example.com", created_at: "2026-05-04T08:15:11.493847Z" }],
          event_memberships: [{ user, user_email: "sam@example.org", user_name: "Sam Okafor" }],
          event_type: `${api}/event_types/c3d4e5f6-7a8b-4c9d-8e0f-1a2b3c4d5e6f`,
          invitees_counter: { total: 1, active: 1, limit: 1 },
          location: { type: "google_conference", status: "pushed", join_url: "https://meet.google.com/abc-defg-hij" },
          name: "30 Minute Meeting",
          start_time: "2026-05-06T14:00:00.000000Z",
          status: "active",
          updated_at: "2026-05-04T08:15:11.493847Z",
          uri: event
        },
        status: "active",
        text_reminder_number: null,
        timezone: "America/New_York",
        tracking: {
          utm_campaign: null,
          utm_source: null,
          utm_medium: null,
          utm_content: null,
          utm_term: null,
          salesforce_uuid: null
        },
        updated_at: "2026-05-04T08:15:11.512317Z",
        uri: `${event}/invitees/b2c3d4e5-6f7a-4b8c-9d0e-1f2a3b4c5d6e`
      }
    }
  },
  documentation:
    "https://developer.calendly.com/receive-data-from-scheduled-events-in-real-time-with-webhook-subscriptions"
}
