import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import { faultTest } from "../support/FaultTest.ts"

describe.concurrent("a server that stops", () => {
  faultTest("answers callers who wait, refuses new triggers with 503, and is not ready", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single({}, { env: { SHUTDOWN_GRACE: "30" } })
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const waiting = [1, 2, 3].map(() => cluster.callers.trigger(server, webhook, { wait: true }))
    await until("three callers wait", async () => (await cluster.storage.rows()).length === 3)
    server.signal("SIGTERM")
    await until("it is not ready", async () => (await server.health("ready")) === 503)
    const refused = await cluster.callers.trigger(server, webhook)
    expect(refused).toMatchObject({ status: 503, body: { code: "unavailable" } })
    expect(refused.retryAfter).toMatch(/^\d+$/)
    gate.open()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200])
    await server.exited()
    await cluster.checked({ count: 3, refusalsLeaveNothing: true })
  })

  faultTest(
    "answers 503 with the run's id at the end of the grace, and the run ends after the restart",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single({}, { env: { SHUTDOWN_GRACE: "1" } })
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      const waiting = [1, 2, 3].map(() => cluster.callers.trigger(server, webhook, { wait: true }))
      await until("three callers wait", async () => (await cluster.storage.rows()).length === 3)
      await server.stop()
      const calls = await Promise.all(waiting)
      expect(calls.map(({ status }) => status)).toEqual([503, 503, 503])
      expect(new Set(calls.map(({ body }) => body.run_id))).toEqual(
        new Set((await cluster.storage.rows()).map(({ id }) => id))
      )
      gate.open()
      await server.start()
      const rows = await cluster.checked({ count: 3 })
      expect(rows.map(({ status }) => status)).toEqual(["success", "success", "success"])
    }
  )
})
