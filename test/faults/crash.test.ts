/** The server dies at the worst steps: nothing that was accepted is lost, nothing is done twice. */
import { describe, expect, vi } from "vitest"
import type { Call } from "./support/Callers.ts"
import { Gate } from "./support/Gate.ts"
import { answerTo } from "./support/RecordingLeader.ts"
import { row } from "./support/Stage.ts"
import { until } from "./support/Until.ts"

vi.setConfig({ testTimeout: 180_000 })

describe("the server is killed", () => {
  row("row 1: before the commit: no row, no message, no 202", async ({ stage }) => {
    const { server, hook } = await stage.one()
    await server.arm("accept", "kill")
    const lost = await stage.callers.trigger(server, hook)
    await server.exited()
    expect(lost.status).toBeUndefined()
    expect(lost.broken).toBeDefined()
    expect(await stage.rows()).toEqual([])

    await server.start()
    await stage.running(server, hook.team)
    const next = await stage.callers.trigger(server, hook)
    expect(next.status).toBe(202)
    await stage.checked({ count: 1, refusalsLeaveNothing: true })
    expect(stage.deliveries.map(({ prompt }) => prompt)).toEqual([next.nonce])
  })

  // Runs are admitted together, so the first time may be the last.
  for (const [point, times] of [
    ["accepted", 3],
    ["admitted", 1]
  ] as const) {
    row(`row 2: after the commit, before publishing (at "${point}"): sent after the restart`, async ({ stage }) => {
      const { server, hook } = await stage.one()
      await server.arm(point, "kill", times)
      const calls = [0, 1, 2, 3, 4].map(() => stage.callers.trigger(server, hook))
      await server.exited()
      await Promise.all(calls)
      const accepted = await stage.rows()
      expect(accepted.length).toBeGreaterThanOrEqual(times)

      await server.start()
      const rows = await stage.checked({ count: accepted.length })
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
      expect(new Set(stage.deliveries.map(({ run_id }) => run_id)).size).toBe(rows.length)
    })
  }

  row("row 3: after the confirmed publish, before it is recorded: sent twice, executed once", async ({ stage }) => {
    const { server, hook, leader } = await stage.one()
    const gate = new Gate()
    leader.handle = async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    }
    await server.arm("published", "kill")
    const call = await stage.callers.trigger(server, hook)
    await server.exited()
    await leader.deliveries(1)
    expect((await stage.rows())[0]).toMatchObject({ status: "queued", sent_at: null })

    await server.start()
    await until("the prompt was sent again", async () => (await stage.ready("team.deploy")) === 1)
    gate.open()
    const rows = await stage.checked({ count: 1, limits: { global: 20 } })
    expect(rows[0]).toMatchObject({ status: "success", prompt: call.nonce })
    const [first, second] = await leader.deliveries(2)
    expect(second).toMatchObject({ run_id: first!.run_id, executed: false, redelivered: false })
  })

  row("row 4: while 50 callers wait: the leader answers, and all runs end", async ({ stage }) => {
    const { server, hook, leader } = await stage.one()
    const gate = new Gate()
    leader.handle = async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    }
    const waiting = Array.from({ length: 50 }, () => stage.callers.trigger(server, hook, { wait: true }))
    await until("50 callers wait", async () => (await stage.rows()).length === 50)
    await leader.deliveries(1)
    await server.kill()
    gate.open()
    const calls = await Promise.all(waiting)
    expect(calls.filter(({ broken }) => broken !== undefined)).toHaveLength(50)

    await server.start()
    const rows = await stage.checked({ count: 50, limits: { global: 20 } })
    expect(rows.filter(({ status }) => status === "success")).toHaveLength(50)
  })

  row("row 5: every server is down while the leader answers: the answers are recorded later", async ({ stage }) => {
    const one = await stage.server()
    const two = await stage.server()
    const gate = new Gate()
    const teams = ["a", "b", "c", "d", "e"]
    const hooks = await Promise.all(teams.map((team) => stage.hook(one, { team })))
    const leaders = await Promise.all(
      teams.map((team) =>
        stage.leader(team, {
          handle: async ({ prompt }) => {
            await gate.opened
            return answerTo(prompt)
          }
        })
      )
    )
    await Promise.all(teams.map((team) => stage.running(one, team)))
    const calls = await Promise.all(hooks.map((hook, n) => stage.callers.trigger(n % 2 ? one : two, hook)))
    expect(calls.map(({ status }: Call) => status)).toEqual(teams.map(() => 202))
    await leaders[0]!.deliveries(5)
    await until("all are known to be sent", async () =>
      (await stage.rows()).every(({ status }) => status === "running")
    )
    await Promise.all([one.kill(), two.kill()])
    gate.open()
    await until("the broker has taken all answers", () =>
      stage.deliveries.every(({ done_at }) => done_at !== undefined)
    )

    await two.start()
    const rows = await stage.checked({ count: 5 })
    expect(rows.map(({ status }) => status)).toEqual(teams.map(() => "success"))
    expect(stage.deliveries).toHaveLength(5)
  })

  row("row 6: after the reply's commit, before its ack: the repeated reply changes nothing", async ({ stage }) => {
    const { server, hook } = await stage.one()
    await server.arm("ended", "kill")
    const waiting = stage.callers.trigger(server, hook, { wait: true })
    await server.exited()
    await waiting
    const [before] = await stage.rows()
    expect(before).toMatchObject({ status: "success" })
    await until("the reply is back in its queue", async () => (await stage.ready("webhook.replies")) === 1)

    await server.start()
    await until("the reply is acknowledged", async () => (await stage.ready("webhook.replies")) === 0)
    const after = await stage.callers.trigger(server, hook, { wait: true })
    expect(after.status).toBe(200)
    const rows = await stage.checked({ count: 2 })
    expect(rows[0]).toEqual(before)
    expect(stage.deliveries).toHaveLength(2)
  })
})

describe("the caller disconnects", () => {
  row("row 19: at each race point: the run goes on, and its slot comes back", async ({ stage }) => {
    const { server, hook } = await stage.one({ max_concurrent: 1 })
    for (const point of ["accept", "accepted", "admitted", "published", "ended"] as const) {
      for (const wait of [false, true]) {
        await server.arm(point, "hold")
        const gone = new AbortController()
        const call = stage.callers.trigger(server, hook, { wait, signal: gone.signal })
        await server.held(point)
        gone.abort()
        await call
        await server.release(point)
        const next = await stage.callers.trigger(server, hook, { wait: true })
        expect(next, `after a disconnect at "${point}", wait ${wait}`).toMatchObject({ status: 200 })
      }
    }
    // Before the commit a disconnect may leave no run; from then on it must.
    const rows = await stage.checked({ limits: { global: 20, webhooks: { [hook.id]: 1 } } })
    expect(rows.length).toBeGreaterThanOrEqual(18)
    expect(rows.every(({ status }) => status === "success")).toBe(true)
  })
})
