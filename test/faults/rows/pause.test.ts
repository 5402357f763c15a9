/** A team is paused while its servers die: nothing is sent before it is resumed, and nothing is lost. */
import { expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import { faultTest } from "../support/FaultTest.ts"

faultTest(
  "row 32: a team is paused, and its servers are killed one after the other: nothing is sent until it is resumed on one of them",
  async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single()
    const other = await cluster.server()
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const trigger = (at = server) => cluster.callers.trigger(at, webhook)
    for (let i = 0; i < 4; i++) await trigger()
    await leader.deliveries(1)
    const admitted = async () => (await cluster.storage.rows()).filter(({ admitted_at }) => admitted_at !== null).length
    // Until that is stored, another server would send it again.
    await until("it is known to be sent", async () => (await cluster.storage.rows())[0]?.sent_at !== null)

    await cluster.api(other, "POST", "/api/teams/deploy/pause")
    await trigger()
    await trigger(other)
    await server.kill()
    gate.open()
    await until("what was in flight has ended", async () => {
      const rows = await cluster.storage.rows()
      return rows.filter(({ status }) => status === "success").length === 1
    })
    await leader.stop()
    expect((await trigger(other)).status).toBe(202)
    await other.kill()
    await server.start()
    await leader.start()
    await cluster.running(server, "deploy")
    await trigger()
    expect([await admitted(), await cluster.storage.ready("team.deploy"), cluster.deliveries.length]).toEqual([1, 0, 1])

    await other.start()
    await cluster.api(other, "POST", "/api/teams/deploy/resume")
    const rows = await cluster.checked({ count: 8 })
    expect(rows.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => "success"))
  }
)
