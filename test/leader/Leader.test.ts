import { describe, expect, it } from "@effect/vitest"
import { DateTime, Deferred, Effect, Exit, Layer, Queue, References, Scope } from "effect"
import { Bus, type Delivery, LeaderBus, type LeaderReply } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { Unavailable } from "../../src/domain/Errors.ts"
import { RunId } from "../../src/domain/Id.ts"
import * as Answers from "../../src/leader/Answers.ts"
import { Leader, LeaderError } from "../../src/leader/index.ts"
import { collectReplies, makePrompt, team } from "../bus/contract/support.ts"

const behaviour = (name: string, test: Effect.Effect<unknown, unknown, Bus | LeaderBus | Scope.Scope>) =>
  it.live(name, () =>
    Effect.scoped(test).pipe(Effect.provide(BusMemory.layer), Effect.provideService(References.MinimumLogLevel, "None"))
  )

describe("Leader", () => {
  behaviour(
    "a run is reported started, then answered with what the handler returns",
    Effect.gen(function* () {
      const replies = yield* collectReplies
      yield* Leader.start({ team, handler: ({ prompt }) => Effect.succeed(prompt.toUpperCase()) })
      const prompt = yield* makePrompt({ prompt: "ship it" })
      yield* Effect.flatMap(Bus, (bus) => bus.publish(prompt))
      expect(yield* Queue.takeN(replies, 2)).toEqual([
        { _tag: "Started", run_id: prompt.run_id },
        { _tag: "Answered", run_id: prompt.run_id, response: "SHIP IT" }
      ])
    })
  )

  behaviour(
    "in whatever way the handler fails, its run fails with its message, and the next prompt is worked on",
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      const ways: Record<string, Effect.Effect<string, unknown>> = {
        "a failure": new LeaderError({ message: "no such branch" }),
        "a string": Effect.fail("out of money"),
        "an exception": Effect.sync(() => {
          throw new Error("x is undefined")
        }),
        "a rejection": Effect.promise(() => Promise.reject(new Error("fetch failed"))),
        "interrupted itself": Effect.interrupt
      }
      yield* Leader.start({ team, handler: ({ prompt }) => ways[prompt] ?? Effect.succeed("fine") })
      const messages: Array<string> = []
      for (const prompt of [...Object.keys(ways), "good"]) {
        yield* bus.publish(yield* makePrompt({ prompt }))
        expect((yield* Queue.take(replies))._tag).toBe("Started")
        const end = yield* Queue.take(replies)
        messages.push(end._tag === "Failed" ? end.message : end._tag === "Answered" ? end.response : end._tag)
      }
      expect(messages).toEqual([
        "no such branch",
        "out of money",
        "x is undefined",
        "fetch failed",
        "All fibers interrupted without errors.",
        "fine"
      ])
    })
  )

  behaviour(
    "a run that is delivered again is answered again, and not worked on again",
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      let worked = 0
      yield* Leader.start({ team, handler: () => Effect.sync(() => `answer ${++worked}`) })
      const prompt = yield* makePrompt()
      yield* bus.publish(prompt)
      yield* Queue.takeN(replies, 2)
      yield* bus.publish(prompt)
      expect(yield* Queue.take(replies)).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "answer 1" })
      expect(worked).toBe(1)
    })
  )

  behaviour(
    "work that was interrupted begins again with the next leader",
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      yield* Leader.start({
        team,
        handler: () =>
          Deferred.succeed(begun, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
          )
      }).pipe(Scope.provide(scope))
      const prompt = yield* makePrompt()
      yield* bus.publish(prompt)
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      yield* Deferred.await(ended)
      yield* Leader.start({ team, handler: () => Effect.succeed("second try") })
      const got = yield* Queue.takeN(replies, 3)
      expect(got.map(({ _tag }) => _tag)).toEqual(["Started", "Started", "Answered"])
      expect(got[2]).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "second try" })
    })
  )

  behaviour(
    "what a handler reports is kept with every end of its run, also when the run is cancelled",
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      const begun = yield* Deferred.make<void>()
      yield* Leader.start({
        team,
        handler: ({ prompt }, work) =>
          Effect.gen(function* () {
            yield* work.report({ session_id: "s-1", usage: { output_tokens: 1 } })
            yield* work.report({ usage: { output_tokens: 2 } })
            if (prompt === "answer") return { response: "yes", report: { session_id: "s-2" } }
            if (prompt === "fail") return yield* new LeaderError({ message: "no" })
            yield* Deferred.succeed(begun, undefined)
            return yield* Effect.never
          }).pipe(Effect.onInterrupt(() => work.report({ usage: { output_tokens: 3 } })))
      })
      const ends: Array<unknown> = []
      for (const text of ["answer", "fail", "cancel"]) {
        const prompt = yield* makePrompt({ prompt: text })
        yield* bus.publish(prompt)
        if (text === "cancel") yield* Effect.andThen(Deferred.await(begun), bus.cancel(team, prompt.run_id))
        const [, end] = yield* Queue.takeN(replies, 2)
        ends.push(end)
      }
      expect(ends).toMatchObject([
        { response: "yes", report: { session_id: "s-2", usage: { output_tokens: 2 } } },
        { message: "no", report: { session_id: "s-1", usage: { output_tokens: 2 } } },
        { message: "The run was cancelled.", report: { session_id: "s-1", usage: { output_tokens: 3 } } }
      ])
    })
  )

  it.live("a prompt whose deadline has passed is discarded, and not worked on", () =>
    Effect.gen(function* () {
      const late = yield* makePrompt({ deadline: DateTime.makeUnsafe(Date.now() - 1) })
      const inTime = yield* makePrompt({ deadline: DateTime.makeUnsafe(Date.now() + 60_000) })
      const worked: Array<string> = []
      const replies: Array<readonly [string, LeaderReply["_tag"]]> = []
      const done = yield* Deferred.make<void>()
      const bus = LeaderBus.of({
        lead: (_team, handle) =>
          Effect.forEach(
            [late, inTime],
            (prompt) =>
              handle({
                prompt,
                redelivered: false,
                cancelled: Deferred.makeUnsafe(),
                reply: ({ _tag }) => Effect.sync(() => replies.push([prompt.run_id, _tag])),
                file: () => Effect.die("not asked for"),
                sendFile: () => Effect.die("not sent"),
                progress: () => Effect.void
              }),
            {
              discard: true
            }
          ).pipe(Effect.orDie, Effect.andThen(Deferred.succeed(done, undefined)), Effect.forkScoped, Effect.asVoid)
      })
      yield* Leader.start({ team, handler: ({ run_id }) => Effect.sync(() => `work ${worked.push(run_id)}`) }).pipe(
        Effect.provideService(LeaderBus, bus)
      )
      yield* Deferred.await(done)
      expect(worked).toEqual([inTime.run_id])
      // The team is free: its leader says so.
      expect(replies.filter(([run_id]) => run_id === late.run_id)).toEqual([[late.run_id, "Discarded"]])
    }).pipe(Effect.scoped)
  )

  it.live("of an answer over 1 MiB, only the first 64 KiB are sent", () =>
    Effect.gen(function* () {
      const prompt = yield* makePrompt()
      const sent = yield* Queue.unbounded<LeaderReply>()
      const bus = LeaderBus.of({
        lead: (_team, handle) =>
          handle({
            prompt,
            redelivered: false,
            cancelled: Deferred.makeUnsafe(),
            reply: (reply) => Effect.asVoid(Queue.offer(sent, reply)),
            file: () => Effect.die("not asked for"),
            sendFile: () => Effect.die("not sent"),
            progress: () => Effect.void
          }).pipe(Effect.orDie, Effect.forkScoped, Effect.asVoid)
      })
      const report = { session_id: "s-1" }
      const handler = () => Effect.succeed({ response: "é".repeat(1024 * 1024), report })
      yield* Leader.start({ team, handler }).pipe(Effect.provideService(LeaderBus, bus))
      expect(yield* Queue.takeN(sent, 2)).toEqual([
        { _tag: "Started" },
        { _tag: "Answered", response: "é".repeat(32 * 1024), truncated: true, report }
      ])
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.live("an answer that the broker does not take is sent again until it does, and the work is done once", () =>
    Effect.gen(function* () {
      const prompt = yield* makePrompt()
      const sent: Array<LeaderReply> = []
      const done = yield* Deferred.make<void>()
      let refusals = 3
      let worked = 0
      const bus = LeaderBus.of({
        lead: (_team, handle) => {
          const reply: Delivery["reply"] = (reply) =>
            Effect.suspend(() => {
              if (reply._tag === "Answered" && refusals-- > 0) {
                return Effect.fail(new Unavailable({ what: "broker", detail: "for the test" }))
              }
              sent.push(reply)
              return Effect.void
            })
          return handle({
            prompt,
            redelivered: false,
            cancelled: Deferred.makeUnsafe(),
            reply,
            file: () => Effect.die("not asked for"),
            sendFile: () => Effect.die("not sent"),
            progress: () => Effect.void
          }).pipe(Effect.orDie, Effect.andThen(Deferred.succeed(done, undefined)), Effect.forkScoped, Effect.asVoid)
        }
      })
      yield* Leader.start({ team, handler: () => Effect.sync(() => String(++worked)) }).pipe(
        Effect.provideService(LeaderBus, bus)
      )
      yield* Deferred.await(done)
      expect(sent.map(({ _tag }) => _tag)).toEqual(["Started", "Answered"])
      expect(worked).toBe(1)
    }).pipe(Effect.scoped)
  )

  behaviour(
    "a leader as a layer leads as long as the layer lives, with services of its own",
    Effect.gen(function* () {
      const bus = yield* Bus
      const replies = yield* collectReplies
      const running = Layer.provide(
        Leader.layer({ team, handler: () => Effect.map(Bus, ({ durable }) => String(durable)) }),
        Layer.mergeAll(Layer.succeed(Bus, bus), Layer.succeed(LeaderBus, yield* LeaderBus))
      )
      const scope = yield* Scope.make()
      yield* Layer.build(running).pipe(Scope.provide(scope))
      expect((yield* bus.queue(team)).consumers).toBe(1)
      yield* bus.publish(yield* makePrompt())
      expect((yield* Queue.takeN(replies, 2))[1]).toMatchObject({ response: "false" })
      yield* Scope.close(scope, Exit.void)
      expect((yield* bus.queue(team)).consumers).toBe(0)
    })
  )
})

describe("remembered answers", () => {
  const id = (n: number) => RunId.make(`01234567-89ab-7000-8000-${String(n).padStart(12, "0")}`)
  const answer = (response = "x") => ({ _tag: "Answered" as const, response })

  it("the oldest are forgotten beyond the count; one that was used again counts as new", () => {
    const answers = Answers.make({ count: 2 })
    answers.put(id(1), answer())
    answers.put(id(2), answer())
    answers.get(id(1))
    answers.put(id(3), answer())
    expect([1, 2, 3].map((n) => answers.get(id(n)) !== undefined)).toEqual([true, false, true])
  })

  it("the oldest are forgotten beyond the size, but never the latest", () => {
    const answers = Answers.make({ size: 10 })
    answers.put(id(1), answer("12345"))
    answers.put(id(2), answer("12345"))
    expect(answers.get(id(1))).toBeDefined()
    answers.put(id(3), answer("1"))
    expect([1, 2, 3].map((n) => answers.get(id(n)) !== undefined)).toEqual([true, false, true])
    answers.put(id(4), answer("x".repeat(100)))
    expect([1, 2, 3, 4].map((n) => answers.get(id(n)) !== undefined)).toEqual([false, false, false, true])
    answers.put(id(5), answer("12345"))
    expect([4, 5].map((n) => answers.get(id(n)) !== undefined)).toEqual([false, true])
  })
})
