import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { untilEffect } from "../../support/Until.ts"
import { runWith } from "../CommandLine.ts"
import * as Program from "../Program.ts"
import { ADMIN_API_KEY, sharedServer } from "../SharedServer.ts"

const { address, json, run } = sharedServer()

describe("the command line", () => {
  it.live("shows that a webhook was paused because its runs failed, and resumes it", function* () {
    yield* json("team", "create", "quiet")
    const { trigger_url } = yield* json(
      ...["webhook", "create", "--name", "failing", "--team", "quiet", "--template", "Hello"],
      // Without a leader, a run ends as an error after a second.
      ...["--when-team-stopped", "queue", "--queue-for", "1", "--pause-after-failures", "1"]
    )
    expect((yield* run("trigger", trigger_url)).code).toBe(0)
    yield* untilEffect(
      "it is paused",
      Effect.map(run("webhook", "list"), ({ stdout }) => /failing +\S+ +quiet +paused /.test(stdout))
    )
    expect((yield* run("webhook", "show", "failing")).stdout).toMatch(
      /\nenabled +yes\npaused +since .*, automatically: the last run failed\n/
    )
    expect((yield* run("webhook", "edit", "failing", "--when-team-stopped", "refuse")).code).toBe(0)
    const refused = yield* run("trigger", trigger_url)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("The webhook is paused")])
    const firing = /^firing .* failing: paused because the last run failed$/m
    yield* untilEffect(
      "its alert has begun",
      Effect.map(run("alert", "list"), ({ stdout }) => firing.test(stdout))
    )
    expect((yield* run("webhook", "resume", "failing")).stdout).toBe("Webhook failing resumed.\n")
    expect(yield* json("webhook", "show", "failing")).not.toHaveProperty("paused_at")
    expect((yield* run("webhook", "delete", "failing", "--yes")).code).toBe(0)
  })

  it.live("creates, shows, edits, triggers, disables and deletes a webhook", function* () {
    const created = yield* json(
      ...["webhook", "create", "--name", "review", "--team", "demo"],
      ...["--template", "Review {{branch}} for {{who.name}}", "--timeout", "60", "--max-concurrent", "2"]
    )
    const { token, trigger_url, webhook } = created
    expect(webhook).toMatchObject({
      name: "review",
      variables: ["branch", "who.name"],
      timeout_seconds: 60,
      max_concurrent: 2,
      enabled: true
    })
    expect(trigger_url).toBe(`${address()}/webhook/trigger/${token}`)

    // By id or by name.
    expect(yield* json("webhook", "show", webhook.id)).toEqual(yield* json("webhook", "show", "review"))
    const names = (yield* json("webhook", "list")).data.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(["demo", "review"]))

    const described = (yield* run("webhook", "show", "review")).stdout
    expect(described).toMatch(
      /^id +[0-9a-f-]{36}\nname +review\n[\s\S]*\n\nPrompt template\n {2}Review \{\{branch\}\} for/
    )
    // What was not set has the server's value.
    expect(described).toMatch(
      /\ntimeout +60 s\nmaximum work +3600 s \(default\)\nconcurrency limit +2\nqueue limit +\d+ \(default\)\nrate limit +no limit \(default\)\n/
    )

    const edited = yield* json("webhook", "edit", "review", "--timeout", "default", "--max-concurrent", "3")
    expect(edited).toMatchObject({ max_concurrent: 3 })
    expect(edited).not.toHaveProperty("timeout_seconds")

    const variables = ["--var", "branch=a=b", "--json-var", 'who={"name":["x"]}']
    const incomplete = ["webhook", "preview", "review", "--var", "branch=x"]
    expect(yield* run(...incomplete)).toEqual({ code: 1, stdout: "", stderr: "Without a value: who.name\n" })
    const { code, stderr, stdout } = yield* run(...incomplete, "--json")
    expect({ code, stdout, stderr: JSON.parse(stderr) }).toEqual({
      code: 1,
      stdout: "",
      stderr: { missing: ["who.name"] }
    })
    const words = 'Review a=b for ["x"]'
    expect(yield* run("webhook", "preview", "review", ...variables)).toMatchObject({ code: 0, stdout: `${words}\n` })

    expect(yield* run("trigger", trigger_url, "--wait", ...variables)).toMatchObject({
      code: 0,
      stdout: `${words}\n`
    })
    // As copied from a curl command.
    expect(yield* run("trigger", `${trigger_url}?wait=true`, ...variables)).toMatchObject({ stdout: `${words}\n` })
    expect(yield* json("trigger", token, "--wait", ...variables)).toMatchObject({
      status: "success",
      response: words
    })
    const { run_id } = yield* Effect.map(
      runWith({ WEBHOOK_TOKEN: trigger_url }, "trigger", "--json", ...variables),
      ({ stdout }) => JSON.parse(stdout)
    )
    expect(yield* json("run", "show", run_id)).toMatchObject({ variables: { branch: "a=b", who: { name: ["x"] } } })

    const page = yield* json("run", "list", "review", "--limit", "3")
    expect(page.data).toHaveLength(3)
    const rest = yield* json("run", "list", "review", "--cursor", page.next_cursor, "--status", "success")
    expect(rest).toMatchObject({ data: [{ conversation: { response: words } }], next_cursor: null })

    const listed = yield* run("run", "list", "--status", "success,error", "--search", "REVIEW A=B", "--limit", "1")
    expect(listed.stdout).toMatch(
      /^STATUS +TITLE +RUN +ACCEPTED +WEBHOOK +TEAM +DURATION +ERROR +MODE\nsuccess +\S.* +[0-9a-f-]{36} +\d.*Z +review +demo +\d.*\n\nOlder runs: --cursor \S+\n$/
    )
    expect(yield* json("run", "list", "--search", run_id)).toMatchObject({ data: [{ run_id }], next_cursor: null })
    const narrow = [
      "--source",
      "webhook",
      "--mode",
      "async",
      "--team",
      "demo",
      "--from",
      "2026-01-01",
      "--min-duration"
    ]
    expect((yield* json("run", "list", "review", ...narrow, "0")).data.length).toBeGreaterThan(0)
    expect(yield* run("run", "list", ...narrow, "86400")).toMatchObject({ code: 0, stdout: "No runs.\n" })
    const again = yield* json("run", "replay", run_id, "--var", "branch=other", "--key", "once")
    const same = ["run", "replay", run_id, "--var", "branch=other", "--key", "once"]
    expect(yield* json(...same)).toEqual(again)
    expect(yield* json("run", "show", again.run_id)).toMatchObject({
      replay_of: run_id,
      variables: { branch: "other", who: { name: ["x"] } }
    })
    expect((yield* run("run", "show", run_id)).stdout).toContain(`\nreplays   ${again.run_id}\n`)
    expect((yield* run("run", "replay", run_id, "--same-prompt", "--var", "branch=x")).code).toBe(2)
    const waited = yield* json("run", "replay", run_id, "--same-prompt", "--wait")
    expect(waited).toMatchObject({ status: "success", response: expect.any(String) })
    const failed = yield* json("webhook", "replay", "review", "--yes")
    expect(failed).toEqual({ matched: 0, more: false, replayed: [], refused: [] })

    yield* json("webhook", "edit", "review", "--coalesce", "branch 3600")
    const joined = yield* json("trigger", token, ...variables)
    expect((yield* json("trigger", token, ...variables)).run_id).toBe(joined.run_id)
    const shown = (yield* run("run", "show", joined.run_id)).stdout
    expect(shown).toMatch(/\nheld until +\d.*\n/)
    expect(shown).toMatch(/\nrequests combined +1\n/)
    const { waits_for } = yield* json("run", "show", joined.run_id)
    expect(waits_for.code).toBe("window")
    expect(shown).toMatch(new RegExp(`\nwaiting +${waits_for.message.replaceAll(/[()]/g, "\\$&")}\n`))
    const succeeded = ["replay", "--status", "success", "--to", "2100-01-02T03:04:05Z"]
    expect((yield* run("webhook", ...succeeded, "review")).code).toBe(2)
    expect((yield* run("webhook", ...succeeded, "--yes", "review")).stdout).toMatch(/^[1-9]\d* replayed\.\n$/)
    expect((yield* run("team", "replay", "demo", "--status", "cancelled")).stdout).toBe("No runs to replay.\n")

    const exported = `${yield* temporaryFolder}/runs`
    expect(yield* run("run", "export", "review", "--output", exported)).toEqual({ code: 0, stdout: "", stderr: "" })
    const lines = readFileSync(exported, "utf8").trimEnd().split("\n")
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(yield* json("run", "show", run_id))
    expect((yield* run("run", "export", "--team", "none", "--format", "csv", "-o", exported)).code).toBe(0)
    expect(readFileSync(exported, "utf8")).toMatch(/^run_id,[\w,]+\r\n$/)
    expect(yield* run("run", "export", "-o", `${exported}/none`)).toMatchObject({ code: 1, stdout: "" })
    expect(yield* run("run", "cancel", run_id, "nothing", run_id)).toEqual({
      code: 1,
      stdout: "0 runs cancelled.\n",
      stderr: `2 runs not cancelled\n  nothing  No run has this id.\n  ${run_id}  The run ended as \`success\` before it could be cancelled.\n`
    })

    expect((yield* run("webhook", "disable", "review")).stdout).toBe("Webhook review disabled.\n")
    expect((yield* run("trigger", token, ...variables)).code).toBe(1)
    expect((yield* run("webhook", "enable", "review")).stdout).toBe("Webhook review enabled.\n")

    expect(yield* json("webhook", "refused", "review")).toHaveProperty("data")
    const fresh = yield* json("webhook", "regenerate", "review", "--yes")
    expect((yield* run("trigger", token, ...variables)).code).toBe(1)
    expect((yield* run("trigger", fresh.token, ...variables)).code).toBe(0)

    expect((yield* run("webhook", "delete", "review", "-y")).code).toBe(0)
    expect((yield* run("run", "show", run_id)).code).toBe(1)
  })

  it.live("duplicates a webhook, and lists, compares and restores the versions of its template", function* () {
    const names = ["--name", "versions", "--team", "demo"]
    const { webhook } = yield* json(
      "webhook",
      "create",
      ...names,
      "--template",
      "Say\n{{a}}\nplease",
      "--rate",
      "9/min"
    )
    yield* json("webhook", "edit", "versions", "--template", "Say\n{{b}}\nplease")
    const { data } = yield* json("webhook", "versions", "versions")
    expect(data).toMatchObject([
      { version: 2, actor: "admin_key" },
      { version: 1, actor: "admin_key" }
    ])
    expect((yield* run("webhook", "versions", "versions")).stdout).toMatch(
      /^VERSION +SET +LANGUAGE +INPUT +BY +FROM +SESSION\n2 +\d{4}-.* simple +variables +admin_key +127\.0\.0\.1 +-\n1 /
    )
    const changes = "@@ -1,3 +1,3 @@\n Say\n-{{a}}\n+{{b}}\n please\n"
    expect((yield* run("webhook", "diff", "versions")).stdout).toMatch(/^Version 1 \(.*\) and version 2 \(.*\)\n@@/)
    expect((yield* run("webhook", "diff", "versions", "--from", "1", "--to", "2")).stdout).toContain(changes)
    expect((yield* run("webhook", "diff", "versions", "--to", "1")).stderr).toBe(
      "There is no version before it to compare with\n"
    )
    expect((yield* run("webhook", "restore", "versions", "1")).stdout).toBe(
      "Webhook versions has the template of version 1 again, as version 3.\n"
    )
    expect((yield* run("webhook", "restore", "versions", "9")).stderr).toContain("The webhook has no version 9")
    expect((yield* run("webhook", "restore", "versions", "x")).code).toBe(2)
    const both = yield* json("webhook", "diff", "versions")
    expect([both.before.version, both.after.prompt_template]).toEqual([2, "Say\n{{a}}\nplease"])

    const copied = yield* json("webhook", "duplicate", webhook.id)
    expect(copied.webhook).toMatchObject({ name: "versions (copy)", team: "demo", rate: "9/min", version: 1 })
    const named = yield* run("webhook", "duplicate", "versions", "--name", "another")
    expect(named.stdout).toMatch(/^Webhook another \([0-9a-f-]{36}\) created\.\n/)
    for (const name of ["versions", "versions (copy)", "another"]) yield* run("webhook", "delete", name, "--yes")
  })

  it.live("prints a new webhook's token in a curl command that works", function* () {
    const created = yield* run(
      ...["webhook", "create", "--name", "quoted", "--team", "demo", "--template", "It's {{a}} and {{b-c}}"]
    )
    const [line] = /curl [\s\S]*/.exec(created.stdout)!
    expect((yield* Program.shell(`${line.trimEnd()} --silent`)).stdout).toContain(
      `"response":"It's your a and your b-c"`
    )
  })

  it.live("reads a prompt from a file or from standard input", function* () {
    const create = `'${process.execPath}' '${Program.program}' webhook create --json --team demo --name piped --template-file`
    const line = `printf 'Hello {{name}}' | ADMIN_API_KEY=${ADMIN_API_KEY} WEBHOOK_TRIGGER_URL=${address()} ${create} -`
    const { webhook } = JSON.parse((yield* Program.shell(line)).stdout)
    expect(webhook).toMatchObject({ prompt_template: "Hello {{name}}", variables: ["name"] })
    const edited = yield* json("webhook", "edit", "piped", "--template-file", "tsconfig.build.json")
    expect(edited.prompt_template).toContain("compilerOptions")
    yield* json("webhook", "edit", "piped", "--template", "x")
    expect((yield* run("webhook", "delete", "piped", "--yes")).code).toBe(0)
  })
})
