/** Replies of 8 MiB, of one team or of nobody: other teams' callers get theirs. Prints how soon, and the server's memory. */
import { readFileSync } from "node:fs"
import { connect } from "amqplib"
import { describe, expect } from "vitest"
import { until } from "../../support/Until.ts"
import type { Call } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import { reports } from "../support/Reports.ts"
import type { TestServer } from "../support/TestServer.ts"

const long = Buffer.from(JSON.stringify({ response: "x".repeat(8 * 1024 * 1024 - 100) }))

/** Publishes to the replies' exchange; resolves when the broker has everything. */
const publisher = async (cluster: Cluster) => {
  const model = await connect(cluster.storage.amqpUrl, { noDelay: true })
  cluster.storage.onClose(() => model.close())
  const channel = await model.createConfirmChannel()
  return async (correlationIds: ReadonlyArray<string>, body = long) => {
    for (const correlationId of correlationIds) {
      const options = { type: "response", contentType: "application/json", correlationId, persistent: true }
      channel.publish("webhook.replies", "", body, options)
    }
    await channel.waitForConfirms()
  }
}

/** A run's id and its prompt's correlation id, for each run. */
type Runs = ReadonlyArray<{ readonly run_id: string; readonly correlation_id: string }>

/** Two teams on one server: `loud`, whose webhook has this timeout, and `quiet`. */
const twoTeams = async (cluster: Cluster, timeout_seconds: number) => {
  const server = await cluster.server()
  const webhooks = {
    loud: await cluster.webhook(server, { team: "loud", timeout_seconds }),
    quiet: await cluster.webhook(server, { team: "quiet" })
  }
  const loud = await cluster.leader("loud")
  await cluster.leader("quiet")
  for (const team of ["loud", "quiet"]) await cluster.running(server, team)
  /** Runs of `loud` that have ended. */
  const ended = async (count: number): Promise<Runs> => {
    const calls = await Promise.all(
      Array.from({ length: count }, () => cluster.callers.trigger(server, webhooks.loud, { wait: true }))
    )
    return calls.map(({ body }) => cluster.deliveries.find(({ run_id }) => run_id === body.run_id)!)
  }
  return { server, webhooks, loud, ended }
}

/** Replies that the server has taken from the broker and not read. */
const unread = async (server: TestServer) => (await reports(server, "ended")) + (await reports(server, "refused"))

/**
 * Calls `quiet` one after the other while `work` goes on and until `count` replies are handled without having been read, and
 * once after that. Returns how many were when each call had its answer.
 */
const callsDuring = async (
  cluster: Cluster,
  { server, webhooks }: Awaited<ReturnType<typeof twoTeams>>,
  count: number,
  work: Promise<unknown>
): Promise<ReadonlyArray<number>> => {
  const calls: Array<Call> = []
  const counts: Array<number> = []
  const call = async () => {
    calls.push(await cluster.callers.trigger(server, webhooks.quiet, { wait: true }))
    counts.push(await unread(server))
    return counts.at(-1)! >= count
  }
  await Promise.all([work, until(`${count} replies are handled without having been read`, call)])
  await call()
  expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
  return counts
}

/** The most memory that the process has had, in MB. */
const peakMemory = ({ pid }: TestServer): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024

describe("replies of 8 MiB", () => {
  faultTest(
    "that are forged, or for runs that have ended or were deleted, delay no other team",
    async ({ cluster }) => {
      const scene = await twoTeams(cluster, 60)
      const { ended, server } = scene
      const publish = await publisher(cluster)
      const answered = await ended(4)
      const deleted = await cluster.webhook(server, { team: "loud" })
      const gone = await cluster.callers.trigger(server, deleted, { wait: true })
      await cluster.api(server, "DELETE", `/api/webhooks/${deleted.id}`)
      const own = [...answered, cluster.deliveries.find(({ run_id }) => run_id === gone.body.run_id)!]
      const forged = "01900000-0000-7000-8000-000000000000"
      const ids = Array.from({ length: 12 }, (_, n) => [forged, own[n % own.length]!.correlation_id]).flat()
      await publish(ids.slice(0, 2))
      const before = peakMemory(server)

      await callsDuring(cluster, scene, 26, publish(ids))
      const counts = async () => [await reports(server, "ended"), await reports(server, "refused")]
      // More than were sent, if a connection was lost in the meantime: the broker then delivers again.
      await until("all of them are handled", async () => (await counts()).every((count) => count >= 13))
      console.log(`row 17a: ${Math.round(peakMemory(server) - before)} MB more memory for 24 replies of 8 MiB`)
      for (const { run_id } of answered) {
        const { conversation } = await cluster.api(server, "GET", `/api/runs/${run_id}`)
        expect(conversation.response.length).toBeLessThan(1_000)
      }
    }
  )

  faultTest(
    "that come late are handled once, and their beginning is kept, while other teams' callers go on",
    async ({ cluster }) => {
      const { ended, loud, server, webhooks } = await twoTeams(cluster, 1)
      loud.handle = () => new Promise(() => {})
      const [late] = await ended(1)
      await loud.crash()
      expect((await cluster.api(server, "GET", `/api/runs/${late!.run_id}`)).status).toBe("timeout")
      const publish = await publisher(cluster)
      const statuses: Array<number | undefined> = []
      const callQuiet = async () => {
        while (statuses.length < 10) {
          statuses.push((await cluster.callers.trigger(server, webhooks.quiet, { wait: true })).status)
        }
      }
      await Promise.all([publish(Array.from({ length: 10 }, () => late!.correlation_id)), callQuiet()])
      expect(statuses).toEqual(Array(10).fill(200))
      await until("the beginning is stored", async () => {
        const { conversation } = await cluster.api(server, "GET", `/api/runs/${late!.run_id}`)
        return conversation.response === "x".repeat(65_536)
      })
    }
  )
})
