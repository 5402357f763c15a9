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
  expect(lineOf("superseded")).toBe("Review was cancelled: Superseded by a newer run")
  expect(lineOf("event")).toBe("Review was cancelled: A later event cancelled it")
  expect(lineOf("session")).toBe("Review was cancelled")
})
