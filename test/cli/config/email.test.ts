/** E-mail destinations in a configuration file. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { parse } from "yaml"
import { describe, expect, it } from "../../support/It.ts"
import { headerOf, mailServer, type ReceivedMail } from "../../support/MailServer.ts"
import { sharedServer } from "../SharedServer.ts"

let received: ReadonlyArray<ReceivedMail>

const { file, folder, json, run } = sharedServer({
  settings: Effect.map(mailServer({ tls: "off" }), (mail) => {
    received = mail.received
    return { SMTP_URL: mail.url, SMTP_FROM: "hooks@sender.example" }
  })
})

const fileWith = (target: string, ...more: ReadonlyArray<string>): string =>
  file(
    "mail.yaml",
    ...["webhooks:", "  - name: nightly", "    team: demo", "    prompt_template: Build it."],
    ...["    destinations:", "      - kind: email", `        target: ${target}`, ...more]
  )

const destinations = Effect.suspend(() => json("destination", "list", "nightly"))

describe("an e-mail destination in a configuration file", () => {
  it.live("is created, sends, is changed in its place, exported and deleted", function* () {
    const path = fileWith("ops@example.com, qa@example.com", "        description: on call")
    expect((yield* run("diff", "-f", path)).code).toBe(6)
    expect(yield* run("apply", "-f", path, "--yes")).toMatchObject({ code: 0, stderr: "" })
    const [{ id, ...created }] = yield* destinations
    expect(created).toMatchObject({
      ...{ kind: "email", url: "mailto:…", target: "ops@example.com, qa@example.com", body: "full" },
      description: "on call"
    })
    expect((yield* run("diff", "-f", path)).code).toBe(0)
    expect((yield* run("destination", "test", "nightly", id)).stdout).toMatch(/^Delivered: status 250/)
    expect(received.map(({ to }) => to)).toEqual([["ops@example.com", "qa@example.com"]])
    expect(headerOf(received[0]!, "from")).toEqual(["hooks@sender.example"])

    // The description says which destination is meant, so it keeps its ID.
    const changed = fileWith("ops@example.com", "        description: on call", "        events: [run.failed]")
    const shown = (yield* run("diff", "-f", changed)).stdout
    expect(shown).toContain("qa@example.com")
    expect(yield* run("apply", "-f", changed, "--yes")).toMatchObject({ code: 0, stderr: "" })
    expect(yield* destinations).toMatchObject([{ id, target: "ops@example.com", events: ["run.failed"] }])

    const exported = join(folder(), "exported.yaml")
    yield* run("export", "nightly", "--output", exported)
    const { webhooks } = parse(readFileSync(exported, "utf8"))
    expect(webhooks[0].destinations).toEqual([
      { kind: "email", target: "ops@example.com", description: "on call", events: ["run.failed"] }
    ])
    expect((yield* run("diff", "-f", exported)).code).toBe(0)
  })

  it.live("is refused with its line if an address is wrong, or a field is of another kind", function* () {
    const wrong = yield* run("diff", "-f", fileWith("not-an-address"))
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/mail\.yaml:7 .*destinations\[0\]\.target .*"not-an-address" is not an address/)
    const token = yield* run("diff", "-f", fileWith("ops@example.com", "        token_env: HOME"))
    expect(token.stderr).toContain("is not a field of the kind email")
  })
})
