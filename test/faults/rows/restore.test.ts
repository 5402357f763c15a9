/** The database is restored from a backup, while the broker has gone on. */
import { join } from "node:path"
import { expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { postgresBin } from "../../support/Postgres.ts"
import { exec } from "../../support/Process.ts"
import { command } from "../../support/System.ts"
import { until } from "../../support/Until.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import type { TestServer } from "../support/TestServer.ts"

/** Runs one of PostgreSQL's programs on the database. */
const run = (name: string, url: string, ...args: ReadonlyArray<string>) => {
  const program = command(join(postgresBin()!, name), ["--dbname", url, ...args])
  return exec(program.program, [...program.args], { maxBuffer: 64 * 1024 ** 2 })
}

/** Takes a backup; what it returns stops the server and starts one on the restored backup, which sends everything again. */
const backUp = async (cluster: Cluster, server: TestServer) => {
  const url = cluster.storage.databaseUrl
  const { stdout: dump } = await run("pg_dump", url, "--inserts")
  return async () => {
    await server.kill()
    await cluster.storage.query("drop schema webhook_trigger cascade")
    // Without what only psql understands.
    await cluster.storage.query(dump.replace(/^\\.*$/gm, ""))
    await (await cluster.newServer({ env: { RESEND_RUNNING: "true" } })).start()
  }
}

faultTest("row 30: runs that were answered after the backup are sent again when told to", async ({ cluster }) => {
  const { server, webhook, leader } = await cluster.single({ max_concurrent: 1 })
  const gate = new Gate()
  leader.handle = answerWhenOpen(gate)
  await cluster.callers.sequence(server, [webhook, webhook])
  await until("one is marked as sent", async () => (await cluster.storage.rows())[0]?.status === "running")

  const restore = await backUp(cluster, server)
  gate.open()
  await cluster.storage.ended(2)
  await restore()
  const rows = await cluster.checked({ count: 2, limit: 20_000 })
  expect(rows.map(({ status }) => status)).toEqual(["success", "success"])
})

faultTest(
  "row 30: a cancelled run that its leader was done with after the backup holds no slot",
  async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single({ max_concurrent: 1, timeout_seconds: 3600 })
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    await cluster.callers.sequence(server, [webhook, webhook])
    const [first] = await leader.deliveries(1)
    await cluster.api(server, "POST", `/api/runs/${first!.run_id}/cancel`)
    const restore = await backUp(cluster, server)
    gate.open()
    await leader.deliveries(2)
    await restore()
    const rows = await cluster.storage.ended(2, 20_000)
    expect(rows.map(({ status }) => status)).toEqual(["cancelled", "success"])
  }
)
