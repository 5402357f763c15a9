import { chmodSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Duration, Option, Result, Schema } from "effect"
import { agentLines, commands, installedAgents } from "../../../src/server/leaders/LeaderList.ts"
import { folderInPath } from "../../leader/agents/Leading.ts"
import { expect, it } from "../../support/It.ts"

it.live("the agents that are installed are the presets whose programs are in PATH and can be started", function* () {
  const before = (yield* installedAgents).map(({ title }) => title)
  const folder = yield* folderInPath
  for (const name of ["codex", "gemini", "acp", "openai"]) writeFileSync(join(folder, name), "#!/bin/sh\n")
  for (const name of ["codex", "acp", "openai"]) chmodSync(join(folder, name), 0o755)
  const found = yield* installedAgents
  expect(found).toContainEqual({ title: "Codex", example: "codex --sandbox workspace-write" })
  expect(found.map(({ title }) => title).filter((title) => !before.includes(title))).toEqual(["Codex"])
})

const read = (list: typeof commands, line: string) => Schema.decodeSync(list.schema)(line)[0]!.agent
const workspaceOf = (line: string) => Result.getOrThrow(read(commands, `a=${line} cat`)).workspace

it("the options of a workspace come before the program, and after an agent's name", () => {
  const defaults = {
    ...{ include: [], setup: undefined, setupTimeout: Duration.minutes(10), submodules: false, lfs: false },
    ...{ keep: Duration.days(7), disk: 20e9, push: false }
  }
  expect(workspaceOf("--workspace git:https://example.com/shop")).toEqual(
    Option.some({ ...defaults, url: "https://example.com/shop" })
  )
  for (const url of ["git@example.com:acme/shop.git", "ssh://git@example.com/shop", "/srv/shop.git"]) {
    expect(workspaceOf(`--workspace=git:${url}`)).toEqual(Option.some({ ...defaults, url }))
  }
  expect(
    workspaceOf(
      "--workspace git:shop.git --workspace-include .env.test --workspace-include=config/a --workspace-setup 'npm ci' --workspace-setup-timeout 1m --workspace-submodules --workspace-lfs --workspace-keep 3d --workspace-disk 1GiB --workspace-push"
    )
  ).toEqual(
    Option.some({
      ...{ url: resolve("shop.git"), include: [".env.test", "config/a"], setup: "npm ci", submodules: true, lfs: true },
      ...{ setupTimeout: Duration.minutes(1), keep: Duration.days(3), disk: 1024 ** 3, push: true }
    })
  )
  expect(workspaceOf("--workspace shop")).toEqual(Option.some({ folder: resolve("shop") }))
  expect(workspaceOf("")).toEqual(Option.none())
  const agent = read(agentLines, "a=claude --workspace git:/srv/shop --models haiku --permission-mode plan")
  expect(Result.getOrThrow(agent).workspace).toMatchObject({ _tag: "Some" })
})

it("how long an agent may show nothing comes before the program or the agent's own options", () => {
  const stallOf = (list: typeof commands, line: string) => Result.getOrThrow(read(list, line)).stallTimeout
  expect(stallOf(commands, "a=cat")).toEqual(Option.none())
  expect(stallOf(commands, "a=--stall-timeout 90 --output json-lines cat")).toEqual(
    Option.some(Option.some(Duration.seconds(90)))
  )
  expect(stallOf(agentLines, "a=openai --stall-timeout=off --model m")).toEqual(Option.some(Option.none()))
  const both = "a=claude --stall-timeout '15 minutes' --workspace git:/srv/shop --permission-mode plan"
  expect(stallOf(agentLines, both)).toEqual(Option.some(Option.some(Duration.minutes(15))))
})

it("wrong options of a workspace are named", () => {
  for (const [line, fault] of [
    ["--workspaces x", "--workspaces is not an option"],
    ["--workspace", "--workspace needs a value"],
    ["--workspace-push", "--workspace-push needs --workspace"],
    ["--workspace /srv/shop --workspace-push", "needs --workspace with `git:`"],
    ["--workspace git:/srv/shop --workspace-include ../key", "--workspace-include takes a path inside"],
    ["--workspace git:/srv/shop --workspace-include /etc/key", "--workspace-include takes a path inside"],
    ["--workspace git:/srv/shop --workspace-include .git/hooks/x", "--workspace-include takes a path inside"],
    ["--workspace git:/srv/shop --workspace-keep 3x", "takes a duration such as `7 days`"],
    ["--workspace git:/srv/shop --workspace-disk much", "takes a size such as `20 GB`"],
    ["--stall-timeout", "--stall-timeout needs a value"],
    ["--stall-timeout soon", "--stall-timeout takes `off`, seconds, or a number with a unit"],
    ["--stall-time 5m", "--stall-time is not an option"]
  ] as const) {
    expect(read(agentLines, `a=claude ${line}`), line).toEqual(Result.fail(expect.stringContaining(fault)))
  }
})
