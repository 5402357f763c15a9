import { expect } from "@effect/vitest"
import { DateTime, Duration, Effect, Record } from "effect"
import { makeRunId } from "../../../../src/domain/Id.ts"
import type { Outcome } from "../../../../src/domain/run/Run.ts"
import { runStatuses } from "../../../../src/domain/run/RunStatus.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  admitOne,
  at,
  count,
  createWebhook,
  endAll,
  endOne,
  failure,
  outcomes,
  outIds,
  queueRun,
  sendRun,
  startedOne,
  success,
  timeout,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const end = (test: Test): void => {
  test("take an answer of a run with a schema only once it is checked, and a question and an error without", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const answer_schema = { type: "object" }
    const send = sendRun(webhook, 100, { agent: { answer_schema } })
    const run_id = yield* send
    const outcome = success('{"a":1}')
    const unchecked = { recorded: false, run: undefined, unchecked: { team: webhook.team, answer_schema } }
    // The server that was to check it may be gone.
    for (const _ of count(2)) {
      expect(yield* endAll([{ run_id, outcome, at: at(200) }])).toMatchObject([unchecked])
    }
    expect(yield* repo.run(run_id)).toMatchObject({ status: "running" })
    expect(yield* outIds).toEqual([run_id])
    const end = { run_id, outcome, isChecked: true, at: at(300) }
    const [ended] = yield* endAll([end])
    expect(ended).toMatchObject({
      recorded: true,
      run: { status: "success", answer: { a: 1 }, finished_at: at(300) }
    })
    // The leader has repeated it.
    expect((yield* endAll([{ run_id, outcome: success("again"), at: at(400) }]))[0]).not.toHaveProperty("unchecked")
    expect(yield* repo.run(run_id)).toMatchObject({ answer: { a: 1 } })

    const asking = yield* send
    const question: Outcome = { status: "success", response: "Which?", report: { asks: [] } }
    expect((yield* endOne(asking, question, 200)).run).toMatchObject({ status: "success", asks: [] })
    const failed = yield* send
    expect((yield* endOne(failed, failure("no"), 200)).recorded).toBe(true)
    const late = yield* send
    yield* endOne(late, timeout, 200)
    expect(yield* endAll([{ run_id: late, outcome, at: at(300) }])).toMatchObject([{ recorded: false }])
    const run = yield* repo.run(late)
    expect(run).toMatchObject({ status: "timeout", conversation: { response: '{"a":1}' } })
    expect(run).not.toHaveProperty("answer")
  })

  test("record answer, error and times", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const answered = yield* sendRun(webhook, 100)
    yield* startedOne(answered, 150)
    const ended = yield* endOne(answered, success("It's up \u{1f680}"), 400)
    expect(ended).toEqual({ recorded: true, run: yield* repo.run(answered) })
    expect(ended.run).toMatchObject({
      status: "success",
      sent_at: at(100),
      started_at: at(150),
      finished_at: at(400),
      duration_ms: 250,
      conversation: { prompt: "Deploy api", response: "It's up \u{1f680}" }
    })
    const failed = yield* sendRun(webhook, 100)
    yield* endOne(failed, failure("no such service"), 300)
    expect(yield* repo.run(failed)).toMatchObject({
      status: "error",
      error: { code: "agent_error", message: "no such service" },
      started_at: at(100),
      duration_ms: 200
    })
    const never = yield* queueRun(webhook)
    yield* endOne(never, timeout, 300)
    const run = yield* repo.run(never)
    expect(run).toMatchObject({ status: "timeout", finished_at: at(300) })
    expect(Object.keys(run)).not.toContain("started_at")
    expect(Object.keys(run)).not.toContain("duration_ms")
  })

  test("record what the agent reported of its work, also with an answer that comes late", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const report = {
      usage: { input_tokens: 1200, cost_usd: 0.0125, model: "m-1" },
      session_id: "s-1",
      session_lost: true,
      links: [{ title: "Pull request 7", url: "https://git.example.com/7" }],
      asks: []
    }
    for (const outcome of [success("yes"), failure("no")]) {
      const id = yield* queueRun(webhook)
      yield* endOne(id, { ...outcome, report } as Outcome, 300)
      expect(yield* repo.run(id)).toMatchObject(report)
      expect((yield* repo.runs({ webhook_id: webhook.id, limit: 1 })).data[0]).toMatchObject(report)
    }
    const late = yield* queueRun(webhook)
    yield* endOne(late, timeout, 300)
    expect(yield* repo.run(late)).not.toHaveProperty("usage")
    yield* endOne(late, { status: "success", response: "late", report }, 400)
    expect(yield* repo.run(late)).toMatchObject({ status: "timeout", ...report })
  })

  test("store the first report of a run that was cancelled or timed out, and say so once", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const report = { usage: { output_tokens: 34, cost_usd: 0.5 }, session_id: "s-1" }
    const reported = (message: string): Outcome => ({ ...failure(message), report }) as Outcome
    for (const outcome of Object.values(outcomes)) {
      const id = yield* queueRun(webhook)
      const { run: before } = yield* endOne(id, outcome, 300)
      const keeps = runStatuses[outcome.status].storesLateAnswer
      const ended = yield* endOne(id, reported("stopped"), 400)
      expect(ended.late).toEqual(keeps ? { team: webhook.team, report } : undefined)
      expect(ended.run).toEqual({ ...before, ...(keeps && report) })
      const other = { usage: { output_tokens: 1 } }
      const repeated = yield* endAll([
        { run_id: id, outcome: { ...failure("again"), report: other } as Outcome, at: at(500) },
        { run_id: id, outcome: { ...success("late"), report: other } as Outcome, at: at(500) }
      ])
      expect(repeated.map(({ late }) => late)).toEqual([undefined, undefined])
      expect(yield* repo.run(id)).toMatchObject({ ...ended.run, conversation: {} })
    }
  })

  test("record every way in which a run may end, and count it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const ids = yield* Effect.forEach(Object.values(outcomes), (outcome) =>
      Effect.tap(queueRun(webhook), (id) => endOne(id, outcome, 300))
    )
    const { runs } = yield* repo.ended(ids)
    expect(runs.map(({ status }) => status).sort()).toEqual(Object.keys(outcomes).sort())
    for (const { finished_at } of runs) expect(finished_at).toEqual(at(300))
    const [counts] = yield* repo.statistics(webhook.id, DateTime.startOf(at(0), "hour"), Duration.hours(1))
    expect(counts).toMatchObject({ ...Record.map(outcomes, () => 1), live: 0 })
  })

  test("keep the beginning of an answer that is too large, also of one that comes later", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const error = { code: "answer_too_large", message: "too large" } as const
    const tooLarge: Outcome = { status: "error", error, response: "beginning" }
    const [inTime, late] = [yield* queueRun(webhook), yield* queueRun(webhook)]
    const { run } = yield* endOne(inTime, tooLarge, 300)
    expect(run).toMatchObject({ status: "error", error, conversation: { response: "beginning" } })
    yield* endOne(late, timeout, 300)
    yield* endOne(late, tooLarge, 400)
    const ended = yield* repo.run(late)
    expect(ended).toMatchObject({ status: "timeout", conversation: { response: "beginning" } })
    expect(ended).not.toHaveProperty("error")
  })

  test("keep the first answer that comes later, where the status says that one is stored", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    for (const outcome of Object.values(outcomes)) {
      const id = yield* queueRun(webhook)
      const { run: before } = yield* endOne(id, outcome, 300)
      const stored = runStatuses[outcome.status].storesLateAnswer
      yield* endOne(id, success("late"), 400)
      const { conversation, ...after } = yield* repo.run(id)
      expect(conversation.response).toBe(stored ? "late" : before?.conversation.response)
      expect({ ...after, conversation: before?.conversation }).toEqual(before)
    }
  })

  test("record one of fifty ends of a run, in one call or in many, and answer the same to all", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    for (const round of count(6)) {
      const run_id = yield* sendRun(webhook, 1)
      const ends = count(50).map((i) => ({
        run_id,
        outcome: i % 2 === round % 2 ? success(`${i}`) : failure(`${i}`),
        at: at(i + 2)
      }))
      const answers =
        round < 3 ? yield* endAll(ends) : (yield* Effect.forEach(ends, (end) => endAll([end]), together)).flat()
      expect(answers.filter((answer) => answer.recorded)).toHaveLength(1)
      if (round < 3) expect(answers[0]?.recorded).toBe(true)
      const run = yield* repo.run(run_id)
      for (const answer of answers) expect(answer.run).toEqual(run)
    }
  })

  test("end many runs in one call, and answer in the order of the call", function* () {
    const webhook = yield* createWebhook()
    const ids = yield* Effect.forEach(count(100), () => queueRun(webhook))
    yield* admitOne(ids[0]!)
    const unknown = yield* makeRunId
    const [...answers] = yield* endAll(
      [...ids, unknown].map((run_id) => ({ run_id, outcome: success(run_id), at: at(2) }))
    )
    expect(answers.pop()).toEqual({ recorded: false, run: undefined })
    for (const [i, { recorded, run }] of answers.entries()) {
      expect(recorded).toBe(true)
      expect(run).toMatchObject({ run_id: ids[i], conversation: { response: ids[i] } })
    }
    expect(yield* endAll([])).toEqual([])
  })

  test("keep the first answer that came after the timeout, in the conversation only", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const run_id = yield* sendRun(webhook, 1)
    const answers = yield* endAll([
      { run_id, outcome: timeout, at: at(10) },
      { run_id, outcome: success("late"), at: at(20) },
      { run_id, outcome: success("later"), at: at(30) }
    ])
    expect(answers.map((answer) => answer.recorded)).toEqual([true, false, false])
    const run = yield* repo.run(run_id)
    expect(run).toMatchObject({ status: "timeout", finished_at: at(10), conversation: { response: "late" } })
    expect(answers[1]?.run).toEqual(run)
    yield* endOne(run_id, success("later"), 40)
    yield* endOne(run_id, failure("late too"), 40)
    expect(yield* repo.run(run_id)).toEqual(run)
    const answered = yield* sendRun(webhook, 1)
    yield* endOne(answered, failure("broken"), 2)
    yield* endOne(answered, success("late"), 3)
    expect((yield* repo.run(answered)).conversation).toEqual({ prompt: "Deploy api" })
  })

  test("store what text cannot hold as the replacement character", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const id = yield* sendRun(webhook, 1)
    yield* endOne(id, success("a\u0000b\ud800c"), 2)
    expect((yield* repo.run(id)).conversation.response).toBe("a\ufffdb\ufffdc")
    const failed = yield* sendRun(webhook, 1)
    yield* endOne(failed, failure("\u0000"), 2)
    expect((yield* repo.run(failed)).error?.message).toBe("\ufffd")
    const late = yield* sendRun(webhook, 1)
    yield* endOne(late, timeout, 2)
    yield* endOne(late, success("\u0000"), 3)
    expect((yield* repo.run(late)).conversation.response).toBe("\ufffd")
  })

  test("name which of many runs have ended and which were deleted", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [live, done, unknown] = [yield* queueRun(webhook), yield* queueRun(webhook), yield* makeRunId]
    yield* endOne(done, success("ok"), 1)
    const ended = { runs: [yield* repo.run(done)], deleted: [unknown] }
    expect(yield* repo.ended([live, done, unknown])).toEqual(ended)
    expect(yield* repo.ended([])).toEqual({ runs: [], deleted: [] })
  })

  test("say nothing of a run that another end came first for, when that is not wanted", function* () {
    const id = yield* queueRun(yield* createWebhook())
    const repeated = { run_id: id, outcome: success("ok"), at: at(1), wantsRun: false }
    const [first] = yield* endAll([repeated])
    expect(first).toMatchObject({ recorded: true, run: { status: "success" } })
    expect(yield* endAll([repeated])).toEqual([{ recorded: false, run: undefined }])
    const [wanted] = yield* endAll([{ ...repeated, wantsRun: true }])
    expect(wanted).toMatchObject({ recorded: false, run: { status: "success" } })
  })
}
