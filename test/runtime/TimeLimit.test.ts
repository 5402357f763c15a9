import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { busy, TooSlow, withinTime } from "../../src/runtime/TimeLimit.ts"

/** Takes time and, by the clock of the processor, none of it: as on a machine that is busy with other work. */
const wait = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)

const noTime = () => 0

describe("a limit of the processor's time", () => {
  it("stops what works longer", () => {
    const endless = () => {
      for (;;);
    }
    expect(withinTime(20, endless, () => performance.now())).toEqual(Result.fail(expect.any(TooSlow)))
  })

  it("stops what nests its calls too deep", () => {
    const endless = (): number => 1 + endless()
    expect(withinTime(1_000, endless)).toEqual(Result.fail(expect.any(TooSlow)))
  })

  it("is not exceeded by what only waits for the processor: that is tried again, for longer", () => {
    let tries = 0
    const result = withinTime(
      250,
      () => {
        tries++
        wait(300)
        return "done"
      },
      noTime
    )
    expect(result).toEqual(Result.succeed("done"))
    expect(tries).toBeGreaterThan(1)
  })

  it("tells a busy machine from slow work, and gives up", () => {
    let tries = 0
    const result = withinTime(
      10,
      () => {
        tries++
        wait(Number.POSITIVE_INFINITY)
      },
      noTime
    )
    expect([result, tries]).toEqual([Result.fail(busy), 4])
  })

  it("does not count what other threads do meanwhile", async () => {
    const counter = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(
      `const { workerData } = require("worker_threads"); for (;;) Atomics.add(workerData, 0, 1)`,
      {
        eval: true,
        workerData: counter
      }
    )
    await once(worker, "online")
    let tries = 0
    const result = withinTime(100, () => {
      tries++
      if (tries > 1) return "done"
      // Until the process, not this thread, has had more than the limit.
      const end = process.cpuUsage().user + 2_000_000
      while (process.cpuUsage().user < end) wait(10)
    })
    await worker.terminate()
    expect(result).toEqual(Result.succeed("done"))
    // Not exactly two: on a loaded machine a try may also end because this thread waits for the CPU.
    expect(tries).toBeGreaterThan(1)
  })

  it("leaves errors alone", () => {
    expect(() =>
      withinTime(1_000, () => {
        throw new Error("no")
      })
    ).toThrow("no")
  })
})
