import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { installedAgents } from "../../../src/server/leaders/LeaderList.ts"
import { folderInPath } from "../../leader/agents/Leading.ts"

it.scopedLive("the agents that are installed are the presets whose programs are in PATH and can be started", () =>
  Effect.gen(function* () {
    const before = (yield* installedAgents).map(({ title }) => title)
    const folder = yield* folderInPath
    for (const name of ["codex", "gemini", "acp", "openai"]) writeFileSync(join(folder, name), "#!/bin/sh\n")
    for (const name of ["codex", "acp", "openai"]) chmodSync(join(folder, name), 0o755)
    const found = yield* installedAgents
    expect(found).toContainEqual({ title: "Codex", example: "codex --sandbox workspace-write" })
    expect(found.map(({ title }) => title).filter((title) => !before.includes(title))).toEqual(["Codex"])
  })
)
