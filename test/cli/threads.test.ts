import { Effect } from "effect"
import { describe, expect, it } from "../support/It.ts"
import { sharedServer } from "./SharedServer.ts"

const { json, run } = sharedServer()

/** The demo team answers each message with its text. */
const say = (text: string, ...options: ReadonlyArray<string>) =>
  Effect.map(json("team", "message", "demo", text, ...options, "--wait"), ({ message_id }) => message_id as string)

describe("threads on the command line", () => {
  it.live("are listed, shown as a conversation and reset, which ends them", function* () {
    expect((yield* run("thread", "list", "demo")).stdout).toBe("No threads.\n")
    const first = yield* say("Look at it", "--thread", "shop#7")
    const second = yield* say("And again", "--thread", "shop#7")
    yield* say("Something else", "--thread", "shop#8")
    const table = (yield* run("thread", "list", "demo")).stdout
    expect(table).toMatch(/^KEY +STATE +CREATED +LAST RUN +THREAD\n/)
    expect(table).toMatch(/shop#8 +open .*shop#7 +open /s)
    const { data, next_cursor } = yield* json("thread", "list", "demo", "--key", "shop#7")
    expect([data.map(({ key }: { key: string }) => key), next_cursor]).toEqual([["shop#7"], null])
    const id: string = data[0].id

    const shown = (yield* run("thread", "show", id)).stdout
    expect(shown).toMatch(/^thread .*\nkey +shop#7\n.*\nstate +open\n/s)
    expect(shown.match(/Look at it|And again/g)).toEqual(["Look at it", "Look at it", "And again", "And again"])
    expect(yield* json("thread", "show", id)).toEqual(data[0])
    const ofThread = yield* json("run", "list", "--thread", id)
    expect(ofThread.data.map(({ run_id }: { run_id: string }) => run_id)).toEqual([second, first])
    expect(yield* json("run", "usage", "--thread", id)).toEqual({ runs: 2, reported: 0 })
    expect((yield* run("run", "usage", "--thread", id)).stdout).toBe("runs            2\nreported usage  0\n")
    expect((yield* run("run", "show", first)).stdout).toMatch(/\nthread +shop#7\n/)

    expect((yield* run("thread", "reset", id)).code).toBe(2)
    expect((yield* run("thread", "reset", id, "--yes")).stdout).toContain("The thread has ended.")
    expect((yield* json("thread", "show", id)).ended_at).toEqual(expect.any(String))
    expect((yield* run("thread", "list", "demo", "--key", "shop#7")).stdout).toMatch(/shop#7 +ended \d{4}-/)
    const next = yield* say("Anew", "--thread", "shop#7")
    expect((yield* json("run", "show", next)).thread.id).not.toBe(id)
  })

  it.live("are left and entered by replays, and continued by replies", function* () {
    const first = yield* say("Look at it", "--thread", "shop#9")
    const threadOf = (id: string) => Effect.map(json("run", "show", id), ({ thread }) => thread?.key)
    const replay = (...options: ReadonlyArray<string>) =>
      Effect.map(json("run", "replay", first, ...options, "--wait"), ({ run_id }) => run_id as string)
    expect(yield* threadOf(yield* replay())).toBe("shop#9")
    expect(yield* threadOf(yield* replay("--thread", "shop#10"))).toBe("shop#10")
    const alone = yield* replay("--thread", "")
    expect(yield* threadOf(alone)).toBeUndefined()

    expect((yield* run("run", "reply", alone, "Yes, do it", "--wait")).stdout).toBe("Yes, do it\n")
    expect(yield* threadOf(alone)).toBe(alone)
    const accepted = yield* json("run", "reply", alone, "Once more")
    expect(accepted).toMatchObject({ status: "accepted" })
    expect(yield* threadOf(accepted.message_id)).toBe(alone)
    yield* run("thread", "reset", alone, "--yes")
    const late = yield* run("run", "reply", alone, "Too late")
    expect([late.code, late.stdout]).toEqual([1, ""])
    expect(late.stderr).toContain("The run's thread has ended")
  })

  it.live("that do not exist, and wrong keys, are refused", function* () {
    const unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
    expect((yield* run("thread", "list", "none")).stderr).toContain("No team is called")
    expect((yield* run("thread", "show", unknown)).stderr).toContain("see webhook-trigger thread list")
    expect((yield* run("thread", "reset", "x", "--yes")).stderr).toContain("see webhook-trigger thread list")
    expect((yield* run("run", "reply", unknown, "Yes")).stderr).toContain("see webhook-trigger run list")
    for (const words of [
      ["thread", "list", "demo", "--key", " "],
      ["team", "message", "demo", "hi", "--thread", "x".repeat(501)],
      ["run", "reply", unknown, ""]
    ]) {
      expect((yield* run(...words)).code, words.join(" ")).toBe(2)
    }
  })
})
