/** Buttons of messages in Slack, whose clicks come back by a webhook that Slack signs. */

import { Effect, Layer } from "effect"
import { Renderer } from "../../../src/engine/prompt/Renderer.ts"
import { recipes } from "../../../src/recipes/Recipes.ts"
import { comments } from "../../support/Comments.ts"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { hello, type Leader, type Options, start } from "../Server.ts"
import { sentAs } from "../SignedRequests.ts"

const secret = "8f742231b10e8888abcd99yyyzzz85a5"

/** Asks at first, and then answers with the reply. */
const asking: Leader = ({ prompt, reply }) =>
  reply(
    prompt.prompt === "hello"
      ? { _tag: "Answered", response: "Merge?", report: { asks: ["Yes & go", "No"] } }
      : { _tag: "Answered", response: `Done: ${prompt.prompt}` }
  )

/** A server with a webhook whose runs are shown in Slack, one that gets clicks, and one of another team. */
const inSlack = (settings: object, options: Options = {}) =>
  Effect.gen(function* () {
    const slack = yield* receiver(200)
    const server = yield* start({
      ...options,
      allowed: { hosts: ["hooks.slack.com"], networks: ["127.0.0.1"] },
      resolve: () => Promise.resolve(["127.0.0.1"])
    })
    const { admin, http, webhook } = server
    const hook = yield* webhook(yield* server.team("ops", asking), "{{text}}", settings)
    const body = {
      ...{ kind: "slack", url: `http://127.0.0.1:${slack.port}/message` },
      events: ["run.awaiting_approval", "run.succeeded"]
    }
    yield* admin("POST", `/api/webhooks/${hook.id}/destinations`, { body })
    const clicksOf = (team: string) =>
      webhook(team, "{{payload.type}}", { input: "payload", verification: { preset: "slack" }, secret })
    const [clicks, others] = [yield* clicksOf("ops"), yield* clicksOf(yield* server.team("others"))]
    const sent = (path: string, count = 1) =>
      untilEffect(
        `${count} to ${path}`,
        Effect.sync(() => {
          const all = slack.received.filter((one) => one.path === path)
          return all.length >= count && all.map(({ body }) => JSON.parse(body))
        })
      )
    const clickOf = (message: any, text: string, user: string) => {
      const [action] = message.blocks.at(-1).elements.filter((button: any) => button.text.text === text)
      return {
        ...{ type: "block_actions", api_app_id: "A1", actions: [{ ...action, action_ts: "1700000000.1" }] },
        ...{ user: { id: user, username: user.toLowerCase() }, message },
        response_url: `http://hooks.slack.com:${slack.port}/actions/${user}`
      }
    }
    /** As Slack does: a form with JSON in one field, signed. */
    const click = (message: any, text: string, user: string, to = clicks) => {
      const raw = new URLSearchParams({ payload: JSON.stringify(clickOf(message, text, user)) }).toString()
      return http("POST", to.path, sentAs(recipes["slack-command"], secret, raw))
    }
    const trigger = Effect.map(http("POST", hook.path, { body: hello }), ({ json }) => json.run_id as string)
    return { ...server, hook, others, click, clickOf, clicks, sent, trigger }
  })

const textsOf = ({ blocks }: any) => blocks.at(-1).elements.map(({ text }: any) => text.text)

describe("a button of a message in Slack", () => {
  it.live("replies to the agent's question once, and the message and later clicks say who did", function* () {
    const { click, history, hook, others, sent, trigger } = yield* inSlack({})
    const id = yield* trigger
    const [message] = yield* sent("/message")
    expect(textsOf(message)).toEqual(["Yes & go", "No"])
    // The webhook of another team decides nothing.
    yield* click(message, "No", "UFOREIGN", others)
    const gone = { response_type: "ephemeral", text: "The run is gone, or belongs to another team." }
    expect((yield* sent("/actions/UFOREIGN"))[0]).toMatchObject(gone)
    const both = yield* Effect.all([click(message, "Yes & go", "UANN"), click(message, "Yes & go", "UANN")], {
      concurrency: 2
    })
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    const [updated] = yield* sent("/actions/UANN", 2)
    expect(updated).toMatchObject({
      replace_original: true,
      blocks: [...message.blocks.slice(0, -1), { type: "context" }]
    })
    expect(updated.text).toBe("<@UANN> answered: Yes &amp; go")
    yield* click(message, "No", "UBOB")
    expect((yield* sent("/actions/UBOB"))[0]).toMatchObject({
      ...{ replace_original: false, response_type: "ephemeral" },
      text: "It was answered before, by <@UANN>."
    })
    const runs = yield* untilEffect(
      "the reply has run",
      Effect.map(history(hook.id), (runs) => runs[0]?.status === "success" && runs)
    )
    expect(runs).toHaveLength(2)
    expect(runs[0]).toMatchObject({ conversation: { prompt: "Yes & go" }, triggered_by: "slack:UANN" })
    expect(runs[1]).toMatchObject({ run_id: id, thread: runs[0].thread })
  })

  /** A host's own, which says nothing of the parts of prompts. */
  const own = Renderer.of({
    placeholders: () => Effect.succeed(["text"]),
    render: (_, { text }) => Effect.succeed({ prompt: String(text) })
  })

  for (const [how, options] of [
    ["", {}],
    [", also with a host's own renderer", { renderer: Layer.succeed(Renderer, own) }]
  ] as const) {
    it.live(`is answered where the question was, and a replay repeats the reply${how}`, function* () {
      const { all, answerTo } = comments()
      const github = yield* receiver(answerTo)
      const { admin, click, history, hook, sent, trigger } = yield* inSlack({}, options)
      const target = "acme/shop#{{ values.text | size }}"
      const body = { kind: "github", url: `http://127.0.0.1:${github.port}`, token: "x", target }
      expect((yield* admin("POST", `/api/webhooks/${hook.id}/destinations`, { body })).status).toBe(201)
      const question = yield* trigger
      const [message] = yield* sent("/message")
      yield* click(message, "No", "UANN")
      yield* untilEffect(
        "the comment has the answer to the reply",
        Effect.sync(() => all[0]?.body.includes("Done: No"))
      )
      expect(all).toHaveLength(1)
      expect(github.received[0]!.path).toContain("/repos/acme/shop/issues/5/comments")
      const [reply] = yield* history(hook.id)
      expect(reply).toMatchObject({ conversation: { prompt: "No" }, variables: hello.variables })
      expect(reply.webhook_version).toBeUndefined()
      const replayed = (id: string) =>
        Effect.gen(function* () {
          const { json } = yield* admin("POST", `/api/runs/${id}/replay`, { body: {} })
          return (yield* admin("GET", `/api/runs/${json.run_id}`)).json
        })
      const again = yield* replayed(reply.run_id)
      expect(again.conversation.prompt).toBe("No")
      expect((yield* replayed(again.run_id)).conversation.prompt).toBe("No")
      // Of any other run, the current template makes the prompt.
      yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { prompt_template: "{{text}} again" } })
      const anew = yield* replayed(question)
      expect(anew).toMatchObject({
        conversation: { prompt: how === "" ? "hello again" : "hello" },
        webhook_version: 2
      })
    })
  }

  it.live("approves or denies a run, and cannot be made up", function* () {
    const { admin, click, clickOf, clicks, history, hook, sent, trigger } = yield* inSlack({ approval: "required" })
    const id = yield* trigger
    const [message] = yield* sent("/message")
    expect(textsOf(message)).toEqual(["Approve", "Deny"])
    const forged = structuredClone(message)
    for (const button of forged.blocks.at(-1).elements) button.value = button.value.replace(/.$/, "x")
    yield* click(forged, "Approve", "UEVE")
    const unsignedClick = yield* admin("POST", `/api/webhooks/${clicks.id}/runs`, {
      body: { payload: clickOf(message, "Approve", "UEVE") }
    })
    expect(unsignedClick).toMatchObject({ status: 202, json: { run_id: expect.any(String) } })
    yield* click(message, "Deny", "UANN")
    expect((yield* sent("/actions/UANN"))[0].text).toBe("<@UANN> denied it.")
    expect(yield* history(hook.id)).toMatchObject([{ run_id: id, cancelled_by: "denied", decided_by: "uann (Slack)" }])
    yield* click(message, "Approve", "UBOB")
    expect((yield* sent("/actions/UBOB"))[0].text).toBe("It was denied before, by uann (Slack).")
    const { json } = yield* admin("GET", `/api/audit?object=${id}`)
    expect(json.data).toMatchObject([{ action: "run.denied", actor: "unknown", person_name: "uann (Slack)" }])
    const unsigned = yield* admin("POST", clicks.path, { body: {} })
    expect(refusal(unsigned)).toEqual([401, "not_verified"])
  })

  it.live(
    "approves nothing for who asked, for a guest of another workspace, or for those who are not named",
    function* () {
      const { admin, clickOf, clicks, history, hook, http, sent, trigger } = yield* inSlack({ approval: "required" })
      const id = yield* trigger
      const [message] = yield* sent("/message")
      const click = (user: object, more: object = {}, on = message) => {
        const of = clickOf(on, "Approve", (user as { readonly id: string }).id)
        const payload = { ...of, team: { id: "THOME" }, ...more, user: { ...of.user, team_id: "THOME", ...user } }
        const raw = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
        return http("POST", clicks.path, sentAs(recipes["slack-command"], secret, raw))
      }
      const told = (user: string) => Effect.map(sent(`/actions/${user}`), ([first]) => first)
      const shared = { team: { id: "TGUEST" }, message: { ...message, team: "THOME" } }
      for (const [user, more] of [
        [{ id: "UGUEST", team_id: "TGUEST" }, {}],
        [{ id: "USTRANGER", is_stranger: true }, {}],
        [{ id: "USHARED", team_id: undefined }, shared]
      ] as const) {
        yield* click(user, more)
        expect(yield* told(user.id)).toMatchObject({
          ...{ response_type: "ephemeral", replace_original: false },
          text: expect.stringContaining("may approve or deny")
        })
      }
      yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { approvers: ["slack:TGUEST/UANN", "role:admin"] } })
      yield* click({ id: "UANN" })
      expect((yield* told("UANN")).text).toContain("`approvers`")
      expect(yield* history(hook.id)).toMatchObject([{ run_id: id, status: "queued" }])
      const { json } = yield* admin("GET", `/api/audit?object=${id}`)
      const refused = { action: "run.decision_refused", actor: "unknown", after: { decision: "approve" } }
      expect(json.data).toMatchObject(Array(4).fill(refused))
      expect(json.data[0].person_name).toBe("uann (Slack)")
      yield* click({ id: "UANN", team_id: "TGUEST" })
      expect((yield* sent("/actions/UANN", 2))[1].text).toBe("<@UANN> approved it.")
    }
  )

  it.live("is clicked at a shared URL, for the teams that share it, and starts no runs of theirs", function* () {
    const { admin, click, clicks, history, others, sent, trigger } = yield* inSlack({})
    yield* admin("DELETE", `/api/webhooks/${clicks.id}`)
    const body = { name: "s", team: "ops", prompt_template: "{{payload.type}}", input: "payload", shares: others.id }
    const { json } = yield* admin("POST", "/api/webhooks", { body })
    yield* trigger
    const [message] = yield* sent("/message")
    yield* click(message, "No", "UANN", others)
    expect((yield* sent("/actions/UANN"))[0].text).toBe("<@UANN> answered: No")
    expect([yield* history(json.webhook.id), yield* history(others.id)]).toEqual([[], []])
  })

  it.live("is missing where no webhook takes its clicks", function* () {
    const { admin, clicks, others, sent, trigger } = yield* inSlack({})
    yield* admin("DELETE", `/api/webhooks/${clicks.id}`)
    yield* trigger
    yield* sent("/message")
    // The URL that its webhook shares is off.
    yield* admin("PATCH", `/api/webhooks/${others.id}`, { body: { enabled: false } })
    const body = { name: "s", team: "ops", prompt_template: "{{payload.type}}", input: "payload", shares: others.id }
    expect((yield* admin("POST", "/api/webhooks", { body })).status).toBe(201)
    yield* trigger
    for (const message of yield* sent("/message", 2)) {
      expect(message.blocks.map(({ type }: any) => type)).toEqual(["section"])
    }
  })
})
