/** What leaves the machine of an agent's steps. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { Bus, type RunProgress } from "../../../src/bus/Bus.ts"
import { RunId } from "../../../src/domain/Id.ts"
import { AgentLeader, type Progress } from "../../../src/leader/index.ts"
import { makePrompt, team } from "../../bus/contract/support.ts"
import { repeatUntil } from "../../support/Until.ts"
import { environment } from "./Endpoint.ts"
import { behaviour } from "./Leading.ts"

/** What the bus carries when an agent reports this. */
const sent = (...reports: ReadonlyArray<Progress>) =>
  Effect.gen(function* () {
    const bus = yield* Bus
    const arrived: Array<RunProgress> = []
    const correlation = { subjectOf: (id: string) => ({ run_id: RunId.make(id) }) }
    yield* bus.consume(() => Effect.void, { correlation, progress: (one) => arrived.push(one) })
    const answer = ({ progress }: { readonly progress: (it: Progress) => void }) =>
      Effect.sync(() => {
        for (const report of reports) progress(report)
        return "done"
      })
    yield* AgentLeader.start({ team, agent: { title: "an agent", answer }, withheld: ["VAULT"] })
    yield* bus.publish(yield* makePrompt({ prompt: "Do it." }))
    yield* repeatUntil(
      Effect.sync(() => arrived.length),
      (count) => count > 0
    )
    return arrived.flatMap(({ activity, steps = [] }) => [...(activity === undefined ? [] : [activity]), ...steps])
  })

describe("an agent's steps", () => {
  behaviour(
    "leave its machine without known secrets: credentials, passwords in URLs, and withheld variables",
    Effect.gen(function* () {
      yield* environment("ANTHROPIC_API_KEY", "sk-ant-0123456789")
      yield* environment("DATABASE_URL", "postgres://hooks:pa55word%21@db/hooks")
      yield* environment("CACHE", "redis://:r3d15-pass@cache")
      yield* environment("VAULT", "opened sesame")
      yield* environment("DEMO_TOKEN", "short")
      yield* environment("EDITOR", "not-a-secret")
      const detail =
        "curl -H 'x-api-key: sk-ant-0123456789' -u hooks:pa55word! r3d15-pass 'opened sesame' short not-a-secret"
      const [activity, step] = yield* sent({
        activity: "Using sk-ant-0123456789",
        steps: [{ kind: "tool", title: "Bash: sk-ant-0123456789", detail }]
      })
      expect(activity).toBe("Using •••")
      expect(step).toEqual({
        kind: "tool",
        title: "Bash: •••",
        detail: "curl -H 'x-api-key: •••' -u hooks:••• ••• '•••' short not-a-secret"
      })
    })
  )

  behaviour(
    "are short when they leave it, also with a secret where a text is cut",
    Effect.gen(function* () {
      yield* environment("ANTHROPIC_API_KEY", "sk-ant-0123456789")
      const detail = `${"x".repeat(1_990)}sk-ant-0123456789${"y".repeat(5_000_000)}`
      const [, step] = yield* sent({ steps: [{ kind: "file", title: "Write a.ts", detail, status: "running" }] })
      expect(step).toEqual({
        ...{ kind: "file", title: "Write a.ts", status: "running" },
        detail: `${"x".repeat(1_990)}•••${"y".repeat(7)}`
      })
    })
  )
})
