/** The main job on a real PostgreSQL and a real RabbitMQ, over HTTP, with the built server as a process of its own. */
import { expect, vi } from "vitest"
import { row as job, type Stage } from "../faults/support/Stage.ts"
import { until } from "../faults/support/Until.ts"

vi.setConfig({ testTimeout: 180_000 })

const numbered = (count: number) => Array.from({ length: count }, (_, n) => n)

/** A leader whose work is done when the test says so. */
const gate = () => {
  let open: () => void = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, handle: ({ prompt }: { prompt: string }) => opened.then(() => `answer to ${prompt}`) }
}

const inFlight = (stage: Stage, hook?: string) =>
  stage
    .query(
      `select count(*)::int as count from webhook_trigger.runs
       where admitted_at is not null and finished_at is null ${hook ? `and webhook_id = '${hook}'` : ""}`
    )
    .then(([row]) => row?.count)

job(
  "gives a leader 200 triggers of two webhooks and chat messages in exactly their order, one at a time",
  async ({ stage }) => {
    const { server, hook, leader } = await stage.one({ max_concurrent: 1 })
    const other = await stage.hook(server, { team: hook.team, max_concurrent: 5 })
    const told: Array<string> = []
    for (const n of numbered(200)) {
      if (n % 5 === 0) {
        const message = `message ${n}`
        await stage.manage(server, "POST", `/api/teams/${hook.team}/messages`, { message }, [202])
        told.push(message)
      } else {
        const call = await stage.callers.trigger(server, n % 2 === 0 ? hook : other)
        expect(call.status).toBe(202)
        told.push(call.nonce)
      }
    }
    await leader.deliveries(200)
    expect(leader.log.map(({ prompt }) => prompt)).toEqual(told)
    await stage.checked({ count: 200, limits: { global: 20, webhooks: { [hook.id]: 1, [other.id]: 5 } } })
  }
)

job("never has more runs in flight than the global limit, and ends them all", async ({ stage }) => {
  const server = await stage.server({ env: { WEBHOOK_MAX_CONCURRENT: "3" } })
  const hooks = await Promise.all(numbered(5).map((n) => stage.hook(server, { team: `team-${n}` })))
  for (const { team } of hooks) {
    await stage.leader(team)
    await stage.running(server, team)
  }
  const calls = await Promise.all(numbered(60).map((n) => stage.callers.trigger(server, hooks[n % 5]!)))
  expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 202))
  const rows = await stage.checked({ count: 60, limits: { global: 3 } })
  expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
})

job("keeps a webhook to its own limit, and lets a raised one hold at once", async ({ stage }) => {
  const { server, hook, leader } = await stage.one({ max_concurrent: 2 })
  const { open, handle } = gate()
  leader.handle = handle
  await Promise.all(numbered(10).map(() => stage.callers.trigger(server, hook)))
  await until("two are in flight", async () => (await inFlight(stage)) === 2)
  await stage.manage(server, "PATCH", `/api/webhooks/${hook.id}`, { max_concurrent: 3 })
  await until("three are in flight", async () => (await inFlight(stage)) === 3)
  open()
  await stage.checked({ count: 10, limits: { global: 20, webhooks: { [hook.id]: 3 } } })
})

job(
  "lets a webhook reach its own limit above the global one, and holds the others to the global one",
  async ({ stage }) => {
    const { server, hook, leader } = await stage.one({ max_concurrent: 5 }, { env: { WEBHOOK_MAX_CONCURRENT: "3" } })
    const other = await stage.hook(server, { team: "other" })
    await stage.leader("other")
    await stage.running(server, "other")
    const { open, handle } = gate()
    leader.handle = handle
    await Promise.all(numbered(8).map(() => stage.callers.trigger(server, hook)))
    await until("five are in flight", async () => (await inFlight(stage)) === 5)
    const held = await stage.callers.trigger(server, other)
    expect(held.status).toBe(202)
    await until(
      "it waits in its lane",
      async () => (await stage.manage(server, "GET", "/api/teams/other")).queued === 1
    )
    open()
    await stage.checked({ count: 9, limits: { global: 3, webhooks: { [hook.id]: 5 } } })
  }
)

job("answers each of 1,000 callers who wait at once with its own answer", async ({ stage }) => {
  const server = await stage.server({ env: { WEBHOOK_TIMEOUT: "300" } })
  const hooks = await Promise.all(numbered(20).map((n) => stage.hook(server, { team: `team-${n}` })))
  for (const { team } of hooks) {
    await stage.leader(team)
    await stage.running(server, team)
  }
  const calls = await Promise.all(
    numbered(1_000).map((n) => stage.callers.trigger(server, hooks[n % 20]!, { wait: true }))
  )
  expect(calls.filter(({ status }) => status !== 200)).toEqual([])
  await stage.checked({ count: 1_000, limits: { global: 20 } })
})

job(
  "answers 408 at the deadline, frees the slot, keeps the late answer, and never sends a run that got no slot",
  async ({ stage }) => {
    // Time enough for the first to reach the leader, whatever else the machine does.
    const { server, hook, leader } = await stage.one({ timeout_seconds: 5, max_concurrent: 1 })
    const { open, handle } = gate()
    leader.handle = handle
    const [sent, unsent] = await Promise.all([
      stage.callers.trigger(server, hook, { wait: true }),
      leader.deliveries(1).then(() => stage.callers.trigger(server, hook, { wait: true }))
    ])
    expect([sent.status, unsent.status]).toEqual([408, 408])
    expect(sent.body).toEqual({ status: "timeout", run_id: leader.log[0]!.run_id })
    expect(await inFlight(stage)).toBe(0)
    const next = await stage.callers.trigger(server, hook)
    open()
    await leader.deliveries(2)
    expect(leader.log.map(({ prompt }) => prompt)).toEqual([sent.nonce, next.nonce])
    const late = `answer to ${sent.nonce}`
    await until("the late answer is kept", async () => {
      const run = await stage.manage(server, "GET", `/api/runs/${sent.body.run_id}`)
      expect(run.status).toBe("timeout")
      return run.conversation.response === late
    })
    await stage.checked({ count: 3 })
  }
)

job("finishes in order, after a stop and a start, what was queued and what was running", async ({ stage }) => {
  const { server, hook, leader } = await stage.one({}, { env: { WEBHOOK_MAX_CONCURRENT: "5" } })
  const { open, handle } = gate()
  leader.handle = handle
  const calls = await stage.callers.sequence(
    server,
    numbered(55).map(() => hook)
  )
  await until("five are in flight", async () => (await inFlight(stage)) === 5)
  await server.stop()
  open()
  await server.start()
  const rows = await stage.checked({ count: 55, limits: { global: 5 } })
  expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
  expect([...new Set(leader.log.map(({ prompt }) => prompt))]).toEqual(calls.map(({ nonce }) => nonce))
})

job("answers an unknown, malformed, replaced, deleted or disabled token with the same bytes", async ({ stage }) => {
  const { server, hook } = await stage.one()
  const make = () => stage.hook(server, { team: hook.team })
  const [replaced, deleted, disabled] = await Promise.all([make(), make(), make()])
  await stage.manage(server, "POST", `/api/webhooks/${replaced.id}/token`)
  await stage.manage(server, "DELETE", `/api/webhooks/${deleted.id}`)
  await stage.manage(server, "PATCH", `/api/webhooks/${disabled.id}`, { enabled: false })
  const answers = await Promise.all(
    [`whk_${"0".repeat(43)}`, "nonsense", replaced.token, deleted.token, disabled.token].map(async (token) => {
      const answer = await fetch(`${server.url}/webhook/trigger/${token}`, { method: "POST", body: "not json" })
      const headers = [...answer.headers].filter(([name]) => name !== "date")
      return { status: answer.status, headers, body: await answer.text() }
    })
  )
  expect(answers[0]!.status).toBe(404)
  for (const answer of answers) expect(answer).toEqual(answers[0])
})
