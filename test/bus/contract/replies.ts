/** What a leader replies, as it comes back. */
import { expect } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import { Bus, type Reply } from "../../../src/bus/Bus.ts"
import { type Behaviour, collectReplies, consume, echo, makePrompt, startLeader } from "./support.ts"

export const replies = (behaviour: Behaviour): void => {
  behaviour("what the leader replies comes back with the run's id", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    yield* startLeader(({ prompt: { prompt }, reply }) =>
      reply(
        prompt === "fail" ? { _tag: "Failed", message: "it did not work — 💥" } : { _tag: "Answered", response: prompt }
      )
    )
    const good = yield* makePrompt({ prompt: "日本語 🦊 \r\n" })
    const bad = yield* makePrompt({ prompt: "fail" })
    yield* bus.publish(good)
    yield* bus.publish(bad)
    expect(yield* Queue.takeN(collected, 2)).toEqual([
      { _tag: "Answered", run_id: good.run_id, response: "日本語 🦊 \r\n" },
      { _tag: "Failed", run_id: bad.run_id, message: "it did not work — 💥" }
    ])
  })

  behaviour(
    "a reply that is finished later delays no others, and is handled again if its server stops before",
    function* () {
      const bus = yield* Bus
      const others = yield* Queue.unbounded<Reply>()
      const slow = yield* makePrompt({ prompt: "slow" })
      const other = yield* makePrompt({ prompt: "other" })
      yield* startLeader(echo)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* consume((replies, later) =>
            Effect.forEach(
              replies,
              (reply) =>
                reply.run_id === slow.run_id
                  ? Effect.sync(() => later!(reply, Effect.never))
                  : Queue.offer(others, reply),
              { discard: true }
            )
          )
          yield* bus.publish(slow)
          yield* bus.publish(other)
          expect(yield* Queue.take(others)).toMatchObject({ run_id: other.run_id })
        })
      )
      const finished = yield* Deferred.make<void>()
      yield* consume((replies, later) =>
        Effect.sync(() => {
          for (const reply of replies) later!(reply, Effect.asVoid(Deferred.succeed(finished, undefined)))
        })
      )
      yield* Deferred.await(finished)
      yield* Effect.repeat(Effect.delay(bus.repliesWaiting, "20 millis"), { until: (waiting) => waiting === 0 })
    }
  )

  behaviour("the report of an answer and of a failure comes back, without what is invalid in it", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    const usage = { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 0, cost_usd: 0.0125, model: "m-1" }
    const link = { title: "Pull request 7", url: "https://git.example.com/7" }
    const report = {
      ...{ usage, session_id: "s-1", session_lost: true, session_usage: { output_tokens: 340, cost_usd: 0.125 } },
      ...{ links: [link], workspace: { base: "a".repeat(40), files: 2, note: "It stays." }, asks: ["Yes", "No"] }
    }
    const invalid: any = {
      usage: { input_tokens: -1, output_tokens: 1.5, cost_usd: "3", model: "" },
      session_id: "x".repeat(201),
      links: [{ title: "a", url: "javascript:alert(1)" }, { url: link.url }, ...Array(30).fill(link)],
      workspace: { base: "main", head: "b".repeat(40), files: -1, note: `\0${"x".repeat(600)}` },
      asks: [1, "a\0b"],
      more: true
    }
    yield* startLeader(({ prompt: { prompt }, reply }) =>
      prompt === "fail"
        ? reply({ _tag: "Failed", message: "no", report })
        : reply({ _tag: "Answered", response: "yes", report: prompt === "invalid" ? invalid : report })
    )
    const prompts = yield* Effect.forEach(["good", "fail", "invalid"], (prompt) => makePrompt({ prompt }))
    yield* Effect.forEach(prompts, (prompt) => bus.publish(prompt), { discard: true })
    const [good, failed, repaired] = yield* Queue.takeN(collected, 3)
    expect(good).toMatchObject({ _tag: "Answered", response: "yes", report })
    expect(failed).toMatchObject({ _tag: "Failed", message: "no", report })
    expect(repaired).toEqual({
      _tag: "Answered",
      run_id: prompts[2]!.run_id,
      response: "yes",
      report: {
        links: [{ title: link.url, url: link.url }, ...Array(18).fill(link)],
        workspace: { head: "b".repeat(40), note: `\uFFFD${"x".repeat(499)}` },
        asks: ["a\uFFFDb"]
      }
    })
  })

  behaviour("an answer with characters that a database cannot store has them replaced", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    yield* startLeader(({ reply }) => reply({ _tag: "Answered", response: "a\0b\ud800c🦊" }))
    const prompt = yield* makePrompt()
    yield* bus.publish(prompt)
    const reply = yield* Queue.take(collected)
    expect(reply).toEqual({ _tag: "Answered", run_id: prompt.run_id, response: "a\uFFFDb\uFFFDc🦊" })
  })

  behaviour(
    "an answer of 1 MiB arrives, and of a longer one its first 64 KiB, which end with a whole character",
    function* () {
      const bus = yield* Bus
      const collected = yield* collectReplies
      const mebibyte = 1024 * 1024
      const report = { session_id: "s-1" }
      yield* startLeader(({ prompt: { prompt }, reply }) => {
        const [begin, unit, count] = JSON.parse(prompt)
        return reply({ _tag: "Answered", response: begin + unit.repeat(count), report })
      })
      const answer = (begin: string, unit: string, count: number) =>
        Effect.gen(function* () {
          const prompt = yield* makePrompt({ prompt: JSON.stringify([begin, unit, count]) })
          yield* bus.publish(prompt)
          const { run_id, ...reply } = yield* Queue.take(collected)
          expect(run_id).toBe(prompt.run_id)
          return reply
        })
      // On the wire, JSON has six bytes for a control character.
      for (const unit of ["x", "\u0001"]) {
        expect(yield* answer("", unit, mebibyte)).toEqual({ _tag: "Answered", response: unit.repeat(mebibyte), report })
      }
      for (const [begin, unit, count, kept] of [
        ["", "x", mebibyte + 1, "x".repeat(65_536)],
        ["", "x", 20 * mebibyte, "x".repeat(65_536)],
        // Two bytes are left after the last whole character.
        ["ab", "🦊", mebibyte / 4, `ab${"🦊".repeat(16_383)}`],
        // A NUL is stored as three bytes.
        ["", "\0", mebibyte / 2, "\uFFFD".repeat(21_845)]
      ] as const) {
        const truncated = { _tag: "Answered", response: kept, truncated: true, report }
        expect(yield* answer(begin, unit, count)).toEqual(truncated)
      }
    }
  )

  behaviour("an error message over 1 MiB is cut to its first 64 KiB", function* () {
    const bus = yield* Bus
    const collected = yield* collectReplies
    yield* startLeader(({ reply }) => reply({ _tag: "Failed", message: "é".repeat(1024 * 1024) }))
    const prompt = yield* makePrompt()
    yield* bus.publish(prompt)
    const message = "é".repeat(32 * 1024)
    expect(yield* Queue.take(collected)).toEqual({ _tag: "Failed", run_id: prompt.run_id, message })
  })
}
