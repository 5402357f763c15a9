import { expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { describeRun } from "../../../src/cli/run/RunText.ts"
import { Run } from "../../../src/domain/run/Run.ts"

it("a run is shown with what its agent changed, and the ref that its webhook named", () => {
  const run = Schema.decodeUnknownSync(Run)({
    ...{ run_id: "01890a5d-ac96-774b-bcce-b302099a8057", source: "chat", team: "deploy", mode: "async" },
    ...{ status: "success", accepted_at: "2026-01-31T12:00:00.000Z", variables: {}, conversation: { prompt: "Go." } },
    agent: { workspace_ref: "refs/pull/7/head" },
    workspace: { base: "1a2b3c4d".repeat(5), files: 1, insertions: 2, deletions: 1 }
  })
  const text = describeRun(run, [])
  expect(text).toMatch(/^changes +1 file changed, \+2 −1; at 1a2b3c4$/m)
  expect(text).toMatch(/^agent settings +ref refs\/pull\/7\/head$/m)
})
