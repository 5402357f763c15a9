/** The file and the workflow of docs/use/configuration-as-code.md do what the page says. */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { parse } from "yaml"
import * as Program from "../cli/Program.ts"
import { describe, expect, it } from "../support/It.ts"
import { temporaryFolder } from "../support/private.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"
const page = readFileSync(new URL("../../docs/use/configuration-as-code.md", import.meta.url), "utf8")
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, text]) => text!)
const [config, workflow] = blocks("yaml") as [string, string]
const [commands] = blocks("sh") as [string]

describe("configuration as code", () => {
  it.live("shows the plan of a pull request, and applies it after the merge", function* () {
    const folder = yield* temporaryFolder
    const server = yield* Program.serve({
      DATA_DIR: join(folder, "data"),
      ADMIN_API_KEY,
      CALLBACK_ALLOW: "127.0.0.1"
    })
    mkdirSync(join(folder, "webhooks"))
    mkdirSync(join(folder, "bin"))
    const command = join(folder, "bin", "webhook-trigger")
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${Program.program}' "$@"\n`)
    chmodSync(command, 0o755)
    // The example's host does not exist.
    const local = config.replace("https://ci.example.com/hooks", "http://127.0.0.1:1/")
    writeFileSync(join(folder, "webhooks", "review.yaml"), local)

    const { jobs } = parse(workflow)
    const stepsOf = (job: string): string => jobs[job].steps.find(({ run }: { run?: string }) => run).run
    const keyFor = (role: string) =>
      Effect.promise(async () => {
        const response = await fetch(`${server.url}/api/keys`, {
          method: "POST",
          headers: { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" },
          body: JSON.stringify({ name: role, role })
        })
        return ((await response.json()) as { key: string }).key
      })
    const keys = { viewer: yield* keyFor("viewer"), editor: yield* keyFor("editor") }
    // The role that creates the team.
    yield* Program.run(["team", "create", "review"], { ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url })
    const inFolder = (lines: string, role: keyof typeof keys, secrets = "") =>
      Program.shell(
        [
          `cd '${folder}' && set -e`,
          `export PATH='${join(folder, "bin")}':"$PATH" WEBHOOK_TRIGGER_URL=${server.url} ADMIN_API_KEY=${keys[role]}`,
          `export RUNNER_TEMP=. GITHUB_STEP_SUMMARY=summary.md ${secrets}`,
          lines
        ].join("\n")
      )
    const planned = yield* inFolder(stepsOf("diff"), "viewer")
    expect(planned.code).toBe(0)
    expect(planned.stdout).toContain("+ webhook pull-requests")
    expect(readFileSync(join(folder, "summary.md"), "utf8")).toBe(`\`\`\`\n${planned.stdout}\`\`\`\n`)
    const secrets =
      "REVIEW_SECRET=a-secret-of-the-reviewers SLACK_ALERTS_URL=https://hooks.slack.com/services/T0/B0/XXXXabcd"
    const applied = yield* inFolder(stepsOf("apply"), "editor", secrets)
    expect(applied).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(readFileSync(join(folder, "tokens.jsonl"), "utf8").split("\n")[0]!)).toMatchObject({
      webhook: "pull-requests"
    })
    const again = yield* inFolder(stepsOf("diff"), "viewer")
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("No changes: 6 unchanged.")])

    // A plan that cannot be made fails the pull request.
    writeFileSync(join(folder, "webhooks", "review.yaml"), local.replace("timeout_seconds", "timeout"))
    expect((yield* inFolder(stepsOf("diff"), "viewer")).code).toBe(1)

    rmSync(join(folder, "tokens.jsonl"))
    const quick = yield* inFolder(commands, "editor")
    expect(quick).toMatchObject({ code: 0, stderr: "" })
  })
})
