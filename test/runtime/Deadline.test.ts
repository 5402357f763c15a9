import { describe, expect, it, vi } from "vitest"
import { DeadlinePassed, withDeadline } from "../../src/runtime/Deadline.ts"
import { collectGarbage } from "../support/Garbage.ts"

const never = () => new Promise<never>(() => {})
/** As `fetch` does it: it ends only when its signal says so. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))

describe("a deadline", () => {
  it("ends work that listens and work that does not, though garbage is collected before", async () => {
    const works = [never, untilAborted, never, untilAborted]
    const ended = works.map((work) => withDeadline(100, work, new AbortController().signal).catch((error) => error))
    collectGarbage()
    for (const error of await Promise.all(ended)) {
      expect(error).toBeInstanceOf(DeadlinePassed)
      expect(error.message).toBe("not done within 0.1 seconds")
    }
  })

  it("passes on what the work returns or throws, and leaves no timer behind", async () => {
    const cleared = vi.spyOn(globalThis, "clearTimeout")
    expect(await withDeadline(1_000_000, async () => 1)).toBe(1)
    await expect(withDeadline(1_000_000, async () => Promise.reject(new Error("no")))).rejects.toThrow("no")
    const thrown = () => {
      throw new Error("at once")
    }
    await expect(withDeadline(1_000_000, thrown)).rejects.toThrow("at once")
    expect(cleared).toHaveBeenCalledTimes(3)
    cleared.mockRestore()
  })

  it("ends with the signal from outside, before or while it works", async () => {
    const outer = new AbortController()
    const work = withDeadline(1_000_000, never, outer.signal)
    outer.abort(new Error("interrupted"))
    await expect(work).rejects.toThrow("interrupted")
    const begun = vi.fn(never)
    await expect(withDeadline(1_000_000, begun, outer.signal)).rejects.toThrow("interrupted")
    expect(begun).not.toHaveBeenCalled()
  })
})
