/** Replicas, teams, leaders and a steady load, for faults that strike at random. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Hook } from "./Callers.ts"
import type { Fault } from "./Chaos.ts"
import type { Proxy } from "./Proxy.ts"
import { answerTo } from "./RecordingLeader.ts"
import type { Replica } from "./Replica.ts"
import type { Stage } from "./Stage.ts"

export interface World {
  readonly servers: ReadonlyArray<Replica>
  readonly hooks: ReadonlyArray<Hook>
  readonly limits: { readonly global: number; readonly webhooks: Readonly<Record<string, number>> }
  readonly stop: () => Promise<unknown>
}

/** Three replicas, four teams, five webhooks, two of them with limits of their own, under load. */
export const world = async (
  stage: Stage,
  wires: { readonly broker?: Proxy; readonly database?: Proxy } = {}
): Promise<World> => {
  const env = { WEBHOOK_MAX_CONCURRENT: "6" }
  const servers = [await stage.server({ env, ...wires })]
  const first = servers[0]!
  servers.push(await stage.server({ env }), await stage.server({ env }))
  const teams = ["a", "b", "c", "d"]
  const hooks = []
  for (const team of teams) hooks.push(await stage.hook(first, { team, ...(team === "a" && { max_concurrent: 2 }) }))
  hooks.push(await stage.hook(first, { team: "b", max_concurrent: 8 }))
  for (const team of teams) {
    await stage.leader(team, {
      handle: async ({ prompt }) => {
        await sleep(Math.random() * 30)
        return answerTo(prompt)
      }
    })
  }
  for (const server of servers) for (const team of teams) await stage.running(server, team)
  const stop = stage.callers.load(servers, hooks, { lanes: 6, pauseMs: 60 })
  return { servers, hooks, limits: { global: 6, webhooks: { [hooks[0]!.id]: 2, [hooks[4]!.id]: 8 } }, stop }
}

export const killAReplica = ({ servers }: World): Fault => ({
  name: "a replica is killed",
  strike: async (random) => {
    const server = random.pick(servers)
    await server.kill()
    await sleep(random.between(0, 3000))
    await server.start()
  }
})

export const killTwoReplicas = ({ servers }: World): Fault => ({
  name: "two replicas are killed",
  strike: async (random) => {
    const spared = random.pick(servers)
    const struck = servers.filter((server) => server !== spared)
    await Promise.all(struck.map((server) => server.kill()))
    await sleep(random.between(0, 3000))
    await Promise.all(struck.map((server) => server.start()))
  }
})

export const stopAReplica = ({ servers }: World): Fault => ({
  name: "a replica is stopped",
  strike: async (random) => {
    const server = random.pick(servers)
    await server.stop()
    await sleep(random.between(0, 1000))
    await server.start()
  }
})

export const freezeAReplica = ({ servers }: World): Fault => ({
  name: "a replica is frozen",
  strike: async (random) => {
    const server = random.pick(servers)
    server.signal("SIGSTOP")
    await sleep(random.between(100, 12_000))
    server.signal("SIGCONT")
  }
})
