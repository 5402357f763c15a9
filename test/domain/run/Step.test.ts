import { describe, expect, it } from "vitest"
import { mergeProgress, readProgress } from "../../../src/domain/run/Progress.ts"
import { mergeSteps, readStep, type StepReport, toSteps } from "../../../src/domain/run/Step.ts"

const at = "2026-01-02T03:04:05.678Z"

describe("a reported step", () => {
  it("loses what is not valid, and is bounded and storable", () => {
    expect(
      readStep({
        kind: "dance",
        title: `  Reading\n${"more "}`,
        tool: 7,
        detail: "x\0".repeat(5_000),
        status: "ok",
        result_bytes: -1,
        at: "yesterday",
        duration_ms: 1.4,
        secret: "no"
      })
    ).toEqual({ title: "Reading", detail: "x\uFFFD".repeat(1_000), status: "ok", duration_ms: 1 })
    expect(readStep({ title: "x".repeat(900) })!.title).toHaveLength(200)
    for (const nothing of [undefined, "a", [], {}, { title: " " }, { status: "ok" }]) {
      expect(readStep(nothing)).toBeUndefined()
    }
  })

  it("never costs the progress that it comes with, and says what the agent does", () => {
    expect(readProgress({ seq: 1, text: "a", step: 7, steps: "no" })).toEqual({ seq: 1, text: "a" })
    expect(readProgress({ seq: 1, step: { kind: "tool", title: "Bash: ls", status: "running" } })).toEqual({
      seq: 1,
      activity: "Bash: ls",
      steps: [{ kind: "tool", title: "Bash: ls", status: "running" }]
    })
    const ended = { seq: 2, steps: [{ id: "a", title: "Bash: ls", status: "ok" }] }
    expect(readProgress(ended)).toEqual(ended)
  })
})

describe("steps", () => {
  it("of one tool call are one, with the time of its beginning", () => {
    const begun: StepReport = { id: "a", kind: "tool", title: "Bash: ls", detail: "ls", status: "running", at }
    const other: StepReport = { kind: "text", title: "I look.", at }
    const ended: StepReport = { id: "a", status: "ok", result_bytes: 7, at: "2026-01-02T03:04:09.000Z" }
    expect(toSteps([begun, other, ended, { id: "lost", status: "ok", at }])).toEqual([
      { ...begun, status: "ok", result_bytes: 7 },
      other
    ])
  })

  it("that are too many lose their oldest details, then the oldest of them", () => {
    const steps = (count: number) =>
      Array.from({ length: count }, (_, i): StepReport => ({ title: `step ${i}`, detail: "d".repeat(2_000), at }))
    const details = mergeSteps(steps(20), steps(20)).map(({ detail }) => detail !== undefined)
    expect(details).toHaveLength(40)
    expect(details.lastIndexOf(false) + 1).toBe(details.indexOf(true))
    expect(details.indexOf(true)).toBeGreaterThan(5)
    const { steps: kept = [] } = mergeProgress({ steps: steps(1_000) }, { steps: [{ title: "the last", at }] })
    expect(kept.at(-1)).toEqual({ title: "the last", at })
    expect(kept.length).toBeGreaterThan(300)
    expect(JSON.stringify(kept).length).toBeLessThan(64 * 1024)
  })
})
