import { expect, it } from "@effect/vitest"
import { workspaceLine } from "../../../src/domain/run/WorkspaceLine.ts"

it("the changes of a run are a line of what is known", () => {
  const [base, head] = ["1a2b3c4d".repeat(5), "5d6e7f8a".repeat(5)]
  expect(workspaceLine({ base, head, files: 3, insertions: 10, deletions: 2, branch: "webhook/1" })).toBe(
    "3 files changed, +10 −2; 1a2b3c4 to 5d6e7f8; pushed to webhook/1"
  )
  expect(workspaceLine({ base, head: base, files: 1, insertions: 1 })).toBe("1 file changed, +1 −0; at 1a2b3c4")
  expect(workspaceLine({ base, head: base, files: 0, note: "It stays." })).toBe("no changes; at 1a2b3c4; It stays.")
  expect(workspaceLine({ base })).toBe("at 1a2b3c4")
})
