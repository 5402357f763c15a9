import { Effect, Option } from "effect"
import * as Cli from "../../src/cli/Cli.ts"
import type { LeaderOptions } from "../../src/cli/LocalCommands.ts"
import { describe, expect, it } from "../support/It.ts"

/** Runs the command line with a leader that only records its options. */
const run = (words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const calls: Array<LeaderOptions> = []
    const code = yield* Cli.run(words, "0.0.0", {
      serve: () => Effect.void,
      leader: (options) => Effect.sync(() => void calls.push(options)),
      doctor: () => Effect.void,
      supportBundle: () => Effect.void
    })
    return { code, calls }
  })

describe("the leader command", () => {
  it.effect("passes everything after -- through untouched", function* () {
    const words = ["agent", "--team", "other", "--json", "-v", "--", "a b", "", "--help", "$HOME", "*"]
    const { code, calls } = yield* run(["leader", "--team", "deploy", "--", ...words])
    expect(code).toBe(0)
    expect(calls.map(({ command, team }) => ({ command, team }))).toEqual([
      { command: words, team: Option.some("deploy") }
    ])
  })

  it.effect("takes the broker from --amqp-url in place of AMQP_URL", function* () {
    const { calls } = yield* run(["leader", "--team", "a", "--amqp-url", "amqp://option", "--", "true"])
    expect(calls.map(({ overrides }) => [...overrides])).toEqual([[["AMQP_URL", "amqp://option"]]])
  })

  it.effect("hands the options of the workspace on as the server's settings have them", function* () {
    const words = ["--workspace", "git:https://example.com/shop", "--workspace-include", "a", "--workspace-include=b c"]
    const { calls } = yield* run(["leader", "--team", "a", ...words, "--workspace-push", "--", "true", "--workspace=x"])
    expect(calls.map(({ command, workspace }) => ({ command, workspace }))).toEqual([
      {
        command: ["true", "--workspace=x"],
        workspace: [
          "--workspace=git:https://example.com/shop",
          "--workspace-include=a",
          "--workspace-include=b c",
          "--workspace-push"
        ]
      }
    ])
  })

  it.effect("reports wrong usage when the program or the team is missing or a value is invalid", function* () {
    for (const words of [
      ["leader", "--team", "deploy"],
      ["leader", "--team", "deploy", "--"],
      ["leader", "--team", "Not A Team", "--", "true"],
      ["leader", "--url", "http://localhost", "--amqp-url", "amqp://localhost", "--", "true"],
      ["leader", "--url", "http://localhost", "--amqp-url-file", "broker.url", "--", "true"],
      ["leader", "--team", "deploy", "--timeout", "0", "--", "true"]
    ]) {
      expect(yield* run(words), words.join(" ")).toEqual({ code: 2, calls: [] })
    }
  })
})
