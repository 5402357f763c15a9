/** Failed runs are replayed on two servers at once, one of which dies, while new runs arrive. */
import { expect } from "vitest"
import { until } from "../../support/Until.ts"
import { faultTest } from "../support/FaultTest.ts"

/** Fails for want of a row, if a run was replayed twice. */
const countReplays = `
  select count(replay_of)::int as replays from webhook_trigger.runs
  having count(replay_of) = count(distinct replay_of)`

const count = 1_000

faultTest(
  "row 33: 1,000 failed runs are replayed by a double click on two servers, of which the first is killed, while new ones arrive",
  async ({ cluster }) => {
    const first = await cluster.server()
    const second = await cluster.server()
    const draft = { team: "deploy", max_concurrent: 3, when_team_stopped: "queue", queue_for_seconds: 1 } as const
    const webhook = await cluster.webhook(first, draft)
    const others = await cluster.webhook(first, { team: "deploy" })
    // They end as errors, because no leader comes in time.
    const trigger = (n: number) => cluster.callers.trigger(n % 2 ? first : second, webhook)
    for (let n = 0; n < count; n += 50) await Promise.all(Array.from({ length: 50 }, (_, i) => trigger(n + i)))
    const failed = await cluster.storage.ended(count)
    expect(failed.map(({ status, error_code }) => [status, error_code])).toEqual(
      failed.map(() => ["error", "team_not_running"])
    )
    await cluster.api(first, "PATCH", `/api/webhooks/${webhook.id}`, {
      queue_for_seconds: null,
      prompt_template: "again {{nonce}}"
    })
    await cluster.leader("deploy")
    await cluster.running(first, "deploy")
    const stopLoad = cluster.callers.load([first, second], [others], { lanes: 2, waiters: 0 })

    const click = (server: { readonly url: string }) =>
      cluster.api(server, "POST", "/api/runs/replay", { webhook_id: webhook.id }, [200], { "idempotency-key": "click" })
    const replays = async () => Number((await cluster.storage.query(countReplays))[0]!.replays)
    const clicks = [click(first).catch(() => undefined), click(second).catch(() => undefined)]
    await until("some are replayed", async () => (await replays()) >= count / 10)
    await first.kill()
    await Promise.all(clicks)
    const answer = await click(second)
    await stopLoad()

    expect([answer.matched, answer.replayed.length, answer.refused]).toEqual([count, count, []])
    expect(answer.replayed.map((run: any) => run.replay_of)).toEqual(failed.map(({ id }) => id))
    expect(await replays()).toBe(count)
    const rows = await cluster.checked({ limits: { global: 20, webhooks: { [webhook.id]: 3 } } })
    const delivered = cluster.deliveries.filter(({ executed, prompt }) => executed && prompt.startsWith("again "))
    const repeated = rows.filter(({ prompt }) => prompt.startsWith("again "))
    expect(repeated.map(({ status }) => status)).toEqual(repeated.map(() => "success"))
    expect(delivered.map(({ run_id }) => run_id)).toEqual(repeated.map(({ id }) => id))
    expect(repeated.map(({ id }) => id)).toEqual(answer.replayed.map((run: any) => run.run_id))
    const counted = await cluster.api(second, "GET", `/api/webhooks/${webhook.id}/statistics`)
    const sum = (status: string) => counted.buckets.reduce((total: number, bucket: any) => total + bucket[status], 0)
    expect([sum("error"), sum("success"), counted.slots_in_use]).toEqual([count, count, 0])
  }
)
