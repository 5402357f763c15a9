import { randomUUID } from "node:crypto"
import { Effect, Fiber, Schedule } from "effect"
import { describe, expect, it } from "../support/It.ts"
import { repeatUntil } from "../support/Until.ts"
import { runWith } from "./CommandLine.ts"
import { sharedServer } from "./SharedServer.ts"

const { address, json, run } = sharedServer()

describe("the command line", () => {
  it.live("manages teams", function* () {
    const names = Effect.map(
      json("team", "list"),
      ({ data }): ReadonlyArray<string> => data.map(({ team }: { team: string }) => team)
    )
    const before = yield* names
    expect(before).toContain("demo")
    expect(yield* json("team", "create", "ops")).toMatchObject({
      team: "ops",
      running: false,
      consumers: 0,
      queued: 0
    })
    expect(yield* names).toEqual([...before, "ops"].sort())

    const table = yield* run("team", "list")
    expect(table.stdout).toMatch(/^TEAM +RUNNING +LEADERS +QUEUED +PAUSED +CREATED\n/)
    expect(table.stdout).toMatch(/\ndemo +yes +1 +0 +no +\d{4}-/)

    const again = yield* run("team", "create", "ops")
    expect(again.code).toBe(1)
    expect(again.stdout).toBe("")
    expect(again.stderr).not.toBe("")

    const paused = yield* json("team", "pause", "ops")
    expect(paused).toMatchObject({ team: "ops", paused_at: expect.any(String) })
    expect((yield* run("team", "list")).stdout).toMatch(/\nops +no +0 +0 +since \d{4}-/)
    expect((yield* run("team", "pause", "ops")).stdout).toContain(
      "0 queued. Resume it: webhook-trigger team resume ops"
    )
    expect((yield* run("team", "resume", "ops")).stdout).toBe("Team ops resumed.\n")
    expect(yield* json("team", "resume", "ops")).not.toHaveProperty("paused_at")
    expect((yield* run("team", "pause", "none")).stderr).toContain("No team is called")

    expect((yield* run("team", "delete", "ops", "--yes")).code).toBe(0)
    const gone = yield* run("team", "show", "ops", "--json")
    expect(gone).toMatchObject({ code: 1, stdout: "" })
    expect(JSON.parse(gone.stderr)).toMatchObject({ status: 404, code: "not_found" })
  })

  it.live("shows what holds a team, and releases it", function* () {
    yield* run("team", "create", "held")
    expect((yield* run("team", "release", "held", "--yes")).stdout).toBe("0 runs released.\n")
    expect((yield* run("team", "release", "none", "--yes")).stderr).toContain("No team is called")
    const { key } = yield* json("team", "leader-key", "create", "held", "--name", "deaf")
    const leader = randomUUID()
    const asLeader = (path: string, more: object = {}) =>
      Effect.promise(() =>
        fetch(`${address()}/leader/${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ leader, ...more })
        })
      )
    const asking = yield* Effect.forkChild(asLeader("next"))
    yield* repeatUntil(json("team", "show", "held"), ({ running }) => running)
    const { message_id } = yield* json("team", "message", "held", "work")
    yield* Fiber.join(asking)
    // A leader that is silent for eight seconds counts as gone, and holds nothing.
    yield* Effect.forkChild(Effect.repeat(asLeader("work", { run_id: message_id }), Schedule.spaced("1 second")))
    yield* run("run", "cancel", message_id)
    expect((yield* run("run", "show", message_id)).stdout).toMatch(/\nagent +still works; stop: \d{4}-/)
    const shown = (yield* run("team", "show", "held")).stdout
    expect(shown).toMatch(/\nAt work\n {2}[0-9a-f-]{36} \(cancelled\) since \S+.*, told to stop \S+/)
    expect(yield* json("team", "release", "held", "--yes")).toEqual({ released: [message_id] })
    expect((yield* run("run", "show", message_id)).stdout).toMatch(/\nagent +may still work/)
    expect((yield* run("team", "show", "held")).stdout).toMatch(/, released \S+.* without confirmation\n/)
  })

  it.live("creates, lists and revokes a team's leader keys", function* () {
    const keys = (command: string, ...words: ReadonlyArray<string>) => ["team", "leader-key", command, "led", ...words]
    // What to run is said, for this server: it has no broker.
    const { stdout } = yield* run("team", "create", "led")
    const line = (words: string) => expect.stringMatching(new RegExp(`^ {2}(webhook-trigger|node \\S+) ${words}$`))
    expect(stdout.split("\n").filter((line) => line.startsWith("  "))).toEqual([
      line("team leader-key create led --name led > led.key"),
      line(`leader --url ${address()} --key-file led.key -- cat`),
      line("serve --leader 'led=cat'")
    ])
    expect((yield* run(...keys("list"))).stdout).toContain("team leader-key create led")
    expect((yield* run(...keys("create", "--name", "laptop"))).stdout).toMatch(/^whl_\w{49}\n$/)
    const { key, leader_key } = yield* json(...keys("create", "--name", "build server"))
    expect(leader_key).toMatchObject({ team: "led", name: "build server", hint: `…${key.slice(-4)}` })
    const table = yield* run(...keys("list"))
    expect(table.stdout).toMatch(/^NAME +KEY +ENDS IN +CREATED +LAST USED\n/)
    expect(table.stdout).toMatch(new RegExp(`\nbuild server +${leader_key.id} +…${key.slice(-4)} +.* +never`))
    expect((yield* run(...keys("revoke", leader_key.id))).code).toBe(2)
    expect((yield* run(...keys("revoke", leader_key.id, "--yes"))).code).toBe(0)
    expect((yield* json(...keys("list"))).data.map(({ name }: { name: string }) => name)).toEqual(["laptop"])
    expect((yield* run(...keys("revoke", leader_key.id, "--yes"))).stderr).toContain("has no key with the id")
    expect((yield* run("team", "leader-key", "list", "none")).stderr).toContain("No team is called")
    expect((yield* run("team", "delete", "led", "--yes")).code).toBe(0)
  })

  it.live("sends a chat message and prints the answer", function* () {
    expect(yield* run("team", "message", "demo", "good morning", "--wait")).toMatchObject({
      code: 0,
      stdout: "good morning\n"
    })
    const { message_id, status } = yield* json("team", "message", "demo", "good night")
    expect(status).toBe("accepted")
    expect(yield* json("run", "show", message_id)).toMatchObject({
      source: "chat",
      conversation: { prompt: "good night" }
    })
    const again = yield* json("run", "replay", message_id, "--message", "good evening", "--key", "once", "--wait")
    expect(again).toMatchObject({ status: "success", response: "good evening" })
    const same = yield* run("run", "replay", message_id, "--message", "good evening", "--key", "once", "--wait")
    expect(same).toEqual({ code: 0, stdout: "good evening\n", stderr: "" })
    expect((yield* run("run", "show", message_id)).stdout).toContain(`\nreplays   ${again.run_id}\n`)
    expect((yield* run("run", "show", again.run_id)).stdout).toContain(`\nreplay of  ${message_id}\n`)
    for (const [words, says] of [
      [["--message", "x", "--same-prompt"], "use either --same-prompt or --message"],
      [["--message", ""], "--message must not be empty"]
    ] as const) {
      const refused = yield* run("run", "replay", message_id, ...words)
      expect([refused.code, refused.stderr], refused.stderr).toEqual([2, expect.stringContaining(says)])
    }
    expect((yield* run("run", "replay", message_id, "--var", "a=b")).stderr).toContain("it has none")
  })

  it.live("prints the commands that give a team's leader its rights, when it is created and later", function* () {
    const created = yield* run("team", "create", "apart", "--broker-rights", "--vhost", "hooks")
    const commands = [
      "rabbitmqctl add_user 'team-apart'",
      "rabbitmqctl set_permissions -p 'hooks' 'team-apart' '^team\\.apart(\\.cancel\\..+)?$' '^(team\\.apart\\.cancel\\..+|webhook\\.(replies|dlx))$' '^(team\\.apart(\\.cancel\\..+)?|webhook\\.cancel\\.apart)$'",
      `rabbitmqctl set_user_limits 'team-apart' '{"max-connections":20,"max-channels":60}'`
    ]
    expect(created.stdout).toContain(`\n\n${commands.join("\n")}\n`)
    // Without a server: nothing is changed.
    expect(yield* runWith({}, "team", "broker-rights", "apart", "--vhost", "hooks")).toEqual({
      code: 0,
      stdout: `${commands.join("\n")}\n`,
      stderr: ""
    })
    const quoted = yield* runWith({}, "team", "broker-rights", "apart", "--broker-user", "it's; rm -rf /")
    expect(quoted.stdout).toContain(`add_user 'it'\\''s; rm -rf /'\n`)
    const asJson = yield* json("team", "create", "apart-too", "--broker-rights")
    expect(asJson).toMatchObject({
      team: "apart-too",
      broker_rights: {
        user: "team-apart-too",
        vhost: "/",
        read: "^(team\\.apart-too(\\.cancel\\..+)?|webhook\\.cancel\\.apart-too)$"
      }
    })
    expect(yield* json("team", "broker-rights", "apart-too")).toEqual(asJson.broker_rights)
  })
})
