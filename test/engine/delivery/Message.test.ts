import { expect, it } from "@effect/vitest"
import type { CancelledBy, Run } from "../../../src/domain/run/Run.ts"
import { markdownOf, titleOf } from "../../../src/engine/delivery/Message.ts"

it("says in the same line that a run was superseded, or cancelled by an event, and not who else cancelled one", () => {
  const lineOf = (cancelled_by: CancelledBy) => {
    const run = { status: "cancelled", cancelled_by, conversation: { prompt: "" } } as unknown as Run
    const subject = { event: "run.cancelled", run, webhook: { id: "", name: "Review" } } as never
    expect(markdownOf(subject, "full")).toBe(titleOf(subject).replace("Review", "**Review**").replace(":", "\\:"))
    return titleOf(subject)
  }
  expect(lineOf("superseded")).toBe("Review 🚫 cancelled: Superseded by a newer run")
  expect(lineOf("event")).toBe("Review 🚫 cancelled: A later event cancelled it")
  expect(lineOf("session")).toBe("Review 🚫 cancelled")
})

it("says that requests to the model were refused last in a run that timed out, and no command", () => {
  const lineOf = (last_step: string) => {
    const run = { status: "timeout", last_step, conversation: { prompt: "" } } as unknown as Run
    return titleOf({ event: "run.timed_out", run, webhook: { id: "", name: "Review" } } as never)
  }
  expect(lineOf("Retrying: 429 (4 of 10)")).toBe("Review ⏱️ timed out: Retrying: 429 (4 of 10)")
  expect(lineOf("Bash: env")).toBe("Review ⏱️ timed out")
})
