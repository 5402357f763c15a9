import { Readable } from "node:stream"
import { describe, expect, it } from "vitest"
import { wholeLines } from "../../../src/leader/agents/Endpoint.ts"
import { makePace } from "../../../src/leader/agents/Pace.ts"

const call = Buffer.from('{"jsonrpc":"2.0","method":"tools/call"}\n')

describe("calls of the leader's tools", () => {
  it("come one by one, and the event loop is free between those of a flood", async () => {
    let turns = 0
    let isOver = false
    const turn = () => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    const flood = Buffer.concat(Array.from({ length: 300 }, () => call))
    const lines: Array<Buffer> = []
    const began = performance.now()
    setImmediate(turn)
    for await (const line of makePace()(Readable.from([flood.subarray(0, 1_000), flood.subarray(1_000)])))
      lines.push(Buffer.from(line))
    isOver = true
    expect(Buffer.concat(lines).equals(flood)).toBe(true)
    // 280 of them wait for two milliseconds each, however fast the machine is.
    expect(performance.now() - began).toBeGreaterThan(500)
    expect(turns).toBeGreaterThan(50)
  })

  it("of several connections share one pace, and one that is too long ends its connection", async () => {
    const pace = makePace()
    const began = performance.now()
    const all = async () => {
      const flood = Buffer.concat(Array.from({ length: 100 }, () => call))
      for await (const _ of pace(Readable.from([flood])));
    }
    await Promise.all([all(), all(), all()])
    expect(performance.now() - began).toBeGreaterThan(500)
    const long = async () => {
      for await (const _ of makePace()(Readable.from([Buffer.alloc(600_000, 65), Buffer.alloc(600_000, 65)])));
    }
    await expect(long()).rejects.toThrow("too long")
  })
})

describe("the lines of a stream", () => {
  it("are passed on once they are whole, so that a long one is read once", () => {
    const lines = wholeLines()
    expect(lines("data: {")).toBe("")
    for (let n = 0; n < 100; n++) expect(lines("x".repeat(1_000))).toBe("")
    expect(lines("}\ndata: a")).toBe(`data: {${"x".repeat(100_000)}}\n`)
    expect(lines("b\r")).toBe("")
    expect(lines("\n\r\n")).toBe("data: ab\r\n\r\n")
    expect(lines("c\rd\n")).toBe("c\rd\n")
    expect(lines("e\rf")).toBe("e\r")
    expect(lines("\n")).toBe("f\n")
  })
})
