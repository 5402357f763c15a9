/** The server dies at the worst moments: nothing that was accepted is lost, nothing is done twice. */
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import { faultTest } from "../support/FaultTest.ts"

// Side by side: most of the time passes in waits.
describe.concurrent("when the server is killed", () => {
  faultTest(
    "row 2: after the commit, before its calls are answered, all runs are sent after the restart",
    async ({ cluster }) => {
      const { server, webhook } = await cluster.single()
      await server.at("accepted", "kill", 3)
      await Promise.all([0, 1, 2, 3, 4].map(() => cluster.callers.trigger(server, webhook)))
      await server.exited()
      const accepted = await cluster.storage.rows()
      // Calls that arrive together are committed together: more may be there than were counted at the checkpoint.
      expect(accepted.length).toBeGreaterThanOrEqual(3)

      await server.start()
      const rows = await cluster.checked({ count: accepted.length })
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
      expect(new Set(cluster.deliveries.map(({ run_id }) => run_id)).size).toBe(rows.length)
    }
  )

  faultTest("row 4: while 50 callers wait, the leader answers and all runs end", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single()
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const waiting = Array.from({ length: 50 }, () => cluster.callers.trigger(server, webhook, { wait: true }))
    await until("50 callers wait", async () => (await cluster.storage.rows()).length === 50)
    await leader.deliveries(1)
    await server.kill()
    gate.open()
    const calls = await Promise.all(waiting)
    expect(calls.filter(({ broken }) => broken !== undefined)).toHaveLength(50)

    await server.start()
    const rows = await cluster.checked({ count: 50, limits: { global: 20 } })
    expect(rows.filter(({ status }) => status === "success")).toHaveLength(50)
  })

  faultTest(
    "row 5: and the others too, what leaders answer in the meantime is recorded after the restart",
    async ({ cluster }) => {
      const one = await cluster.server()
      const two = await cluster.server()
      const gate = new Gate()
      const teams = ["a", "b", "c", "d", "e"]
      const webhooks = await Promise.all(teams.map((team) => cluster.webhook(one, { team })))
      const leaders = await Promise.all(teams.map((team) => cluster.leader(team, { handle: answerWhenOpen(gate) })))
      await Promise.all(teams.map((team) => cluster.running(one, team)))
      const calls = await Promise.all(webhooks.map((webhook, n) => cluster.callers.trigger(n % 2 ? one : two, webhook)))
      expect(calls.map(({ status }) => status)).toEqual(teams.map(() => 202))
      await leaders[0]!.deliveries(5)
      await until("all runs are marked as sent", async () =>
        (await cluster.storage.rows()).every(({ status }) => status === "running")
      )
      await Promise.all([one.kill(), two.kill()])
      gate.open()
      await until("the broker has taken all answers", () =>
        cluster.deliveries.every(({ acknowledgedAt }) => acknowledgedAt !== undefined)
      )

      await two.start()
      const rows = await cluster.checked({ count: 5 })
      expect(rows.map(({ status }) => status)).toEqual(teams.map(() => "success"))
      expect(cluster.deliveries).toHaveLength(5)
    }
  )

  faultTest(
    "row 44: after a chained run was accepted, before its delivery says so, it is the only one",
    async ({ cluster }) => {
      const { server, webhook } = await cluster.single()
      await cluster.leader("next")
      const draft = { name: "Next", team: "next", prompt_template: "Go on: {{response}}" }
      await cluster.api(server, "POST", "/api/teams", { team: "next" }, [201])
      const next = (await cluster.api(server, "POST", "/api/webhooks", draft, [201])).webhook
      await cluster.running(server, "next")
      const path = `/api/webhooks/${webhook.id}`
      await cluster.api(server, "POST", `${path}/destinations`, { kind: "chain", target: next.id }, [201])
      // The second run that is accepted is the chained one.
      await server.at("accepted", "kill", 2)
      await cluster.callers.trigger(server, webhook)
      await server.exited()
      const [first, chained, ...more] = await cluster.storage.rows()
      expect([chained?.webhook_id, more]).toEqual([next.id, []])

      await server.start()
      // What the killed server had taken would be due a minute later.
      await cluster.storage.query("update webhook_trigger.deliveries set claimed_until = null")
      const delivery = await until("it is delivered", async () => {
        const [latest] = (await cluster.api(server, "GET", `${path}/deliveries`)).data
        return latest?.status === "delivered" && latest
      })
      expect(delivery).toMatchObject({ run_id: first!.id })
      expect(delivery.attempts.at(-1)).toMatchObject({ http_status: 202, started_run: chained!.id })
      const rows = await cluster.storage.ended(2)
      expect(rows.map(({ id, status }) => [id, status])).toEqual([first, chained].map((row) => [row!.id, "success"]))
    }
  )
})
