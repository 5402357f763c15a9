import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, Queue, Redacted, References, Schedule, type Scope } from "effect"
import * as BusAmqp from "../../src/bus/amqp/BusAmqp.ts"
import { Bus, type Prompt, type Reply, type RunProgress } from "../../src/bus/Bus.ts"
import { byRunId, collectReplies, makePrompt, team, untilQueue } from "../bus/contract/support.ts"
import { freshVhost } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"
import { Proxy } from "../support/Proxy.ts"
import { untilEffect } from "../support/Until.ts"

const script = fileURLToPath(new URL("leader.py", import.meta.url))

/** Runs the Python leader until the scope closes: how often each line of its output has come so far. */
const startPython = (url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn("/usr/bin/python3", [script, url, team], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  ).pipe(
    Effect.map((child) => {
      let output = ""
      child.stdout.on("data", (chunk) => (output += chunk))
      return (line: string) => {
        if (child.exitCode !== null) throw new Error(`the leader has ended:\n${output}`)
        return output.split(line).length - 1
      }
    })
  )

const brokerAndProxy = Effect.gen(function* () {
  const url = yield* freshVhost
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => Proxy.of(url)),
    (it) => Effect.promise(() => it.close())
  )
  return { url, proxy, bus: BusAmqp.layer({ url: Redacted.make(url), queueType: "classic" }) }
})

const behaviour = (name: string, test: (python: Proxy) => Effect.Effect<unknown, unknown, Bus | Scope.Scope>) =>
  it.live(name, () =>
    Effect.gen(function* () {
      const { bus, proxy, url } = yield* brokerAndProxy
      yield* Effect.andThen(startPython(proxy.through(url)), test(proxy)).pipe(Effect.scoped, Effect.provide(bus))
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

/** The end of the prompt's run. Replies to others may come again: a process that stands still loses its connection. */
const endOf = (replies: Queue.Dequeue<Reply>, prompt: Prompt) =>
  Effect.repeat(Queue.take(replies), {
    until: ({ _tag, run_id }: Reply) => _tag !== "Started" && run_id === prompt.run_id
  })

describe("a leader in Python, written from the documentation", () => {
  behaviour("is shown as running, and answers prompts in order, with success and with errors", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      yield* untilQueue(({ consumers }) => consumers === 1)
      const prompts = [
        yield* makePrompt({ prompt: "grüße 🦊" }),
        yield* makePrompt({ prompt: "fail please" }),
        yield* makePrompt({ prompt: "x".repeat(256 * 1024) })
      ] as const
      for (const prompt of prompts) yield* bus.publish(prompt)
      expect(yield* Queue.take(replies)).toEqual({ _tag: "Started", run_id: prompts[0].run_id })
      const [answered, failed, big] = yield* Effect.forEach(prompts, (prompt) => endOf(replies, prompt))
      expect(answered).toEqual({ _tag: "Answered", run_id: prompts[0].run_id, response: "GRÜSSE 🦊" })
      expect(failed).toEqual({ _tag: "Failed", run_id: prompts[1].run_id, message: "cannot do that: fail please" })
      expect(big).toEqual({ _tag: "Answered", run_id: prompts[2].run_id, response: "X".repeat(256 * 1024) })
    })
  )

  behaviour("reports progress", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const observed = yield* Deferred.make<RunProgress>()
      yield* bus.consume(() => Effect.void, {
        correlation: byRunId,
        progress: (progress) => Deferred.doneUnsafe(observed, Effect.succeed(progress))
      })
      yield* untilQueue(({ consumers }) => consumers === 1)
      // Progress is lost until the server listens.
      yield* Effect.flatMap(makePrompt(), (prompt) => bus.publish(prompt)).pipe(
        Effect.repeat({ schedule: Schedule.spaced("100 millis"), until: () => Deferred.isDone(observed) })
      )
      expect(yield* Deferred.await(observed)).toMatchObject({ seq: 0, activity: "Reading the prompt" })
    })
  )

  behaviour("answers a repeated prompt again, and reconnects after its connection was lost", (python) =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      yield* untilQueue(({ consumers }) => consumers === 1)
      const prompt = yield* makePrompt()
      const answer = { _tag: "Answered", run_id: prompt.run_id, response: "HELLO" }
      yield* bus.publish(prompt)
      expect(yield* endOf(replies, prompt)).toEqual(answer)
      yield* bus.publish(prompt)
      expect(yield* Queue.take(replies)).toEqual(answer)
      python.reset({ refuse: true })
      yield* untilQueue(({ consumers }) => consumers === 0)
      python.pass()
      const other = yield* makePrompt({ prompt: "again" })
      yield* bus.publish(other)
      // The first may come once more: its acknowledgement may have been lost with the connection.
      const end = yield* endOf(replies, other)
      expect(end).toEqual({ _tag: "Answered", run_id: other.run_id, response: "AGAIN" })
    })
  )

  behaviour("stops working on a run that is cancelled, and goes on with the next", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      yield* untilQueue(({ consumers }) => consumers === 1)
      const [long, next] = [yield* makePrompt({ prompt: "wait" }), yield* makePrompt({ prompt: "next" })]
      for (const prompt of [long, next]) yield* bus.publish(prompt)
      // As the server does: the leader may not listen yet.
      yield* bus.cancel(team, long.run_id).pipe(Effect.delay("50 millis"), Effect.forever, Effect.forkScoped)
      const stopped = { _tag: "Failed", run_id: long.run_id, message: "The run was cancelled." }
      expect(yield* endOf(replies, long)).toEqual(stopped)
      expect(yield* endOf(replies, next)).toEqual({ _tag: "Answered", run_id: next.run_id, response: "NEXT" })
    })
  )

  it.live("waits for a broker that accepts connections and says nothing, and then leads", () =>
    Effect.gen(function* () {
      const { bus, proxy, url } = yield* brokerAndProxy
      proxy.silence("all")
      const count = yield* startPython(`${proxy.through(url)}?stack_timeout=1`)
      yield* untilEffect(
        "a second attempt has ended too",
        Effect.sync(() => count("AMQPConnectorStackTimeout") > 1)
      )
      proxy.pass()
      yield* Effect.provide(
        untilQueue(({ consumers }) => consumers === 1),
        bus
      )
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.live("tries again while the broker's name does not resolve", function* () {
    const count = yield* startPython("amqp://broker.invalid")
    yield* untilEffect(
      "a second attempt has ended too",
      Effect.sync(() => count("gaierror") > 1)
    )
  })
})
