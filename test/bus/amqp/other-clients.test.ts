import { readFileSync } from "node:fs"
import type { Message } from "amqplib"
import { Effect, Latch, Layer, Logger, Option, Queue, References, Result, Semaphore } from "effect"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import * as LeaderAmqp from "../../../src/bus/amqp/LeaderAmqp.ts"
import { decodeReply } from "../../../src/bus/amqp/Wire.ts"
import { Bus, type Reply } from "../../../src/bus/Bus.ts"
import { rightsOf } from "../../../src/cli/BrokerRights.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { RunId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { Leader } from "../../../src/leader/index.ts"
import { freshVhost, managementUrl } from "../../support/fresh.ts"
import { describe, expect, it } from "../../support/It.ts"
import { manage } from "../../support/RabbitMq.ts"
import {
  collectReplies,
  consume,
  echo,
  makePrompt,
  startLeader,
  team,
  untilQueue,
  untilUp
} from "../contract/support.ts"
import { behaviour, counted, patient } from "./OnRabbitMq.ts"
import { declareTeam, nextMessage, rawChannel, reply } from "./RawChannel.ts"

describe("the exchange for cancellations", () => {
  behaviour("is there before the prompt, also of a team whose queue an earlier server has bound", (url) =>
    Effect.gen(function* () {
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      yield* Effect.flatMap(Bus, (earlier) => Effect.flatMap(makePrompt(), (prompt) => earlier.publish(prompt)))
      yield* nextMessage(channel, "team.deploy")
      yield* Effect.promise(() => channel.deleteExchange("webhook.cancel.deploy"))
      const prompt = yield* makePrompt()
      yield* Effect.andThen(
        untilUp,
        Effect.flatMap(Bus, (bus) => bus.publish(prompt))
      ).pipe(Effect.provide(Layer.fresh(BusAmqp.layer({ url: patient(url), queueType: "classic" }))))
      yield* Effect.promise(() => channel.checkExchange("webhook.cancel.deploy"))
    })
  )
})

describe("replies of leaders in other languages", () => {
  behaviour("an answer may be JSON or plain text, and an error too", (url) =>
    Effect.gen(function* () {
      const collected = yield* collectReplies
      const channel = yield* rawChannel(url)
      const { run_id } = yield* makePrompt()
      const answered = (response: string) => ({ _tag: "Answered", run_id, response })
      const failed = (message: string) => ({ _tag: "Failed", run_id, message })
      const text = { contentType: "text/plain", correlationId: run_id }
      const json = { contentType: "application/json", correlationId: run_id }
      const bare = { correlationId: run_id }
      const cases = [
        ['{"response":"fine"}', { ...json, type: "response" }, answered("fine")],
        ['{"response":"fine"}', json, answered("fine")],
        ['{"response":"fine","tokens":12}', { ...bare, type: "response" }, answered("fine")],
        ["just text", { ...text, type: "response" }, answered("just text")],
        ["no type", text, answered("no type")],
        ['{"response":"x"}', { ...text, contentType: "text/plain; charset=utf-8" }, answered('{"response":"x"}')],
        ["", text, answered("")],
        [Buffer.from([0x61, 0xff, 0x62]), text, answered("a\uFFFDb")],
        ["nul \0 here", text, answered("nul \uFFFD here")],
        ['{"response":"nul \\u0000, half \\ud800"}', json, answered("nul \uFFFD, half \uFFFD")],
        ['{"message":"broken"}', { ...json, type: "error" }, failed("broken")],
        ["broken", { ...text, type: "error" }, failed("broken")],
        ["", { ...bare, type: "started" }, { _tag: "Started", run_id }],
        ["anything", { ...json, type: "started" }, { _tag: "Started", run_id }]
      ] as const
      for (const [body, options, expected] of cases) {
        yield* reply(channel, body, options)
        expect(yield* Queue.take(collected)).toEqual(expected)
      }
    })
  )

  behaviour("files come one or two at a time, delay no answer, and come again until they are stored", (url) =>
    Effect.gen(function* () {
      const sent = 5
      const taken = yield* Queue.unbounded<Reply>()
      const room = yield* Semaphore.make(1_000)
      yield* room.take(1_000)
      let failures = 1
      let atOnce = 0
      let most = 0
      const store = Effect.gen(function* () {
        most = Math.max(most, ++atOnce)
        yield* Effect.ensuring(
          room.take(1),
          Effect.sync(() => atOnce--)
        )
        if (failures-- > 0) return yield* new Unavailable({ what: "database", detail: "down" })
      })
      yield* consume(([first, ...more]) => {
        expect(more).toEqual([])
        return Effect.andThen(first?._tag === "File" ? store : Effect.void, Queue.offer(taken, first!))
      })
      const channel = yield* rawChannel(url)
      const { run_id } = yield* makePrompt()
      const json = { contentType: "application/json", correlationId: run_id }
      const file = (n: number, name: string) =>
        reply(channel, JSON.stringify({ n, name, content: "aGk=" }), { ...json, type: "file" }, "file")
      for (let n = 1; n <= sent; n++) yield* file(n, `${n}.txt`)
      yield* reply(channel, '{"response":"fine"}', { ...json, type: "response" })
      expect(yield* Queue.take(taken)).toEqual({ _tag: "Answered", run_id, response: "fine" })
      // More than that: what a lost connection gives back comes again.
      yield* room.release(100 * sent)
      const names = new Set<string>()
      while (names.size < sent) {
        const next = yield* Queue.take(taken)
        if (next._tag === "File") names.add(next.file.name)
      }
      expect(most).toBeLessThanOrEqual(2)
    })
  )

  behaviour("a file that cannot be stored keeps no answer from going back to the broker", (url) =>
    Effect.gen(function* () {
      const down = new Unavailable({ what: "database", detail: "down" })
      const taken = yield* Queue.unbounded<Reply>()
      const tried = yield* Latch.make()
      let stores = false
      let failures = 1
      yield* consume(([first]) => {
        if (first?._tag !== "File") return failures-- > 0 ? down : Queue.offer(taken, first!)
        return stores ? Queue.offer(taken, first) : Effect.andThen(tried.open, down)
      })
      const channel = yield* rawChannel(url)
      const { run_id } = yield* makePrompt()
      const json = { contentType: "application/json", correlationId: run_id }
      yield* reply(channel, '{"n":1,"name":"a.txt","content":"aGk="}', { ...json, type: "file" }, "file")
      yield* tried.await
      yield* reply(channel, '{"response":"fine"}', { ...json, type: "response" })
      expect(yield* Queue.take(taken)).toEqual({ _tag: "Answered", run_id, response: "fine" })
      stores = true
      expect(yield* Queue.take(taken)).toMatchObject({ _tag: "File", n: 1 })
    })
  )

  behaviour("what cannot be read is counted and dropped, and holds up nothing", (url) =>
    Effect.gen(function* () {
      const collected = yield* collectReplies
      const channel = yield* rawChannel(url)
      const kinds = Effect.all([counted("refused"), counted("malformed"), counted("unknown")])
      const [refused, malformed, unknown] = yield* kinds
      const { run_id } = yield* makePrompt()
      const good = { correlationId: run_id, contentType: "application/json" }
      const foreign = [{}, { correlationId: "not-a-uuid" }, { correlationId: "'; drop table runs; --" }]
      for (const options of foreign) yield* reply(channel, '{"response":"x"}', options)
      const bad = [
        ["{", good],
        ["null", good],
        ['{"answer":"x"}', good],
        ['{"response":12}', good],
        [Buffer.from([0xff, 0xfe]), good],
        ["text", { ...good, type: "error" }],
        ['{"response":"x"}', { ...good, type: "error" }]
      ] as const
      for (const [body, options] of bad) yield* reply(channel, body, options)
      yield* reply(channel, '{"progress":0.5}', { ...good, type: "metrics" })
      yield* reply(channel, '{"response":"the good one"}', good)
      expect(yield* Queue.take(collected)).toEqual({ _tag: "Answered", run_id, response: "the good one" })
      expect(yield* kinds).toEqual([refused + foreign.length, malformed + bad.length, unknown + 1])
    })
  )

  it.live("what cannot be read is acknowledged: nothing of it is left", () =>
    Effect.gen(function* () {
      const url = yield* freshVhost
      const channel = yield* rawChannel(url)
      yield* Effect.gen(function* () {
        yield* untilUp
        const collected = yield* collectReplies
        const { run_id } = yield* makePrompt()
        yield* reply(channel, "{", { correlationId: run_id })
        yield* reply(channel, "good", { correlationId: run_id, contentType: "text/plain" })
        yield* Queue.take(collected)
      }).pipe(Effect.scoped, Effect.provide(BusAmqp.layer({ url: patient(url), queueType: "classic" })))
      const { messageCount } = yield* Effect.promise(() => channel.checkQueue("webhook.replies.inbox"))
      expect(messageCount).toBe(0)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.live("an answer over 1 MiB arrives once, as its beginning, and is acknowledged", () =>
    Effect.gen(function* () {
      const url = yield* freshVhost
      const channel = yield* rawChannel(url)
      const text = "x".repeat(12_000_000)
      yield* Effect.gen(function* () {
        yield* untilUp
        const collected = yield* collectReplies
        const [{ run_id }, next] = [yield* makePrompt(), yield* makePrompt()]
        const kept = { run_id, response: text.slice(0, 65_536), truncated: true }
        for (const [body, contentType] of [
          [text, "text/plain"],
          [JSON.stringify({ response: text }), "application/json"],
          [JSON.stringify({ response: text.slice(0, 100_000), truncated: true }), "application/json"],
          [JSON.stringify({ response: "the beginning", truncated: true }), "application/json"]
        ] as const) {
          yield* reply(channel, body, { correlationId: run_id, contentType })
        }
        yield* reply(channel, "good", { correlationId: next.run_id, contentType: "text/plain" })
        expect(yield* Queue.takeN(collected, 5)).toEqual([
          ...Array(3).fill({ _tag: "Answered", ...kept }),
          { _tag: "Answered", ...kept, response: "the beginning" },
          { _tag: "Answered", run_id: next.run_id, response: "good" }
        ])
      }).pipe(Effect.scoped, Effect.provide(BusAmqp.layer({ url: patient(url), queueType: "classic" })))
      const { messageCount } = yield* Effect.promise(() => channel.checkQueue("webhook.replies.inbox"))
      expect(messageCount).toBe(0)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it("of JSON that is longer than messages of RabbitMQ 4, the beginning is kept as it is", () => {
    const run_id = RunId.make("01900000-0000-7000-8000-000000000000")
    const message = (type: string) =>
      ({ content: Buffer.alloc(16 * 1024 * 1024 + 1, " "), properties: { type } }) as unknown as Message
    const kept = " ".repeat(65_536)
    expect(decodeReply(message("response"), run_id)).toEqual(
      Result.succeed({ kind: "response", reply: { _tag: "Answered", run_id, response: kept, truncated: true } })
    )
    expect(decodeReply(message("error"), run_id)).toEqual(
      Result.succeed({ kind: "error", reply: { _tag: "Failed", run_id, message: kept } })
    )
  })

  behaviour("an answer of 20 MB, which RabbitMQ 4 does not even take, holds up nothing", (url) =>
    Effect.gen(function* () {
      const collected = yield* collectReplies
      const [huge, good] = [yield* makePrompt(), yield* makePrompt()]
      const text = { contentType: "text/plain" }
      const channel = yield* rawChannel(url)
      yield* reply(channel, Buffer.alloc(20_000_000, "x"), { ...text, correlationId: huge.run_id })
      yield* reply(yield* rawChannel(url), "good", { ...text, correlationId: good.run_id })
      const got = yield* Effect.repeat(Queue.take(collected), { until: ({ run_id }) => run_id === good.run_id })
      expect(got).toEqual({ _tag: "Answered", run_id: good.run_id, response: "good" })
    })
  )
})

/** The broker's address for a user with these rights. */
const addressWith = (address: string, rights: Readonly<Record<"configure" | "read" | "write", string>>) =>
  Effect.gen(function* () {
    const url = new URL(address)
    url.username = `leader-${crypto.randomUUID()}`
    url.password = "secret"
    const base = managementUrl()
    const { configure, read, write } = rights
    yield* Effect.acquireRelease(
      Effect.promise(async () => {
        await manage(base, "PUT", `/api/users/${url.username}`, { password: url.password, tags: "" })
        await manage(base, "PUT", `/api/permissions${url.pathname}/${url.username}`, { configure, read, write })
      }),
      () => Effect.promise(() => manage(base, "DELETE", `/api/users/${url.username}`))
    )
    return patient(url.href)
  })

describe("a server's rights", () => {
  it.live("suffice as docs/run/deploy.md grants them", () =>
    Effect.gen(function* () {
      const url = yield* freshVhost
      const doc = readFileSync("docs/run/deploy.md", "utf8")
      const [, configure, write, read] = /set_permissions -p webhooks webhooks '(.+)' '(.+)' '(.+)'/.exec(doc)!
      const serverUrl = yield* addressWith(url, { configure: configure!, write: write!, read: read! })
      yield* Effect.gen(function* () {
        yield* untilUp
        const collected = yield* collectReplies
        const bus = yield* Bus
        // Its reply may be here before it has acknowledged the prompt.
        const stop = yield* startLeader(echo, { grace: 10_000 })
        const prompt = yield* makePrompt()
        yield* bus.publish(prompt)
        expect((yield* Queue.take(collected)).run_id).toBe(prompt.run_id)
        yield* stop
        yield* untilQueue(({ consumers, messages }) => consumers === 0 && messages === 0)
        const next = yield* makePrompt()
        yield* bus.publish(next)
        yield* bus.cancel(team, next.run_id)
        expect((yield* bus.inspect(team)).isReplaced).toBe(false)
        expect(yield* bus.withdraw(team)).toBe(1)
        yield* bus.removeQueue(team)
        expect((yield* bus.queue(team)).exists).toBe(false)
      }).pipe(
        Effect.scoped,
        Effect.provide(BusAmqp.layer({ url: serverUrl, queueType: "classic" })),
        Effect.provide(LeaderAmqp.layer({ url: patient(url), queueType: "classic" }))
      )
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )
})

describe("a leader's rights", () => {
  const cases = [
    { name: "those of its team", rights: rightsOf(team, { vhost: "", user: Option.none() }) },
    {
      name: "no right to hear of cancellations",
      rights: { configure: "^team\\.deploy$", read: "^team\\.deploy$", write: "^webhook\\.(replies|dlx)$" }
    }
  ]

  it.live.each(cases)("can lead with $name", ({ rights }) =>
    Effect.gen(function* () {
      const url = yield* freshVhost
      const leaderUrl = yield* addressWith(url, rights)
      yield* Effect.gen(function* () {
        yield* untilUp
        const collected = yield* collectReplies
        yield* Leader.start({ team, handler: ({ prompt }) => Effect.succeed(prompt) })
        yield* untilQueue(({ consumers }) => consumers === 1)
        const prompt = yield* makePrompt()
        yield* Effect.flatMap(Bus, (bus) => bus.publish(prompt))
        expect((yield* Queue.take(collected))._tag).toBe("Started")
        expect(yield* Queue.take(collected)).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "hello" })
      }).pipe(
        Effect.scoped,
        Effect.provide(BusAmqp.layer({ url: patient(url), queueType: "classic" })),
        Effect.provide(LeaderAmqp.layer({ url: leaderUrl, queueType: "classic" }))
      )
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.live("are enough to notice that no server knows its team", function* () {
    const url = yield* freshVhost
    const warnings = yield* Queue.unbounded<unknown>()
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn" && String(message).includes("the team")) Queue.offerUnsafe(warnings, message)
    })
    const lead = (name: TeamName) =>
      Effect.gen(function* () {
        const leaderUrl = yield* addressWith(url, rightsOf(name, { vhost: "", user: Option.none() }))
        const leader = Leader.start({ team: name, handler: () => Effect.succeed("") })
        const layer = LeaderAmqp.layer({ url: leaderUrl, queueType: "classic" })
        yield* Effect.forkScoped(Effect.provide(Effect.andThen(leader, Effect.never), layer))
      })
    yield* Effect.gen(function* () {
      yield* untilUp
      // A server that creates or lists a team asks for its queue.
      yield* Effect.flatMap(Bus, ({ queue }) => queue(team))
      yield* lead(team)
      yield* untilQueue(({ consumers }) => consumers === 1)
      yield* lead(TeamName.make("deplyo"))
      expect(yield* Queue.take(warnings)).toEqual([
        "no server on this broker knows the team deplyo. Is its name right, and was it created?"
      ])
    }).pipe(
      Effect.provide(BusAmqp.layer({ url: patient(url), queueType: "classic" })),
      Effect.provide(Logger.layer([logger]))
    )
  })
})

describe("queues declared by others", () => {
  behaviour("a leader in another language counts as running", (url) =>
    Effect.gen(function* () {
      const channel = yield* rawChannel(url)
      yield* declareTeam(channel, team)
      yield* Effect.promise(() => channel.consume("team.deploy", () => {}))
      expect(yield* untilQueue(({ consumers }) => consumers === 1)).toEqual({ exists: true, consumers: 1, messages: 0 })
    })
  )

  behaviour("a thousand simultaneous requests about many teams are all answered", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const teams = Array.from({ length: 1000 }, (_, i) => `team-${i % 200}` as typeof team)
      const queues = yield* Effect.forEach(teams, bus.queue, { concurrency: "unbounded" })
      expect(new Set(queues.map(({ exists }) => exists))).toEqual(new Set([false]))
    })
  )
})
