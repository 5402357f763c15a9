import { expect } from "vitest"
import { until } from "../../support/Until.ts"
import type { Cluster } from "./Cluster.ts"
import type { Handle } from "./RecordingLeader.ts"

export interface FrozenServer {
  readonly teams: ReadonlyArray<string>
  readonly handle: Handle
  /** Deliveries before the fault, by the other server during it, and after it. */
  readonly deliveries: number
  /** What else passes while the server is frozen. */
  readonly meanwhile?: () => Promise<unknown>
}

/**
 * Of two servers under load, the one that does the work of each second is frozen. The other one takes over. Limits and order
 * hold, also when the first goes on.
 */
export const freezeServer = async (cluster: Cluster, options: FrozenServer): Promise<void> => {
  const { deliveries, handle, meanwhile, teams } = options
  const env = { WEBHOOK_TIMEOUT: "300" }
  const [first, second] = [await cluster.server({ env }), await cluster.server({ env })]
  const webhooks = []
  for (const team of teams)
    webhooks.push(await cluster.webhook(first, { team, ...(team === "a" && { max_concurrent: 2 }) }))
  for (const team of teams) await cluster.leader(team, { handle })
  for (const server of [first, second]) for (const team of teams) await cluster.running(server, team)
  const more = (what: string) => {
    const before = cluster.deliveries.length
    return until(`${deliveries} deliveries ${what}`, () => cluster.deliveries.length > before + deliveries)
  }

  const stop = cluster.callers.load([second], webhooks, { lanes: 2 * teams.length, pauseMs: 20 })
  await more("before")
  first.signal("SIGSTOP")
  await more("meanwhile")
  await meanwhile?.()
  first.signal("SIGCONT")
  await first.ready()
  await more("after it")
  const calls = await stop()
  expect(calls.filter(({ mode, status }) => status !== (mode === "wait" ? 200 : 202))).toEqual([])
  const limits = { global: 20, webhooks: { [webhooks[0]!.id]: 2 } }
  const rows = await cluster.checked({ limits, limit: 90_000 })
  expect(rows.filter(({ status }) => status !== "success")).toEqual([])
}
