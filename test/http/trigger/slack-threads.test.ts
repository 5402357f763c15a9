/** Replies in Slack's threads and reactions, which come back by a webhook that Slack signs. */

import { DateTime, Deferred, Effect, Layer } from "effect"
import type { Prompt as BusPrompt } from "../../../src/bus/Bus.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { recipes } from "../../../src/recipes/Recipes.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { type Answer, receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"
import { hello, type Leader, type Options, start } from "../Server.ts"
import { sentAs } from "../SignedRequests.ts"

const secret = "8f742231b10e8888abcd99yyyzzz85a5"
const channel = "C0123456789"

const answering: Leader = ({ prompt, reply }) =>
  reply({ _tag: "Answered", response: `Done: ${prompt.prompt.split("\n").at(-1)}` })

/** Slack's API, where each message has its own time stamp. `onPost` answers when it likes. */
const slackApi = (onPost = (answer: () => void) => answer()) => {
  let posts = 0
  const answerTo: Answer = (response, { body, path }) => {
    const written = () => ({
      ...{ channel: JSON.parse(body).channel, ts: `1700000000.${++posts}` },
      message: { bot_id: "B1" }
    })
    const answer = path === "/api/chat.update" ? {} : written()
    response.writeHead(200, { "content-type": "application/json" })
    onPost(() => void response.end(JSON.stringify({ ok: true, ...answer })))
  }
  return receiver(answerTo)
}

/** A server with a webhook whose runs are shown in Slack, one that gets its events, and one of another team. */
const inSlack = (
  settings: object = {},
  leader = answering,
  wanted: ReadonlyArray<string> = ["run.awaiting_approval", "run.succeeded"],
  api = slackApi(),
  options: Options = {}
) =>
  Effect.gen(function* () {
    const slack = yield* api
    const bodiesAt = (isUpdate: boolean) =>
      slack.received
        .filter(({ path }) => (path === "/api/chat.update") === isUpdate)
        .map(({ body }) => JSON.parse(body))
    const server = yield* start({ allowed: { hosts: [], networks: ["127.0.0.1"] }, ...options })
    const { admin, http, webhook } = server
    const hook = yield* webhook(yield* server.team("ops", leader), "{{text}}", settings)
    const url = `http://127.0.0.1:${slack.port}/api`
    const destination = (id: string, target: string) =>
      admin("POST", `/api/webhooks/${id}/destinations`, {
        body: {
          ...{ kind: "slack-message", url, token: "xoxb-x", target },
          events: wanted
        }
      })
    expect((yield* destination(hook.id, channel)).status).toBe(201)
    const eventsOf = (team: string, more: object = {}) =>
      webhook(team, "{{payload.type}}", { input: "payload", verification: { preset: "slack" }, secret, ...more })
    const events = yield* eventsOf("ops")
    let requests = 0
    const send = (event: object, to = events, event_id = `Ev${++requests}`, more: object = {}) => {
      const raw = JSON.stringify({
        ...{ type: "event_callback", api_app_id: "A1", event_id, authorizations: [{ user_id: "UBOT", is_bot: true }] },
        event: { user: "UANN", channel, ...event },
        ...more
      })
      return http("POST", to.path, sentAs(recipes["slack-mention"], secret, raw))
    }
    const sent = (isUpdate: boolean) => (count: number) =>
      untilEffect(
        `${count} ${isUpdate ? "updates" : "messages"}`,
        Effect.sync(() => {
          const all = bodiesAt(isUpdate)
          return all.length >= count && all
        })
      )
    const [messages, updates] = [sent(false), sent(true)]
    const trigger = Effect.map(http("POST", hook.path, { body: hello }), ({ json }) => json.run_id as string)
    /** The message is written, and known. */
    const delivered = (id: string, count: number) =>
      untilEffect(
        `${count} deliveries`,
        Effect.map(
          admin("GET", `/api/webhooks/${id}/deliveries?status=delivered`),
          ({ json }) => json.data.length >= count
        )
      )
    return { ...server, delivered, destination, events, eventsOf, hook, messages, send, slack, trigger, updates }
  })

const textOf = ({ blocks }: any) => blocks[0].text.text

describe("a reply in Slack's thread of a run", () => {
  it.live("continues the conversation once, and the answer comes in the thread", function* () {
    const { delivered, history, hook, messages, send, trigger } = yield* inSlack()
    const first = yield* trigger
    yield* delivered(hook.id, 1)
    const reply = { thread_ts: "1700000000.1", ts: "1700000001.5", text: "Why &lt; 3?" }
    const both = [yield* send({ type: "message", ...reply }), yield* send({ type: "app_mention", ...reply })]
    const { run_id } = both[0]!.json
    for (const { json, status } of both) expect({ ...json, status }).toMatchObject({ status: 200, run_id })
    const [, answer] = yield* messages(2)
    expect(answer).toMatchObject({ channel, thread_ts: "1700000000.1" })
    expect(textOf(answer)).toContain("Why &lt; 3?")
    yield* delivered(hook.id, 2)
    // The thread is the first message's, also for a reply to the answer in it.
    yield* send({ type: "message", thread_ts: "1700000000.1", ts: "1700000002.5", text: "And then?" })
    expect((yield* messages(3))[2]).toMatchObject({ thread_ts: "1700000000.1" })
    const runs = yield* untilEffect(
      "the replies have run",
      Effect.map(history(hook.id), (runs) => runs.every(({ status }: any) => status === "success") && runs)
    )
    expect(runs.map(({ conversation, triggered_by }: any) => [conversation.prompt, triggered_by])).toEqual([
      ["And then?", "slack:UANN"],
      ["Why < 3?", "slack:UANN"],
      ["hello", undefined]
    ])
    expect(new Set(runs.map(({ thread }: any) => thread.id)).size).toBe(1)
    expect(runs[1].run_id).toBe(run_id)
    expect(runs[2].run_id).toBe(first)
  })

  it.live("brings its files, by the settings of the webhook that takes it", function* () {
    const { delivered, eventsOf, history, hook, send, trigger } = yield* inSlack()
    const { attachments } = recipes["slack-mention"].settings
    const withFiles = yield* eventsOf("ops", { attachments })
    yield* trigger
    yield* delivered(hook.id, 1)
    const reply = { type: "message", subtype: "file_share", thread_ts: "1700000000.1", ts: "1700000001.5" }
    const url_private_download = "https://files.slack.com/files-pri/T1-F1/download/shot.png"
    const files = [{ id: "F1", name: "shot.png", mimetype: "image/png", url_private_download }]
    const { json } = yield* send({ ...reply, text: "like this", files }, withFiles)
    const [run] = yield* history(hook.id)
    expect(run).toMatchObject({ run_id: json.run_id, files: [{ id: "in-1", name: "shot.png", type: "image/png" }] })
  })

  it.live("is taken in whatever shape it comes: pictures, forwarded messages, blocks", function* () {
    const { delivered, history, hook, send, trigger } = yield* inSlack()
    yield* trigger
    yield* delivered(hook.id, 1)
    const shared = {
      is_share: true,
      author_name: "Bob",
      text: "1 &lt; 2",
      from_url: "https://x.slack.com/archives/C1/p1"
    }
    const forwarded = "Forwarded message of Bob (https://x.slack.com/archives/C1/p1):\n1 < 2"
    const section = (...elements: ReadonlyArray<object>) => ({ type: "rich_text_section", elements })
    const blocks = [
      {
        type: "rich_text",
        elements: [
          section({ type: "text", text: "see " }, { type: "link", url: "https://a.example", text: "this" }),
          {
            type: "rich_text_list",
            elements: [section({ type: "text", text: "one" }), section({ type: "emoji", name: "ok" })]
          }
        ]
      },
      { type: "section", text: { type: "mrkdwn", text: "two" } }
    ]
    const shapes: ReadonlyArray<readonly [event: object, prompt: string]> = [
      [{ subtype: "file_share", text: "", files: [{ id: "F1", name: "shot.png" }] }, "(No text, but files: shot.png)"],
      [{ subtype: "file_share", files: [{ id: "F2", file_access: "check_file_info" }] }, "(No text, but files: F2)"],
      [{ text: "", attachments: [shared] }, forwarded],
      [
        { text: "Look", attachments: [shared, { from_url: "https://a.example", title: "A page" }] },
        `Look\n\n${forwarded}`
      ],
      [{ text: "", attachments: [{ fallback: "A card" }] }, "A card"],
      [{ text: "", blocks }, "see this (https://a.example)\none\n:ok:\ntwo"],
      [{ subtype: "thread_broadcast", text: "to all" }, "to all"],
      [{ subtype: "me_message", text: "waves" }, "waves"]
    ]
    for (const [n, [event]] of shapes.entries()) {
      const { json } = yield* send({
        type: "message",
        thread_ts: "1700000000.1",
        ts: `170000000${n + 1}.5`,
        ...event
      })
      expect(json.run_id, `shape ${n}`).toBeTypeOf("string")
    }
    yield* send({ type: "message", thread_ts: "1700000000.1", ts: "1700000099.5", text: " " })
    const runs = yield* history(hook.id)
    expect(runs.map(({ conversation }: any) => conversation.prompt).reverse()).toEqual([
      "hello",
      ...shapes.map(([, prompt]) => prompt)
    ])
  })

  it.live("is taken from nobody else: bots, other teams, other threads, requests without a signature", function* () {
    const { admin, delivered, events, eventsOf, history, hook, send, team, trigger } = yield* inSlack()
    const others = yield* eventsOf(yield* team("others"))
    yield* trigger
    yield* delivered(hook.id, 1)
    const reply = { type: "message", thread_ts: "1700000000.1", ts: "1700000001.5", text: "go on" }
    yield* send({ ...reply, bot_id: "B1" })
    yield* send({ ...reply, user: "UBOT" })
    yield* send({ ...reply, edited: { user: "UANN", ts: "1700000001.6" } })
    yield* send({ ...reply, subtype: "message_changed" })
    yield* send(reply, others)
    yield* send({ ...reply, thread_ts: "1600000000.1" })
    yield* send({ ...reply, channel: "C9" })
    yield* admin("POST", `/api/webhooks/${events.id}/runs`, {
      body: { payload: { type: "event_callback", event: { user: "UEVE", channel, ...reply } } }
    })
    expect(yield* history(hook.id)).toHaveLength(1)
  })

  it.live("is answered in its own thread, whatever else the conversation and other teams wrote", function* () {
    const { delivered, destination, history, hook, http, messages, send, team, trigger, webhook } = yield* inSlack({
      thread_key: "all"
    })
    yield* trigger
    yield* delivered(hook.id, 1)
    yield* trigger
    yield* delivered(hook.id, 2)
    const other = yield* webhook(yield* team("others", answering), "{{text}}", {})
    yield* destination(other.id, `${channel}/1700000000.1`)
    yield* http("POST", other.path, { body: hello })
    yield* delivered(other.id, 1)
    yield* send({ type: "message", thread_ts: "1700000000.1", ts: "1700000001.5", text: "the first?" })
    expect((yield* messages(4))[3]).toMatchObject({ channel, thread_ts: "1700000000.1" })
    expect((yield* history(hook.id))[0]).toMatchObject({ conversation: { prompt: "the first?" } })
    expect(yield* history(other.id)).toHaveLength(1)
  })

  it.live("waits while its run works, and is next; it is not offered to webhooks that share the URL", function* () {
    const gate = yield* Deferred.make<void>()
    const prompts: Array<BusPrompt> = []
    const held: Leader = (delivery) =>
      Effect.andThen(
        Effect.sync(() => prompts.push(delivery.prompt)),
        Effect.andThen(Deferred.await(gate), answering(delivery))
      )
    const { admin, delivered, events, history, hook, send, team, trigger } = yield* inSlack({}, held, ["run.started"])
    const body = { name: "s", team: yield* team("others"), prompt_template: "x", input: "payload", shares: events.id }
    const { json } = yield* admin("POST", "/api/webhooks", { body })
    const first = yield* trigger
    yield* delivered(hook.id, 1)
    const reply = { type: "message", thread_ts: "1700000000.1", ts: "1700000001.5", text: "go on" }
    const taken = [yield* send(reply), yield* send({ ...reply, ts: "1700000002.5", text: "and on" })]
    for (const { json, status } of taken) expect([status, json]).toMatchObject([200, { run_id: expect.any(String) }])
    const last = yield* trigger
    expect((yield* send(reply)).json).toEqual(taken[0]!.json)
    expect((yield* history(hook.id)).map(({ status }: any) => status)).toEqual([
      ...["queued", "queued", "queued"],
      "running"
    ])
    yield* Deferred.succeed(gate, undefined)
    yield* untilEffect(
      "all have run",
      Effect.map(history(hook.id), (runs) => runs.every(({ status }: any) => status === "success"))
    )
    expect(prompts.map(({ run_id }) => run_id)).toEqual([first, ...taken.map(({ json }) => json.run_id), last])
    expect(prompts.map(({ prompt, thread }) => [prompt, thread?.id, thread?.history?.at(-1)?.response])).toEqual([
      ["hello", undefined, undefined],
      ["go on", first, "Done: hello"],
      ["and on", first, "Done: go on"],
      ["hello", undefined, undefined]
    ])
    expect([yield* history(json.webhook.id), yield* history(events.id)]).toEqual([[], []])
  })

  it.live("whose webhook does not take it is explained to its writer alone, once", function* () {
    const { delivered, history, hook, messages, send, slack, trigger } = yield* inSlack({ rate: "1/day" })
    yield* trigger
    yield* delivered(hook.id, 1)
    const long = { thread_ts: "1700000000.1", ts: "1700000001.5", text: "x".repeat(300_000) }
    for (const type of ["message", "app_mention"]) {
      const refused = yield* send({ type, ...long })
      expect(refused.json).toEqual({ status: "ignored", reason: "The reply is not taken. It is too long." })
    }
    const told = { channel, thread_ts: "1700000000.1", user: "UANN" }
    expect((yield* messages(2))[1]).toEqual({ ...told, text: "The reply is not taken. It is too long." })
    yield* send({ type: "message", ...long, ts: "1700000002.5", text: "go on" })
    expect((yield* messages(3))[2]).toEqual({
      ...told,
      text: "The reply is not taken. The webhook gets too many requests."
    })
    expect(slack.received.map(({ headers, path }) => [path, headers.authorization])).toEqual([
      ["/api/chat.postMessage", "Bearer xoxb-x"],
      ["/api/chat.postEphemeral", "Bearer xoxb-x"],
      ["/api/chat.postEphemeral", "Bearer xoxb-x"]
    ])
    expect(yield* history(hook.id)).toHaveLength(1)
  })

  it.live("is explained by no destination that is switched off or paused", function* () {
    const { admin, delivered, hook, messages, send, trigger } = yield* inSlack()
    yield* trigger
    yield* delivered(hook.id, 1)
    const [{ id }] = (yield* admin("GET", `/api/webhooks/${hook.id}/destinations`)).json.data
    const settings = [{ paused: true }, { paused: false, enabled: false }, { enabled: true }]
    for (const [n, body] of settings.entries()) {
      expect((yield* admin("PATCH", `/api/webhooks/${hook.id}/destinations/${id}`, { body })).status).toBe(200)
      const long = { thread_ts: "1700000000.1", ts: `170000000${n + 1}.5`, text: "x".repeat(300_000) }
      yield* send({ type: "message", user: `U${n}ANN`, ...long })
    }
    expect((yield* messages(2))[1]).toMatchObject({ user: "U2ANN" })
  })

  it.live("goes on in the thread of a mention that began the run, by the recipe", function* () {
    const { delivered, destination, eventsOf, history, messages, send } = yield* inSlack()
    const { prompt_template, settings } = recipes["slack-mention"]
    const mentions = yield* eventsOf("ops", { ...settings, prompt_template })
    yield* destination(mentions.id, recipes["slack-mention"].destination!.target)
    const mention = { type: "app_mention", text: "<@U0> hi", ts: "1700000003.5" }
    const accepted = yield* send(mention, mentions, "EvFirst")
    expect(accepted.status).toBe(202)
    expect((yield* messages(1))[0]).toMatchObject({ channel, thread_ts: "1700000003.5" })
    yield* delivered(mentions.id, 1)
    expect((yield* send(mention, mentions, "EvFirst")).json).toEqual(accepted.json)
    // It may also be reported as a message, as in a thread.
    const twin = { ...mention, type: "message", thread_ts: "1700000002.5" }
    expect((yield* send(twin, mentions)).json).toEqual({ status: "ignored" })
    const reply = { type: "message", thread_ts: "1700000003.5", ts: "1700000004.5", text: "more" }
    expect((yield* send(reply, mentions)).json).toMatchObject({ status: "ignored", run_id: expect.any(String) })
    expect((yield* messages(2))[1]).toMatchObject({ channel, thread_ts: "1700000003.5" })
    const [second, first] = yield* history(mentions.id)
    expect(second.thread).toEqual(first.thread)
    const other = yield* send({ type: "message", text: "to all", ts: "1700000005.5" }, mentions)
    expect(other.json).toMatchObject({ status: "ignored" })
  })
})

describe("a reaction in Slack", () => {
  it.live("approves or denies the run that the message is about", function* () {
    const { admin, delivered, history, hook, messages, send, trigger } = yield* inSlack({ approval: "required" })
    yield* trigger
    yield* delivered(hook.id, 1)
    const react = (reaction: string, ts: string) =>
      send({ type: "reaction_added", reaction, item: { type: "message", channel, ts } })
    const reply = { type: "message", thread_ts: "1700000000.1", text: "And?" }
    const early = yield* send({ ...reply, ts: "1700000001.5" })
    const reason = "The reply is not taken. The run waits for approval."
    expect(early.json).toEqual({ status: "ignored", reason })
    expect((yield* messages(2))[1]).toMatchObject({ thread_ts: "1700000000.1", user: "UANN", text: reason })
    yield* react("tada", "1700000000.1")
    yield* react("+1", "1600000000.1")
    yield* send({ type: "reaction_added", user: "UBOT", reaction: "+1", item: { channel, ts: "1700000000.1" } })
    expect((yield* history(hook.id))[0].status).toBe("queued")
    expect((yield* react("+1::skin-tone-2", "1700000000.1")).json).toMatchObject({ status: "ignored" })
    yield* messages(3)
    const id = yield* trigger
    yield* delivered(hook.id, 3)
    yield* react("-1", "1700000000.4")
    const [denied, approved] = yield* history(hook.id)
    expect(denied).toMatchObject({ run_id: id, cancelled_by: "denied", decided_by: "UANN (Slack)" })
    expect(approved).toMatchObject({ status: "success", decided_by: "UANN (Slack)" })
    const { run_id } = (yield* send({ ...reply, ts: "1700000002.5" })).json
    expect((yield* history(hook.id))[0]).toMatchObject({ run_id, held_for: "approval" })
    const { json } = yield* admin("GET", `/api/audit?object=${id}`)
    expect(json.data).toMatchObject([{ action: "run.denied", person_name: "UANN (Slack)" }])
  })
  it.live("approves nothing for who asked, or in a channel that another workspace shares", function* () {
    const { admin, delivered, destination, eventsOf, history, messages, send } = yield* inSlack()
    const { prompt_template, settings } = recipes["slack-mention"]
    const mentions = yield* eventsOf("ops", { ...settings, prompt_template, approval: "required" })
    yield* destination(mentions.id, recipes["slack-mention"].destination!.target)
    yield* send({ type: "app_mention", text: "<@U0> hi", ts: "1700000003.5" }, mentions)
    yield* delivered(mentions.id, 1)
    expect(yield* history(mentions.id)).toMatchObject([{ status: "queued", asked_by: "slack:UANN" }])
    const react = (user: string, more: object = {}) =>
      send(
        { type: "reaction_added", user, reaction: "+1", item: { type: "message", channel, ts: "1700000000.1" } },
        mentions,
        `Ev of ${user}`,
        { team_id: "THOME", ...more }
      )
    yield* react("UANN")
    yield* react("USHARED", { is_ext_shared_channel: true })
    yield* react("UGUEST", {
      team_id: "TGUEST",
      authorizations: [{ team_id: "THOME", user_id: "UBOT", is_bot: true }]
    })
    const told = (yield* messages(4)).slice(1)
    expect(told.map(({ text, user }: any) => [user, text.split(" ").slice(0, 2).join(" ")])).toEqual([
      ["UANN", "You asked"],
      ["USHARED", "Only operators,"],
      ["UGUEST", "Only operators,"]
    ])
    expect(yield* history(mentions.id)).toMatchObject([{ status: "queued" }])
    const { json } = yield* admin("GET", "/api/audit?action=run.decision_refused")
    expect(json.data.map(({ person_id }: any) => person_id)).toEqual(["slack:UGUEST", "slack:USHARED", "slack:UANN"])
    yield* react("UBOB")
    expect((yield* history(mentions.id))[0]).toMatchObject({ decided_by: "UBOB (Slack)" })
  })
})

describe("the buttons of a message that slack-message wrote", () => {
  const typesIn = ({ blocks }: any) => blocks.map(({ type }: any) => type)
  const lineIn = ({ blocks }: any) => blocks.at(-1).elements[0].text

  it.live("are replaced by what was decided elsewhere, in each channel, and the message stays delivered", function* () {
    const { admin, delivered, destination, history, hook, messages, trigger, updates } = yield* inSlack(
      { approval: "required", singleton: { key: "{{text}}", on_new: "supersede" } },
      answering,
      ["run.awaiting_approval"]
    )
    const other = "C9876543210"
    yield* destination(hook.id, `${other}/1600000000.1`)
    const approved = yield* trigger
    yield* delivered(hook.id, 2)
    const posted = yield* messages(2)
    for (const message of posted) expect(typesIn(message)).toEqual([...typesIn(posted[0]).slice(0, -1), "actions"])
    const decide = (id: string, decision: string) => admin("POST", `/api/runs/${id}/approval`, { body: { decision } })
    expect((yield* decide(approved, "approve")).status).toBe(200)
    const first = yield* updates(2)
    expect(first.map(({ channel }) => channel).sort()).toEqual([channel, other])
    for (const update of first) {
      const before = posted.find((message) => message.channel === update.channel)
      expect(update).toMatchObject({ ts: expect.stringMatching(/^1700000000\.[12]$/), parse: "none" })
      expect(update.thread_ts).toBeUndefined()
      expect(typesIn(update)).toEqual([...typesIn(before).slice(0, -1), "context"])
      expect(update.blocks[0].block_id).toBe(before.blocks[0].block_id)
      expect(JSON.stringify(update.blocks)).toContain("hello")
      expect(update.text).toBe("a webhook ❓ waited for approval")
      expect(lineIn(update)).toBe("Approved by admin key.")
    }
    expect(new Set(first.map(({ ts }) => ts)).size).toBe(2)
    yield* delivered(hook.id, 2)

    const replaced = yield* trigger
    yield* delivered(hook.id, 4)
    const denied = yield* trigger
    yield* delivered(hook.id, 6)
    expect((yield* updates(4)).slice(2).map(lineIn)).toEqual(Array(2).fill("Cancelled by a newer run."))
    yield* decide(denied, "deny")
    expect((yield* updates(6)).slice(4).map(lineIn)).toEqual(Array(2).fill("Denied by admin key."))
    const cancelled = yield* trigger
    yield* delivered(hook.id, 8)
    yield* admin("POST", `/api/runs/${cancelled}/cancel`)
    expect((yield* updates(8)).slice(6).map(lineIn)).toEqual(
      Array(2).fill("Cancelled by a program with the admin key.")
    )
    yield* delivered(hook.id, 8)
    expect((yield* history(hook.id)).map(({ cancelled_by, run_id }: any) => [run_id, cancelled_by])).toEqual([
      [cancelled, "admin_key"],
      [denied, "denied"],
      [replaced, "superseded"],
      [approved, undefined]
    ])
    expect([yield* messages(8), yield* updates(8)].map(({ length }) => length)).toEqual([8, 8])
  })

  it.live("are removed also if the decision comes before Slack has said which message it is", function* () {
    const held: Array<() => void> = []
    const { admin, messages, trigger, updates } = yield* inSlack(
      { approval: "required" },
      answering,
      ["run.awaiting_approval"],
      slackApi((answer) => void held.push(answer))
    )
    const id = yield* trigger
    const [message] = yield* messages(1)
    expect(typesIn(message).at(-1)).toBe("actions")
    yield* admin("POST", `/api/runs/${id}/approval`, { body: { decision: "deny" } })
    held[0]!()
    expect((yield* updates(1)).map((update) => [update.ts, lineIn(update)])).toEqual([
      ["1700000000.1", "Denied by admin key."]
    ])
  })

  it.live("are removed by another server, if the one that wrote the message has ended", function* () {
    const slack = yield* slackApi()
    const repo = Layer.succeedContext(yield* Layer.build(layerRepo))
    const id = yield* Effect.scoped(
      Effect.gen(function* () {
        const events = ["run.awaiting_approval"]
        const settings = { approval: "required", when_team_stopped: "queue" }
        const { delivered, hook, trigger } = yield* inSlack(settings, answering, events, Effect.succeed(slack), {
          repo
        })
        const id = yield* trigger
        yield* delivered(hook.id, 1)
        return id
      })
    )
    yield* Effect.flatMap(Repo, (repo) =>
      Effect.flatMap(DateTime.now, (at) => repo.decide(id as RunId, { approves: true, at, by: "Ann <b>" }))
    ).pipe(Effect.provide(repo))
    expect(slack.received).toHaveLength(1)
    yield* start({ allowed: { hosts: [], networks: ["127.0.0.1"] }, repo })
    const body = yield* untilEffect(
      "the update",
      Effect.sync(() => slack.received[1]?.body)
    )
    expect(lineIn(JSON.parse(body))).toBe("Approved by Ann &lt;b&gt;.")
  })

  it.live("of a question are replaced by the reply, wherever that was written", function* () {
    const asking: Leader = ({ prompt, reply }) =>
      reply({
        _tag: "Answered",
        response: `Done: ${prompt.prompt}`,
        report: prompt.prompt === "hello" ? { asks: ["Yes", "No"] } : {}
      })
    const { admin, delivered, hook, messages, send, trigger, updates } = yield* inSlack({}, asking)
    const first = yield* trigger
    yield* delivered(hook.id, 1)
    expect(typesIn((yield* messages(1))[0]).at(-1)).toBe("actions")
    expect((yield* admin("POST", `/api/runs/${first}/reply`, { body: { message: "Use <b>" } })).status).toBe(202)
    expect(lineIn((yield* updates(1))[0])).toBe("Answered by somebody in another place: Use &lt;b&gt;")
    yield* trigger
    yield* delivered(hook.id, 2)
    yield* send({ type: "message", thread_ts: "1700000000.2", ts: "1700000009.5", text: "Maybe" })
    const update = (yield* updates(2))[1]
    expect([update.ts, lineIn(update)]).toEqual(["1700000000.2", "Answered by <@UANN>: Maybe"])
  })
})
