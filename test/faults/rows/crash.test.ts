/** The server dies at the worst moments: nothing that was accepted is lost, nothing is done twice. */
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import { faultTest } from "../support/FaultTest.ts"

// Side by side: most of the time passes until a killed server's lease has ended.
describe.concurrent("when the server is killed", () => {
  faultTest("row 1: before the commit, no row, no message and no 202 is left", async ({ cluster }) => {
    const { server, webhook } = await cluster.single()
    await server.at("accept", "kill")
    const lost = await cluster.callers.trigger(server, webhook)
    await server.exited()
    expect(lost.status).toBeUndefined()
    // Which of the two the operating system reports depends on what it had sent before the process ended.
    expect(lost.broken).toMatch(/socket hang up|ECONNRESET/)
    expect(await cluster.storage.rows()).toEqual([])

    await server.start()
    await cluster.running(server, webhook.team)
    const next = await cluster.callers.trigger(server, webhook)
    expect(next.status).toBe(202)
    await cluster.checked({ count: 1, refusalsLeaveNothing: true })
    expect(cluster.deliveries.map(({ prompt }) => prompt)).toEqual([next.nonce])
  })

  // Runs are admitted in groups, so the first time may be the last.
  for (const [point, times] of [
    ["accepted", 3],
    ["admitted", 1]
  ] as const) {
    faultTest(
      `row 2: after the commit, before publishing (at "${point}"), all runs are sent after the restart`,
      async ({ cluster }) => {
        const { server, webhook } = await cluster.single()
        await server.at(point, "kill", times)
        const calls = [0, 1, 2, 3, 4].map(() => cluster.callers.trigger(server, webhook))
        await server.exited()
        await Promise.all(calls)
        const accepted = await cluster.storage.rows()
        // Calls that arrive together are committed together: more may be there than were counted at the checkpoint.
        expect(accepted.length).toBeGreaterThanOrEqual(times)

        await server.start()
        const rows = await cluster.checked({ count: accepted.length })
        expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
        expect(new Set(cluster.deliveries.map(({ run_id }) => run_id)).size).toBe(rows.length)
      }
    )
  }

  faultTest(
    "row 3: after the confirmed publish, before it is recorded, the prompt is sent twice and executed once",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single()
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      await server.at("published", "kill")
      const call = await cluster.callers.trigger(server, webhook)
      await server.exited()
      await leader.deliveries(1)
      expect((await cluster.storage.rows())[0]).toMatchObject({ status: "queued", sent_at: null })

      await server.start()
      await until("the prompt was sent again", async () => (await cluster.storage.ready("team.deploy")) === 1)
      gate.open()
      const rows = await cluster.checked({ count: 1, limits: { global: 20 } })
      expect(rows[0]).toMatchObject({ status: "success", prompt: call.nonce })
      const [first, second] = await leader.deliveries(2)
      expect(second).toMatchObject({ run_id: first!.run_id, executed: false, redelivered: false })
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
    "row 6: after the reply's commit, before its acknowledgement, the repeated reply changes nothing",
    async ({ cluster }) => {
      const { server, webhook } = await cluster.single()
      await server.at("ended", "kill")
      const waiting = cluster.callers.trigger(server, webhook, { wait: true })
      await server.exited()
      await waiting
      const [before] = await cluster.storage.rows()
      expect(before).toMatchObject({ status: "success" })
      await until(
        "the reply is back in its queue",
        async () => (await cluster.storage.ready("webhook.replies.inbox")) === 1
      )

      await server.start()
      await until("the reply is acknowledged", async () => (await cluster.storage.ready("webhook.replies.inbox")) === 0)
      const after = await cluster.callers.trigger(server, webhook, { wait: true })
      expect(after.status).toBe(200)
      const rows = await cluster.checked({ count: 2 })
      expect(rows[0]).toEqual(before)
      expect(cluster.deliveries).toHaveLength(2)
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
      const deliveries = async () => (await cluster.api(server, "GET", `${path}/deliveries`)).data
      const [delivery] = await until(
        "it is delivered",
        async () => {
          const all = await deliveries()
          return all[0]?.status === "delivered" && all
        },
        100_000
      )
      expect(delivery).toMatchObject({ run_id: first!.id })
      expect(delivery.attempts.at(-1)).toMatchObject({ http_status: 202, started_run: chained!.id })
      const rows = await cluster.storage.ended(2)
      expect(rows.map(({ id, status }) => [id, status])).toEqual([first, chained].map((row) => [row!.id, "success"]))
    }
  )
})

describe("when the caller disconnects", () => {
  faultTest("row 19: at each checkpoint, the run goes on and its slot is freed", async ({ cluster }) => {
    const { server, webhook } = await cluster.single({ max_concurrent: 1 })
    for (const point of ["accept", "accepted", "admitted", "published", "ended"] as const) {
      for (const wait of [false, true]) {
        await server.at(point, "hold")
        const disconnect = new AbortController()
        const call = cluster.callers.trigger(server, webhook, { wait, signal: disconnect.signal })
        await server.held(point)
        disconnect.abort()
        await call
        await server.release(point)
        const next = await cluster.callers.trigger(server, webhook, { wait: true })
        expect(next, `after a disconnect at "${point}", wait ${wait}`).toMatchObject({ status: 200 })
      }
    }
    // Before the commit a disconnect may leave no run; from then on it must.
    const rows = await cluster.checked({ limits: { global: 20, webhooks: { [webhook.id]: 1 } } })
    expect(rows.length).toBeGreaterThanOrEqual(18)
    expect(rows.every(({ status }) => status === "success")).toBe(true)
  })
})
