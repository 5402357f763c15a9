/** The `doctor` command, with agents that are scripts, and with an endpoint on this machine. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { startFakeModel } from "../agents/FakeModel.ts"
import { describe, expect, it } from "../support/It.ts"
import * as Program from "./Program.ts"

/** A folder with this script as `claude`. */
const claude = (script: string) =>
  Effect.map(Program.newFolder, (folder) => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "claude"), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return { PATH: `${folder}:${process.env.PATH}` }
  })

const options = ["--", "--permission-mode", "plan"]
const result = (fields: object) =>
  `echo '${JSON.stringify({ type: "result", subtype: "success", session_id: "s", ...fields })}'`

describe("doctor", () => {
  it.live("says that an agent is there, is signed in and answers", function* () {
    const env = yield* claude(result({ is_error: false, result: "OK" }))
    const { code, stderr, stdout } = yield* Program.run(["doctor", "--agent", "claude", ...options], env)
    expect(stdout).toMatch(/^program +yes +claude\nsigned in +yes\nanswers +yes +\d+\.\d s: OK\n$/)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  })

  it.live("says what is wrong, and what to do about it", function* () {
    const failing = (message: string) => claude(`${result({ is_error: true, result: message })}; exit 1`)
    const examine = (env: Readonly<Record<string, string>>) =>
      Program.run(["doctor", "--agent", "claude", ...options], env)

    const missing = yield* examine({ PATH: "/nowhere" })
    expect(missing.stdout).toMatch(/^program +no +Cannot run "claude".*\nsigned in +unknown\nanswers +unknown\n$/)
    const signedOut = yield* examine(yield* failing("Not logged in · Please run /login"))
    expect(signedOut.stdout).toMatch(/^program +yes +claude\nsigned in +no +Not logged in.*\nanswers +no\n$/)
    const broken = yield* examine(yield* failing("the model is overloaded"))
    expect(broken.stdout).toMatch(/^program +yes +claude\nsigned in +unknown\nanswers +no +the model is overloaded\n$/)
    for (const { code, stderr } of [missing, signedOut, broken]) {
      expect(code).toBe(1)
      expect(stderr).toMatch(/^Claude Code does not work yet: Install it with /)
    }
  })

  it.live("says at the first refused request that an agent is not signed in, while it would try again", function* () {
    const retry = { type: "system", subtype: "api_retry", attempt: 1, max_retries: 10, error_status: 401 }
    const env = yield* claude(`echo '${JSON.stringify(retry)}'; exec sleep 600`)
    const { code, stdout } = yield* Program.run(["doctor", "--agent", "claude", ...options], env)
    expect(stdout).toMatch(/^program +yes +claude\nsigned in +no +401\nanswers +no\n$/)
    expect(code).toBe(1)
  })

  it.live("checks an endpoint", function* () {
    const model = yield* Effect.acquireRelease(
      Effect.promise(() => startFakeModel()),
      (model) => Effect.promise(() => model.close())
    )
    const words = ["doctor", "--agent", "openai", "--", "--model", "m-1", "--base-url", model.url]
    const { code, stdout } = yield* Program.run(words)
    expect(stdout).toMatch(/^program +yes +none needed\nsigned in +yes\nanswers +yes .* I did what you asked\.\n$/)
    expect(code).toBe(0)
  })

  it.live("checks the agent's workspace", function* () {
    const env = yield* claude(result({ is_error: false, result: "OK" }))
    const words = ["doctor", "--agent", "claude", "--workspace", "git:/nowhere.git", ...options]
    const { code, stderr, stdout } = yield* Program.run(words, env)
    expect(stdout).toMatch(/^workspace git +yes .*\nworkspace repository +no .*nowhere.*\n.*unknown\nprogram +yes/)
    expect(stderr).toMatch(/^The workspace does not work yet: Correct the address of --workspace/)
    expect(code).toBe(1)
    const alone = yield* Program.run(["doctor", "--workspace", "git:/nowhere.git"])
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining("--workspace needs --agent") })
  })

  it.live("refuses options that the agent does not have", function* () {
    const { code, stderr } = yield* Program.run(["doctor", "--agent", "openai", "--", "--key", "sk-1"])
    expect(stderr).toContain("--key is not an option")
    expect(code).toBe(2)
  })
})
