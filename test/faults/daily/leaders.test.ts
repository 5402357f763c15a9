/** Leaders that are killed at work, and prompts that are lost: each fault once, in its smallest form. */
import { describe, expect } from "vitest"
import { until } from "../../support/Until.ts"
import { answerTo } from "../support/Answers.ts"
import { faultTest } from "../support/FaultTest.ts"
import { HttpLeader } from "../support/HttpLeader.ts"
import { measured } from "../support/Measured.ts"
import { teamQueue } from "../support/TeamQueue.ts"

// Side by side: most of the time passes in waits for timeouts.
describe.concurrent("a leader", () => {
  faultTest(
    "row 14: killed three times while it works gets the same prompt first, and the order holds",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single()
      let deaths = 0
      const unfinished = new Promise<string>(() => {})
      leader.handle = ({ prompt }) => (deaths < 3 ? unfinished : answerTo(prompt))
      const calls = await cluster.callers.sequence(server, [webhook, webhook, webhook, webhook])
      while (deaths < 3) {
        await leader.deliveries(deaths + 1)
        await leader.crash()
        deaths++
        await leader.start()
      }
      await cluster.checked({ count: 4, executions: "at least once" })
      const [a, b, c, d] = calls.map(({ nonce }) => nonce)
      // What is sent again, as by a slow server, gets the remembered answer.
      const executed = cluster.deliveries.filter((delivery) => delivery.executed)
      expect(executed.map(({ prompt }) => prompt)).toEqual([a, a, a, a, b, c, d])
      const redelivered = executed.map((delivery) => delivery.redelivered)
      expect(redelivered).toEqual([false, true, true, true, false, false, false])
    }
  )

  faultTest("row 37: over HTTP is killed at work, and its standby gets the same prompt first", async ({ cluster }) => {
    const servers = await Promise.all([cluster.server(), cluster.server()])
    const webhook = await cluster.webhook(servers[0], { team: "deploy", when_team_stopped: "queue" })
    const leaders = []
    for (const name of ["one", "other"]) leaders.push(await HttpLeader.start(cluster, servers, webhook.team, name))
    let isFirst = true
    for (const leader of leaders) {
      leader.handle = async ({ prompt }) => {
        if (!isFirst) return answerTo(prompt)
        isFirst = false
        return new Promise(() => {})
      }
    }
    await cluster.callers.sequence(servers[0], [webhook, webhook, webhook])
    const [given] = await leaders[0]!.deliveries(1)
    const crashedAt = performance.now()
    const [crashed, standby] = given!.leader === "one" ? ["one", "other"] : ["other", "one"]
    await leaders[crashed === "one" ? 0 : 1]!.crash()
    const rows = await cluster.checked({ count: 3, overlaps: leaders.flatMap(({ overlaps }) => overlaps) })
    measured("row 37: from the crash until the standby had the prompt", cluster.deliveries[1]!.at - crashedAt)
    const prompts = rows.map(({ prompt }) => prompt)
    expect(cluster.deliveries.map(({ leader, prompt, redelivered }) => [leader, prompt, redelivered])).toEqual([
      [crashed, prompts[0], false],
      [standby, prompts[0], true],
      [standby, prompts[1], false],
      [standby, prompts[2], false]
    ])
    expect(rows.map(({ response }) => response)).toEqual(prompts.map(answerTo))
  })

  faultTest("row 26: is away while its queue is purged, and gets the prompt again", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single()
    leader.handle = "never"
    const calls = await cluster.callers.sequence(server, [webhook, webhook])
    await leader.deliveries(1)
    await until("it is marked as sent", async () => (await cluster.storage.rows())[0]?.status === "running")
    await leader.crash()
    const queue = teamQueue(webhook.team)
    await until("the prompt is back", async () => (await cluster.storage.ready(queue)) > 0)
    await cluster.storage.purgeQueue(queue)
    await until("it is sent again", async () => (await cluster.storage.ready(queue)) > 0)
    await cluster.leader(webhook.team)
    const rows = await cluster.storage.ended(2)
    expect(rows.map(({ status }) => status)).toEqual(["success", "success"])
    const executed = cluster.deliveries.filter((delivery) => delivery.executed)
    expect([...new Set(executed.map(({ prompt }) => prompt))]).toEqual(calls.map(({ nonce }) => nonce))
    expect(server.output()).toContain("it is sent again")
  })
})
