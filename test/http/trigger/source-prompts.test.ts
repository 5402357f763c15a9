/**
 * What services send becomes the prompt, by the recipes for them, sent with curl. The prompts are in `prompts`: read what has
 * changed there as someone who is on call. Alertmanager's requests in `recorded` are its own, and GitHub's is one of its own
 * examples. The other samples have the shape that the service documents (`documentation` of the recipe says where), with
 * values of our own; what its examples leave out, have empty or write in another way is sent too.
 */
import { createRequire } from "node:module"
import { Effect } from "effect"
import type { Recipe } from "../../../src/recipes/Recipe.ts"
import { recipes } from "../../../src/recipes/Recipes.ts"
import { describe, expect, it } from "../../support/It.ts"
import { requestOf, secretFor, sentAs } from "../SignedRequests.ts"
import { recorded, serve } from "./Sources.ts"

const { setUp } = serve()

interface Delivery {
  readonly secret?: string
  /** In place of the recipe's sample. */
  readonly raw?: string
  /** In place of 202. */
  readonly answer?: string
}

/** @param file the prompt, in `prompts` */
const delivers = (title: string, recipe: Recipe, file: string, options: Delivery = {}) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const { next, secret, send, url } = yield* setUp(recipe, options.secret)
      const sent =
        options.raw === undefined
          ? requestOf(recipe, secret, recipe.sample.payload, url)
          : sentAs(recipe, secret, options.raw, url)
      const answer = yield* send(sent)
      expect([answer.status, answer.text], answer.text).toStrictEqual(
        options.answer === undefined ? [202, expect.stringContaining("accepted")] : [200, options.answer]
      )
      const prompt = yield* next
      yield* Effect.promise(() => expect(`${prompt}\n`).toMatchFileSnapshot(`prompts/${file}.txt`))
    })
  )

const ignores = (title: string, recipe: Recipe, raw: string) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const { secret, send, url } = yield* setUp(recipe)
      expect(yield* send(sentAs(recipe, secret, raw, url))).toStrictEqual({ status: 200, text: '{"status":"ignored"}' })
    })
  )

/** The recipe's sample, changed. */
const sample = ({ sample: { payload } }: Recipe, change: (payload: any) => unknown): string => {
  const changed = structuredClone(payload)
  change(changed)
  return JSON.stringify(changed)
}

/** The same as a form. */
const form = ({ sample: { payload } }: Recipe, fields: Readonly<Record<string, string>>): string =>
  new URLSearchParams({ ...(payload as Record<string, string>), ...fields }).toString()

/** The recipe's sample, each of its members on a line. */
const inLines = ({ sample: { payload } }: Recipe): string => JSON.stringify(payload, undefined, 2)

/** One of GitHub's own examples, changed. */
const pullRequest = (action: string, change: (payload: any) => unknown = () => {}): string => {
  const examples: ReadonlyArray<{ name: string; examples: ReadonlyArray<any> }> = createRequire(import.meta.url)(
    "@octokit/webhooks-examples"
  )
  const payload = structuredClone(
    examples.find(({ name }) => name === "pull_request")!.examples.find((example) => example.action === action)
  )
  change(payload)
  return JSON.stringify(payload)
}

describe("GitHub", () => {
  delivers("a pull request from a fork", recipes.github, "github")
  delivers("a pull request, as its own example has it", recipes.github, "github-example", {
    raw: pullRequest("opened")
  })
  delivers("a pull request whose fork and author are gone", recipes.github, "github-without-fork", {
    raw: pullRequest("reopened", ({ pull_request }) => {
      pull_request.head.repo = null
      pull_request.user = null
      pull_request.body = null
    })
  })
})

describe("GitLab", () => {
  const { gitlab } = recipes
  const updated = (attributes: object, changes: object) =>
    sample(gitlab, (payload) => {
      Object.assign(payload.object_attributes, { action: "update", ...attributes })
      payload.changes = changes
    })
  const labels = { labels: { previous: [], current: [{ id: 206, title: "API" }] } }
  delivers("a merge request with a secret token", gitlab, "gitlab")
  delivers("a merge request that is signed, over several lines and with escapes", gitlab, "gitlab", {
    secret: secretFor(recipes["standard-webhooks"]),
    raw: inLines(gitlab).replaceAll("@", "\\u0040").replaceAll("'", "\\u0027")
  })
  delivers("a merge request without a description, which is empty then", gitlab, "gitlab-without-description", {
    raw: sample(gitlab, ({ object_attributes }) => (object_attributes.description = ""))
  })
  delivers("a merge request with new commits", gitlab, "gitlab-commits", {
    raw: updated({ oldrev: "f95f852bd8fca8fcc58a9a2d6c842781e32a215e" }, {})
  })
  delivers("a draft that is ready now", gitlab, "gitlab-ready", {
    raw: updated({}, { draft: { previous: true, current: false } })
  })
  ignores("no merge request that only gets a label", gitlab, updated({}, labels))
  ignores("no draft", gitlab, updated({ draft: true, oldrev: "f95f852bd8fca8fcc58a9a2d6c842781e32a215e" }, {}))
})

describe("Alertmanager", () => {
  const { alertmanager } = recipes
  delivers("alerts of Kubernetes", alertmanager, "alertmanager")
  delivers("one alert", alertmanager, "alertmanager-one", {
    raw: sample(alertmanager, (payload) => payload.alerts.splice(1))
  })
  delivers("a group with five alerts, with a bearer token", alertmanager, "alertmanager-firing", {
    raw: recorded("alertmanager-firing")
  })
  delivers(
    "the group when one of them has ended, with Basic authentication",
    { ...alertmanager, verification: { preset: "alertmanager", username: "alerts" } },
    "alertmanager-partly-resolved",
    { raw: recorded("alertmanager-partly-resolved") }
  )
})

delivers("Grafana: alerts with their values", recipes.grafana, "grafana")

describe("Sentry", () => {
  delivers("an issue", recipes.sentry, "sentry")
  delivers("an issue without links, as in the example of its documentation", recipes.sentry, "sentry-without-links", {
    raw: sample(recipes.sentry, ({ data }) => ["url", "web_url", "project_url"].map((name) => delete data.issue[name]))
  })
})

describe("Jira", () => {
  delivers("an issue", recipes.jira, "jira")
  delivers("an issue without a description, which is null then", recipes.jira, "jira-without-description", {
    raw: sample(recipes.jira, ({ issue }) => (issue.fields.description = null))
  })
  delivers("an issue whose description is rich text", recipes.jira, "jira-rich-text", {
    raw: sample(recipes.jira, ({ issue }) => {
      const text = (text: string) => ({ type: "text", text })
      const paragraph = (...content: ReadonlyArray<object>) => ({ type: "paragraph", content })
      const item = (words: string) => ({ type: "listItem", content: [paragraph(text(words))] })
      const content = [
        paragraph(text("The second coupon counts twice:")),
        { type: "orderedList", content: [item("Add SPRING."), item("Add WELCOME.")] },
        { type: "codeBlock", attrs: { language: "json" }, content: [text('{"total": 31.5}')] }
      ]
      issue.fields.description = { type: "doc", version: 1, content }
    })
  })
})

describe("Trello", () => {
  delivers("a card", recipes.trello, "trello")
  delivers("a card without its list and its member", recipes.trello, "trello-without-list", {
    raw: sample(recipes.trello, ({ action }) => {
      delete action.data.list
      delete action.memberCreator
    })
  })
})

delivers("GitHub: a comment", recipes["github-comment"], "github-comment")

delivers("Linear: an issue", recipes.linear, "linear")

delivers("PagerDuty: an incident", recipes.pagerduty, "pagerduty")

delivers("Stripe: a failed payment, over several lines", recipes.stripe, "stripe", { raw: inLines(recipes.stripe) })

delivers("Slack: a command, which is answered with a text", recipes["slack-command"], "slack-command", {
  answer: "On it. The answer comes here."
})

delivers("Slack: a mention", recipes["slack-mention"], "slack-mention")
delivers(
  "Slack: a mention with a forwarded message, and the preview of a link",
  recipes["slack-mention"],
  "slack-mention-forwarded",
  {
    raw: sample(recipes["slack-mention"], ({ event }) => {
      event.attachments = [
        {
          ...{
            is_share: true,
            author_name: "Ada",
            from_url: "https://example.slack.com/archives/C1/p1700000000000000"
          },
          ...{ text: "Order 4711 was refunded twice.", fallback: "[1 November] Ada: Order 4711 was refunded twice." }
        },
        { title: "Orders", fallback: "Orders", from_url: "https://example.com/orders" }
      ]
    })
  }
)

delivers("Amazon SNS: an alarm of CloudWatch, as JSON in a text", recipes["aws-sns"], "aws-sns")

delivers("Azure Event Grid: a new file", recipes["event-grid"], "event-grid")

delivers("Microsoft Graph: a new mail", recipes["microsoft-graph"], "microsoft-graph")

delivers("Meta: a message of WhatsApp", recipes.meta, "meta")

describe("Zendesk", () => {
  delivers("a ticket", recipes.zendesk, "zendesk")
  delivers("a ticket without a priority, a type and an organization", recipes.zendesk, "zendesk-without-priority", {
    raw: sample(recipes.zendesk, ({ detail }) => {
      for (const name of ["priority", "type", "organization_id", "group_id"]) detail[name] = null
      detail.tags = []
    })
  })
  ignores(
    "no other event",
    recipes.zendesk,
    sample(recipes.zendesk, (payload) => (payload.type = "zen:event-type:ticket.comment_added"))
  )
})

describe("HubSpot", () => {
  delivers("two tickets in one request, whose body is a list", recipes.hubspot, "hubspot")
  delivers("a ticket among other events", recipes.hubspot, "hubspot-mixed", {
    raw: sample(recipes.hubspot, ([other]) => Object.assign(other, { subscriptionType: "contact.creation" }))
  })
  ignores(
    "no request without a new ticket",
    recipes.hubspot,
    sample(recipes.hubspot, (events) => {
      for (const event of events) event.subscriptionType = "contact.creation"
    })
  )
})

describe("Twilio", () => {
  delivers("a text message", recipes.twilio, "twilio", { answer: "" })
  delivers("a picture without a text", recipes.twilio, "twilio-picture", {
    answer: "",
    raw: form(recipes.twilio, {
      Body: "",
      NumMedia: "1",
      MediaUrl0: "https://api.twilio.com/2010-04-01/Accounts/AC0/Messages/MM0/Media/ME0"
    })
  })
  ignores("no status of a message that was sent", recipes.twilio, form(recipes.twilio, { SmsStatus: "delivered" }))
})

describe("Microsoft Teams", () => {
  delivers("a question, which is answered with a message", recipes.teams, "teams", {
    answer: '{"type":"message","text":"On it. The answer will be posted in this channel."}'
  })
})

describe("Discord", () => {
  const { discord } = recipes
  const answer = '{"type":5}'
  delivers("a command, which is answered with a deferred message", discord, "discord", { answer })
  delivers("a command without options, in a direct message", discord, "discord-direct", {
    answer,
    raw: sample(discord, (payload) => {
      payload.user = payload.member.user
      delete payload.member
      delete payload.data.options
    })
  })
  it.live("its test is answered, and starts no run", function* () {
    const { secret, send } = yield* setUp(discord)
    const ping = JSON.stringify({ id: "786008729715212339", application_id: "1", type: 1, version: 1, token: "t" })
    expect(yield* send(sentAs(discord, secret, ping))).toStrictEqual({ status: 200, text: '{"type":1}' })
  })
})

describe("Paddle", () => {
  delivers("a failed payment", recipes.paddle, "paddle")
  delivers("a payment without customer, subscription and card", recipes.paddle, "paddle-without-card", {
    raw: sample(recipes.paddle, ({ data }) => {
      data.customer_id = data.subscription_id = null
      data.payments[0].method_details = { type: "paypal", card: null }
      data.payments[0].error_code = null
    })
  })
})

delivers("Square: a dispute", recipes.square, "square")

describe("Calendly", () => {
  delivers("a meeting", recipes.calendly, "calendly")
  delivers("a meeting that was moved, without questions and guests", recipes.calendly, "calendly-moved", {
    raw: sample(recipes.calendly, ({ payload }) => {
      payload.old_invitee = `${payload.uri}-before`
      payload.questions_and_answers = []
      payload.scheduled_event.event_guests = []
    })
  })
})

delivers("Zoom: a transcript", recipes.zoom, "zoom")

describe("Mux", () => {
  delivers("a video", recipes.mux, "mux")
  delivers("an upload, without a reference", recipes.mux, "mux-upload", {
    raw: sample(recipes.mux, (payload) => {
      payload.type = "video.upload.errored"
      payload.object.type = "upload"
      payload.data = {
        id: payload.object.id,
        status: "errored",
        error: { type: "invalid_input", message: "No video." }
      }
    })
  })
})

delivers("Twitch: an unban request", recipes.twitch, "twitch")

delivers("Standard Webhooks: an event", recipes["standard-webhooks"], "standard-webhooks")

delivers("an event of your own service", recipes.generic, "generic")
