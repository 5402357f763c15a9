/**
 * `npm run soak -- <minutes> [seed]`: random faults of every kind, in everything there is, under load, for as long as one
 * likes; then the same checker. Not part of `npm test`.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { type Fault, strike } from "./support/Chaos.ts"
import { privateServices, Stage } from "./support/Stage.ts"
import { freezeAReplica, killAReplica, killTwoReplicas, stopAReplica, world } from "./support/World.ts"

const minutes = Number(process.env.SOAK_MINUTES ?? 10)
const seed = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 32))

test(`${minutes} minutes of random faults`, { timeout: minutes * 60_000 + 600_000 }, async ({
  onTestFailed,
  onTestFinished
}) => {
  console.log(`soak: ${minutes} minutes with seed ${seed}; again: npm run soak -- ${minutes} ${seed}`)
  const { services, postgres, rabbitmq, close } = await privateServices({ postgres: true, rabbitmq: true })
  onTestFinished(close)
  const stage = await Stage.open(services)
  onTestFinished(() => stage.close())
  onTestFailed(() => console.error(stage.lastWords))
  const wires = { broker: await stage.proxy("broker"), database: await stage.proxy("database") }
  const all = await world(stage, wires)

  const again = (name: string, end: () => Promise<void>, start: () => Promise<void>): Fault => ({
    name,
    strike: async (random) => {
      await end()
      await sleep(random.between(0, 5000))
      await start()
    }
  })
  const frozen = (name: string, what: { readonly pause: () => void; readonly resume: () => void }): Fault => ({
    name,
    strike: async (random) => {
      what.pause()
      await sleep(random.between(100, 20_000))
      what.resume()
    }
  })
  const faults: ReadonlyArray<Fault> = [
    killAReplica(all),
    killAReplica(all),
    killTwoReplicas(all),
    stopAReplica(all),
    freezeAReplica(all),
    again("the broker is stopped", rabbitmq.stop, rabbitmq.start),
    again("the broker is killed", rabbitmq.kill, rabbitmq.start),
    frozen("the broker is frozen", rabbitmq),
    again("PostgreSQL crashes", postgres.crash, postgres.start),
    again("PostgreSQL is stopped", postgres.stop, postgres.start),
    frozen("PostgreSQL is frozen", postgres),
    {
      name: "a leader dies",
      strike: async (random) => {
        const leader = random.pick(stage.leaders)
        await leader.crash()
        await sleep(random.between(0, 3000))
        await leader.start()
      }
    },
    {
      name: "a team's queue is deleted",
      strike: async (random) => {
        await stage.broker("DELETE", `/api/queues/<vhost>/team.${random.pick(["a", "b", "c", "d"])}`)
      }
    },
    ...Object.entries(wires).flatMap(
      ([name, wire]): ReadonlyArray<Fault> => [
        { name: `the first replica's ${name} connections are reset`, strike: async () => wire.reset() },
        { name: `the first replica's ${name} connections go silent`, strike: async () => wire.silence("present") },
        {
          name: `the first replica's ${name} is slow`,
          strike: async (random) => {
            wire.delay(random.between(10, 300))
            await sleep(5000)
            wire.delay(0)
          }
        }
      ]
    )
  ]
  const log = await strike(faults, { seed, ms: minutes * 60_000, pauseMs: [500, 8000] })
  await all.stop()
  console.log(log.join("\n"))
  const rows = await stage.checked({ limits: all.limits, settleMs: 180_000, executions: "at least once" })
  console.log(`soak: ${log.length} faults, ${stage.callers.calls.length} calls, ${rows.length} runs`)
  expect(rows.length).toBeGreaterThan(0)
})
