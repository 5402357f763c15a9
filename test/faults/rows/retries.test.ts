/** Failed runs are tried again while the servers die: each once. */
import { expect } from "vitest"
import { until } from "../../support/Until.ts"
import { answerTo } from "../support/Answers.ts"
import { faultTest } from "../support/FaultTest.ts"

faultTest(
  "row 35: failed runs wait to be tried again while their server is killed, and again while it does so: each is, once",
  async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single({ retries: { max_retries: 1, backoff_seconds: 2 } })
    const failed = new Set<string>()
    leader.handle = ({ prompt }) => {
      if (failed.has(prompt)) return answerTo(prompt)
      failed.add(prompt)
      return { error: "no disk" }
    }
    const triggers = 40
    await Promise.all(Array.from({ length: triggers }, () => cluster.callers.trigger(server, webhook)))
    const count = async (which: "retry_at" | "retried_by") => {
      const [row] = await cluster.storage.query(`select count(${which})::int as runs from webhook_trigger.runs`)
      return Number(row!.runs)
    }
    await until("a run waits to be tried again", async () => (await count("retry_at")) > 0)
    await server.kill()
    const other = await cluster.newServer()
    await Promise.all([server.start(), other.start()])
    await until("a run was tried again", async () => (await count("retried_by")) > 0)
    await server.kill()
    await until("all were tried again", async () => (await count("retried_by")) === triggers)

    const rows = await cluster.storage.ended(2 * triggers)
    expect(rows).toHaveLength(2 * triggers)
    const ended = (status: string) => rows.filter((row) => row.status === status)
    const prompts = (status: string) => ended(status).map(({ prompt }) => prompt)
    expect(prompts("success").toSorted()).toEqual(prompts("error").toSorted())
    expect(new Set(prompts("error")).size).toBe(triggers)
    // A retry has the prompt of the run before, by which deliveries are told apart: the promises are checked of either.
    for (const status of ["error", "success"]) {
      const ids = new Set(ended(status).map(({ id }) => id))
      await cluster.checked({ deliveries: cluster.deliveries.filter(({ run_id }) => ids.has(run_id)) })
    }
  }
)
