/** Two servers, one of which is killed each time that webhooks are due: each time of a schedule starts one run. */
import { expect } from "vitest"
import { until } from "../../support/Until.ts"
import { faultTest } from "../support/FaultTest.ts"

const teams = ["a", "b", "c", "d", "e"]
const webhooksOfTeam = 10
const times = 10

faultTest(
  "row 46: of two servers, one is killed while 50 webhooks are due, 10 times: each time starts one run of each",
  async ({ cluster }) => {
    const servers = [await cluster.server(), await cluster.server()]
    for (const team of teams) {
      await cluster.leader(team)
      for (let n = 0; n < webhooksOfTeam; n++) {
        const schedule = "0 0 1 1 *"
        await cluster.webhook(servers[0]!, { team, schedule, prompt_template: "{{scheduled_at}}" })
      }
      await cluster.running(servers[0]!, team)
    }
    const due = "select id from webhook_trigger.webhooks where next_scheduled_at < now()"
    for (let time = 1; time <= times; time++) {
      const victim = servers[time % servers.length]!
      await cluster.storage.query(
        `update webhook_trigger.webhooks set next_scheduled_at = date_trunc('day', now()) - interval '1 day' * ${time}`
      )
      await until("some have begun", async () => (await cluster.storage.query(due)).length < 45, 30_000)
      await victim.kill()
      await until("all have begun", async () => (await cluster.storage.query(due)).length === 0, 60_000)
      await victim.start()
    }
    const runs = await cluster.storage.query(
      "select count(*)::int as runs, count(distinct (webhook_id, prompt))::int as times from webhook_trigger.runs"
    )
    const all = teams.length * webhooksOfTeam * times
    expect(runs).toEqual([{ runs: all, times: all }])
    await cluster.storage.ended(all)
  }
)
