import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"
import { sharedServer } from "../SharedServer.ts"

const { folder, json, run } = sharedServer({ settings: { CALLBACK_ALLOW: "127.0.0.1" } })

describe("destinations on the command line", () => {
  it.live("are added, edited, tested, switched off and deleted", function* () {
    const { received, url } = yield* receiver(200, 200, 500)
    yield* json("webhook", "create", "--name", "review", "--team", "demo", "--template", "Review")
    const added = yield* json(
      "destination",
      "add",
      "review",
      "--to",
      url,
      "--description",
      "CI",
      "--events",
      "run.failed"
    )
    expect(added.secret).toMatch(/^whsec_/)
    const { id } = added.destination
    expect((yield* run("destination", "list", "review")).stdout).toMatch(
      new RegExp(`${id}  on +webhook +run.failed  thin`)
    )

    const template = join(folder(), "body.liquid")
    writeFileSync(template, '{"text": "{{ run.status }}"}')
    const fields = ["--events", "run.failed,run.succeeded", "--body", "template", "--template-file", template]
    const edited = yield* json("destination", "edit", "review", id, ...fields, "--header", "X-Key: s3cret")
    expect(edited).toMatchObject({
      ...{ url, description: "CI", events: ["run.failed", "run.succeeded"], body: "template" },
      ...{ template: '{"text": "{{ run.status }}"}', header_names: ["X-Key"] }
    })
    yield* json("destination", "test", "review", id)
    expect(received[0]).toMatchObject({ body: '{"text": "success"}', headers: { "x-key": "s3cret" } })
    const cleared = yield* json("destination", "edit", "review", id, "--description", "", "--no-headers")
    expect([cleared.description, cleared.header_names]).toEqual([undefined, []])
    const wrong = yield* run("destination", "edit", "review", id, "--events", "run.failed,run.failed")
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("each once")])

    expect((yield* json("destination", "rotate-secret", "review", id)).secret).not.toBe(added.secret)
    expect((yield* run("destination", "test", "review", id)).stdout).toContain("Delivered: status 200")
    const failed = yield* run("destination", "test", "review", id)
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("Not delivered: answered 500")])
    expect((yield* run("destination", "disable", "review", id)).stdout).toContain("The destination is off.")
    expect((yield* run("destination", "enable", "review", id)).stdout).toContain("The destination is on.")
    expect((yield* run("destination", "delete", "review", id, "--yes")).code).toBe(0)
    const gone = yield* run("destination", "edit", "review", id, "--to", url)
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining("has no destination")])
  })

  it.live("list what was sent, by state and destination, and send it again", function* () {
    const { url } = yield* receiver(410, 200)
    const created = yield* json("webhook", "create", "--name", "deploy", "--team", "demo", "--template", "Deploy")
    const { destination } = yield* json("destination", "add", "deploy", "--to", url)
    yield* json("trigger", created.token, "--wait")
    const deliveries = (...more: ReadonlyArray<string>) =>
      Effect.map(json("destination", "deliveries", "deploy", ...more), ({ data }) => data as ReadonlyArray<any>)
    const [failed] = yield* untilEffect(
      "the delivery has failed",
      Effect.map(deliveries("--status", "failed"), (all) => all.length > 0 && all)
    )
    expect(yield* deliveries("--destination", destination.id)).toHaveLength(1)
    expect(yield* deliveries("--destination", failed.id)).toEqual([])
    yield* run("destination", "enable", "deploy", destination.id)
    expect(
      yield* json("destination", "resend-failed", "deploy", destination.id, "--since", "2100-01-01T00:00:00Z")
    ).toEqual({ resent: 0 })
    expect((yield* run("destination", "resend", "deploy", failed.id)).stdout).toContain("sent again")
    yield* untilEffect(
      "it is delivered",
      Effect.map(deliveries("--status", "delivered"), (all) => all.length === 1)
    )
  })
})
