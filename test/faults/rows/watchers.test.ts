/** Followers of a run, behind a balancer over several servers. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { Balancer } from "../support/Balancer.ts"
import { faultTest } from "../support/FaultTest.ts"
import { Watcher } from "../support/Watcher.ts"

const linesOf = (text: string): ReadonlyArray<number> => text.split("\n").filter(Boolean).map(Number)

describe("watchers of a run", () => {
  faultTest(
    "row 40: resume on the other server after theirs was killed, without a gap or a repetition, until the end",
    async ({ cluster }) => {
      const { server: first, webhook, leader } = await cluster.single()
      const second = await cluster.server()
      const done = new Gate()
      let isWorking = true
      void done.opened.then(() => {
        isWorking = false
      })
      leader.reportsStart = true
      leader.handle = async (delivery) => {
        for (let seq = 0; isWorking; seq++) {
          await leader.reportProgress(delivery, { seq, text: `${seq}\n` })
          await sleep(10)
        }
        return "done"
      }
      const balancer = await Balancer.of(first, second)
      const accepted = await cluster.callers.trigger(first, webhook)
      const events = `/webhook/trigger/${webhook.token}/runs/${accepted.body.run_id}/events`
      const watchers = Array.from({ length: 20 }, () => new Watcher(balancer.url + events))
      const watching = Promise.all(watchers.map((watcher) => watcher.watch()))
      try {
        const allSee = (count: number) =>
          until(`each watcher has ${count} more lines`, () =>
            watchers.every((watcher) => linesOf(watcher.text).length >= count)
          )
        const most = () => Math.max(...watchers.map(({ text }) => linesOf(text).length))
        await allSee(20)
        for (const server of [first, second, first]) {
          await server.kill()
          await allSee(most() + 20)
          await server.start()
        }
        done.open()
        await watching
        // What a watcher gets that was never interrupted: all that was stored.
        const whole = new Watcher(second.url + events)
        await whole.watch()
        expect(linesOf(whole.text).length).toBeGreaterThanOrEqual(80)
        expect(linesOf(whole.text)).toEqual([...new Set(linesOf(whole.text))].sort((a, b) => a - b))
        for (const { connections, events, text } of watchers) {
          expect(text).toBe(whole.text)
          expect(events.map(({ event }) => event).filter((event) => event !== "progress")).toEqual([
            "accepted",
            "started",
            "success"
          ])
          expect(events.at(-1)!.data).toEqual({ status: "success", response: "done", run_id: accepted.body.run_id })
          const ids = events.map(({ id }) => id)
          expect(new Set(ids).size).toBe(ids.length)
          expect(connections).toBeLessThanOrEqual(4)
        }
        const times = watchers.reduce((sum, { connections }) => sum + connections, 0)
        // Each kill interrupts at least half of them.
        expect(times).toBeGreaterThanOrEqual(20 + 3 * 5)
      } finally {
        for (const watcher of watchers) watcher.stop()
        balancer.close()
      }
    }
  )
})
