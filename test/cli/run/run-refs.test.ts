/** How a run is named on the command line. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { sharedServer } from "../SharedServer.ts"

const { json, run } = sharedServer()

const trigger = Effect.gen(function* () {
  const { data } = yield* json("webhook", "list")
  const [name] = data.map(({ name }: { name: string }) => name)
  return (yield* json("webhook", "run", name, "--var", "name=world")).run_id as string
})

describe("a run on the command line", () => {
  it.live("is the last one, or has an ID that begins or ends like this", function* () {
    const none = yield* run("run", "show", "last")
    expect(none).toEqual({ code: 1, stdout: "", stderr: "There are no runs yet\n" })

    const first = yield* trigger
    const second = yield* trigger
    expect(yield* run("run", "show", "last", "--wait")).toMatchObject({ code: 0 })
    expect(yield* json("run", "show", "last")).toMatchObject({ run_id: second })
    for (const ref of [first, first.slice(-8), first.slice(-4).toUpperCase(), first.slice(0, -1)]) {
      expect(yield* json("run", "show", ref), ref).toMatchObject({ run_id: first })
    }

    const ambiguous = yield* run("run", "show", first.slice(0, 4))
    expect(ambiguous).toMatchObject({ code: 1, stdout: "" })
    expect(ambiguous.stderr).toMatch(
      new RegExp(
        `^2 runs have an id that begins or ends with ${first.slice(0, 4)}\n {2}${second} {2}\\w+, accepted \\d.*Z\n {2}${first} {2}`
      )
    )
    const unknown = yield* run("run", "show", "ffffffff")
    expect(unknown).toMatchObject({ code: 1, stdout: "" })
    expect(unknown.stderr).toContain("None of the newest 1,000 runs has an id that begins or ends with ffffffff")
  })

  it.live("shows what its agent did, if that was reported", function* () {
    const run_id = yield* trigger
    expect(yield* json("run", "show", run_id, "--wait", "--steps")).toEqual({ data: [], next_cursor: null })
    expect(yield* run("run", "show", run_id, "--steps")).toMatchObject({
      code: 0,
      stdout: "No steps were reported, or they are no longer kept.\n"
    })
  })

  it.live("is named so for all commands about runs", function* () {
    const id = yield* trigger
    const part = id.slice(-8)
    expect((yield* run("run", "watch", "last")).code).toBe(0)
    expect((yield* json("run", "replay", part, "--wait")).status).toBe("success")
    expect((yield* run("run", "reply", part, "Why?")).stdout).toContain("Accepted as ")
    const cancelled = yield* run("run", "cancel", id, part, "zzzz")
    expect(cancelled).toEqual({
      code: 1,
      stdout: "0 runs cancelled.\n",
      stderr: `2 runs not cancelled\n  zzzz  No run has this id.\n  ${id}  The run ended as \`success\` before it could be cancelled.\n`
    })
    expect((yield* run("run", "cancel", part)).stderr).toContain("has already ended")
  })
})
