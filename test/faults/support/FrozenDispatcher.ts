import { expect } from "vitest"
import { until } from "../../support/Until.ts"
import type { Cluster } from "./Cluster.ts"
import type { Handle } from "./RecordingLeader.ts"
import { dispatcherFirst } from "./TestServer.ts"

export interface FrozenDispatcher {
  readonly teams: ReadonlyArray<string>
  readonly handle: Handle
  /** Deliveries before the fault, by the other server during it, and after it. */
  readonly deliveries: number
  /** What else passes while the server is frozen. */
  readonly meanwhile?: () => Promise<unknown>
}

/**
 * Of two servers under load, the one that sends the prompts is frozen. The other one takes over. The first sends nothing more
 * when it goes on: limits and order hold.
 */
export const replaceFrozenDispatcher = async (cluster: Cluster, options: FrozenDispatcher): Promise<void> => {
  const { deliveries, handle, meanwhile, teams } = options
  const env = { WEBHOOK_TIMEOUT: "300" }
  const servers = await Promise.all([cluster.server({ env }), cluster.server({ env })])
  const webhooks = []
  for (const team of teams)
    webhooks.push(await cluster.webhook(servers[0], { team, ...(team === "a" && { max_concurrent: 2 }) }))
  for (const team of teams) await cluster.leader(team, { handle })
  for (const server of servers) for (const team of teams) await cluster.running(server, team)
  const more = (what: string) => {
    const before = cluster.deliveries.length
    return until(`${deliveries} deliveries ${what}`, () => cluster.deliveries.length > before + deliveries)
  }

  const [first, second] = await dispatcherFirst(...servers)
  const stop = cluster.callers.load([second], webhooks, { lanes: 2 * teams.length, pauseMs: 20 })
  await more("before")
  const dispatches = second.dispatches()
  first.signal("SIGSTOP")
  await until("the other one sends the prompts", () => second.dispatches() > dispatches)
  await more("meanwhile")
  await meanwhile?.()
  const noticed = () => first.output().split("Another process sends the prompts now").length
  const before = noticed()
  first.signal("SIGCONT")
  await until("the first knows that it is not the sender any more", () => noticed() > before)
  await more("after it")
  const calls = await stop()
  expect(calls.filter(({ mode, status }) => status !== (mode === "wait" ? 200 : 202))).toEqual([])
  const limits = { global: 20, webhooks: { [webhooks[0]!.id]: 2 } }
  const rows = await cluster.checked({ limits, limit: 90_000 })
  expect(rows.filter(({ status }) => status !== "success")).toEqual([])
}
