import { describe, expect, it } from "../support/It.ts"
import { receiver } from "../support/Receiver.ts"
import { sharedServer } from "./SharedServer.ts"

const { json, run } = sharedServer({ settings: { CALLBACK_ALLOW: "127.0.0.1" } })

describe("alerts on the command line", () => {
  it.live("have destinations that are added, edited, tested, switched off and deleted, as webhooks have", function* () {
    const { received, url } = yield* receiver(200, 500)
    expect((yield* run("alert", "destination", "list")).stdout).toMatch(/^No alert destinations yet/)
    const { destination, secret } = yield* json("alert", "destination", "add", "--to", url, "--events", "alert.firing")
    expect(secret).toMatch(/^whsec_/)
    const { id } = destination
    expect((yield* run("alert", "destination", "list")).stdout).toMatch(
      new RegExp(`${url} +${id}  on +webhook +alert.firing`)
    )
    expect((yield* run("alert", "destination", "test", id)).stdout).toMatch(/^Delivered: status 200/)
    expect(JSON.parse(received[0]!.body).type).toBe("test")
    expect((yield* run("alert", "destination", "test", id)).stderr).toContain("answered 500")
    const events = ["alert.firing", "alert.resolved"]
    expect(
      yield* json("alert", "destination", "edit", id, "--events", events.join(","), "--description", "On call")
    ).toMatchObject({ events, description: "On call" })
    const wrong = yield* run("alert", "destination", "edit", id, "--events", "run.failed")
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("alert.firing, alert.resolved")])
    expect((yield* json("alert", "destination", "rotate-secret", id)).secret).not.toBe(secret)
    expect((yield* run("alert", "destination", "deliveries")).stdout).toBe("No deliveries.\n")
    const since = ["--since", "2026-01-02T00:00:00Z"]
    expect((yield* json("alert", "destination", "resend-failed", id, ...since)).resent).toBe(0)
    const unknown = yield* run("alert", "destination", "resend", id)
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("No delivery of alerts has the id")])
    expect((yield* run("alert", "destination", "disable", id)).stdout).toBe("The destination is off.\n")
    expect((yield* json("alert", "destination", "enable", id.slice(-8))).enabled).toBe(true)
    expect((yield* run("alert", "destination", "delete", id, "--yes")).code).toBe(0)
    const gone = yield* run("alert", "destination", "test", id)
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining("No destination of alerts has the id")])
  })

  it.live("have rules that are added, edited, switched off and deleted", function* () {
    expect((yield* run("alert", "list")).stdout).toBe("No alerts.\n")
    expect((yield* run("alert", "rule", "list")).stdout).toMatch(/^No rules yet/)
    const { id } = yield* json("alert", "rule", "add", "cost", "--team", "demo", "--hours", "48")
    expect((yield* run("alert", "rule", "list")).stdout).toMatch(
      new RegExp(`cost +10 US dollars in 48 h +team demo +on +${id}`)
    )
    const edited = yield* json("alert", "rule", "edit", id.slice(-8), "--threshold", "2.5")
    expect(edited).toMatchObject({ threshold: 2.5, window_hours: 48, team: "demo" })
    expect((yield* run("alert", "rule", "disable", id)).stdout).toBe("The rule is off.\n")
    expect((yield* run("alert", "rule", "enable", id)).stdout).toBe("The rule is on.\n")
    expect((yield* run("alert", "rule", "delete", id, "--yes")).stdout).toBe("Rule deleted.\n")
    expect((yield* run("alert", "rule", "edit", id, "--threshold", "1")).stderr).toContain("No alert rule has the id")
    const unknown = yield* run("alert", "rule", "add", "weather")
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("failures_in_a_row")])
  })

  it.live("are listed with what was measured", function* () {
    yield* json("team", "create", "alone")
    yield* json("webhook", "create", "--name", "nightly", "--team", "alone", "--template", "x")
    yield* json("alert", "rule", "add", "no_leader", "--team", "alone", "--threshold", "1")
    const refused = yield* run("alert", "rule", "add", "no_leader", "--threshold", "0")
    expect(refused.stderr).toContain("must be a whole number from 1 to 43200")
    expect((yield* json("alert", "list", "--state", "resolved")).length).toBe(0)
  })
})
