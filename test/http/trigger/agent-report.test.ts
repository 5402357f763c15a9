import { Deferred, Effect, Fiber, Queue } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { hello, repoAtNoon, repoWithClock, start } from "../Server.ts"

const report = {
  usage: { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 200, cost_usd: 0.0125, model: "m-1" },
  session_id: "s-1",
  session_lost: true,
  links: [{ title: "Pull request 7", url: "https://git.example.com/7" }],
  workspace: { base: "a".repeat(40), head: "b".repeat(40), files: 2, insertions: 3, deletions: 0, branch: "webhook/1" },
  asks: ["Merge it", "Leave it"]
}

/** Metrics are of the whole process, so each server has a team with another name. */
let servers = 0

describe("what an agent reports of its work", () => {
  it.live("comes with the answer and with the error, and is part of the run, its export and the metrics", function* () {
    const { team, webhook, http, admin } = yield* start({ repo: repoAtNoon })
    const name = `review-${++servers}`
    const review = yield* team(name, ({ prompt: { prompt }, reply }) =>
      prompt === "fail"
        ? reply({ _tag: "Failed", message: "no", report })
        : reply({ _tag: "Answered", response: "yes", report })
    )
    const hook = yield* webhook(review)
    const answered = yield* http("POST", `${hook.path}?wait=true`, { body: hello })
    expect(answered.json).toStrictEqual({
      status: "success",
      response: "yes",
      run_id: answered.json.run_id,
      ...report
    })
    const failed = yield* http("POST", `${hook.path}?wait=true`, { body: { variables: { text: "fail" } } })
    expect(failed.json).toMatchObject({ status: "error", ...report })
    expect((yield* http("GET", `${hook.path}/runs/${failed.json.run_id}`)).json).toMatchObject(report)
    expect((yield* admin("GET", `/api/runs/${answered.json.run_id}`)).json).toMatchObject(report)
    const csv = yield* admin("GET", "/api/runs/export.csv")
    expect(csv.text).toContain(",1200,200,34,0.0125,m-1,s-1,")
    const usage = yield* admin("GET", `/api/runs/usage?team=${name}`)
    const { model: _, ...amounts } = report.usage
    const twice = Object.fromEntries(Object.entries(amounts).map(([amount, value]) => [amount, 2 * value]))
    expect(usage.json).toEqual({ runs: 2, reported: 2, ...twice })
    expect((yield* admin("GET", `/api/runs/usage?team=${name}&status=error`)).json).toMatchObject({
      runs: 1,
      reported: 1
    })
    const statistics = yield* admin("GET", `/api/webhooks/${hook.id}/statistics?range=7d`)
    const buckets: ReadonlyArray<{ readonly usage?: object }> = statistics.json.buckets
    expect(buckets.flatMap(({ usage }) => usage ?? [])).toEqual([{ reported: 2, ...twice }])
    const { text: metrics } = yield* http("GET", "/metrics")
    expect(metrics).toContain(`\nwebhook_run_tokens_total{team="${name}",kind="input"} 2400\n`)
    expect(metrics).toContain(`\nwebhook_run_cost_usd_total{team="${name}"} 0.025\n`)
    const message = yield* admin("POST", `/api/teams/${name}/messages?wait=true`, { body: { message: "fail" } })
    expect(message.json).toMatchObject({ status: 502, code: "agent_failed", detail: "no", ...report })
  })

  it.live("is kept when the run was cancelled or has timed out before, and counts once", function* () {
    const { putAhead, repo } = repoWithClock()
    const { team, webhook, http, admin } = yield* start({ repo })
    const name = `review-${++servers}`
    const begun = yield* Queue.unbounded<string>()
    const timedOut = yield* Deferred.make<void>()
    const review = yield* team(name, ({ cancelled, prompt: { prompt }, reply }) =>
      Effect.gen(function* () {
        yield* Queue.offer(begun, prompt)
        yield* Deferred.await(prompt === "slow" ? timedOut : cancelled)
        yield* reply({ _tag: "Failed", message: "stopped", report })
        yield* reply({ _tag: "Failed", message: "stopped", report })
      })
    )
    const hook = yield* webhook(review, "{{text}}", { timeout_seconds: 60 })
    const waiting = yield* Effect.forkChild(
      http("POST", `${hook.path}?wait=true`, { body: { variables: { text: "slow" } } })
    )
    yield* Queue.take(begun)
    putAhead(60_000)
    const slow = yield* Fiber.join(waiting)
    expect(slow.status).toBe(408)
    yield* Deferred.succeed(timedOut, undefined)
    const patient = yield* webhook(review)
    const run = yield* http("POST", patient.path, { body: hello })
    yield* Queue.take(begun)
    yield* http("POST", `${patient.path}/runs/${run.json.run_id}/cancel`)
    for (const [status, run_id] of Object.entries({ timeout: slow.json.run_id, cancelled: run.json.run_id })) {
      const shown = yield* repeatUntil(admin("GET", `/api/runs/${run_id}`), ({ json }) => json.usage !== undefined)
      expect(shown.json).toMatchObject({ status, ...report })
      expect(shown.json).not.toHaveProperty("error")
    }
    const { text: metrics } = yield* http("GET", "/metrics")
    expect(metrics).toContain(`\nwebhook_run_tokens_total{team="${name}",kind="output"} 68\n`)
    expect(metrics).toContain(`\nwebhook_run_cost_usd_total{team="${name}"} 0.025\n`)
  })
})
