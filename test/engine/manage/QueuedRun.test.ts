import { describe, expect, it } from "@effect/vitest"
import { WebhookId } from "../../../src/domain/Id.ts"
import { mostCounted } from "../../../src/domain/run/ShownRun.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { waitsFor } from "../../../src/engine/manage/QueuedRun.ts"
import type { QueuedFacts } from "../../../src/repo/history/HistoryStore.ts"

const message = { team: TeamName.make("ops") }
const run = { ...message, webhook_id: WebhookId.make("01890a5d-ac96-774b-bcce-b302099a8057") }

/** The next run of a team that has nothing out. */
const next: QueuedFacts = {
  is_admitted: false,
  needs_leader: false,
  is_paused: false,
  ahead: 0,
  webhook_is_full: false
}

const why = (facts: Partial<QueuedFacts>, isLed: boolean | undefined = true) => {
  const { code, runs } = waitsFor(run, { ...next, ...facts }, isLed)!
  return runs === undefined ? code : `${code} ${runs}`
}
const unreachable = (facts: Partial<QueuedFacts>) => waitsFor(run, { ...next, ...facts }, undefined)?.code

describe("a queued run", () => {
  it("waits for earlier runs, the one at work included, but not one that has ended", () => {
    expect(why({ ahead: 2 })).toBe("earlier_runs 2")
    for (const out of ["queued", "running"] as const) {
      expect(why({ ahead: 2, out })).toBe("earlier_runs 3")
      expect(why({ out })).toBe("earlier_runs 1")
    }
    expect(why({ ahead: 2, out: "timeout" })).toBe("earlier_runs 2")
    expect(why({ out: "timeout" })).toBe("earlier_work")
    const many = waitsFor(run, { ...next, ahead: mostCounted, out: "running" }, true)
    expect(many).toMatchObject({ runs: 1_000, message: "Waiting for at least 1000 earlier runs of the team ops." })
    expect(waitsFor(run, { ...next, out: "running" }, true)!.message).toBe("Waiting for 1 earlier run of the team ops.")
  })

  it("waits for a leader, unless it is the next one and is sent without one", () => {
    expect(why({ needs_leader: true }, false)).toBe("leader")
    expect(why({ is_admitted: true, out: "queued" }, false)).toBe("leader")
    expect(why({ ahead: 1 }, false)).toBe("leader")
    expect(why({ out: "running" }, false)).toBe("leader")
    expect(why({}, false)).toBe("slot")
  })

  it("waits for its team to be resumed whatever else is missing, except when it is already being sent", () => {
    expect(why({ is_paused: true, ahead: 3, needs_leader: true }, false)).toBe("team_paused")
    expect(unreachable({ is_paused: true })).toBe("team_paused")
    expect(why({ is_paused: true, is_admitted: true, out: "queued" })).toBe("broker")
  })

  it("waits for the broker while it is sent, or while the broker is out of reach", () => {
    expect(why({ is_admitted: true, out: "queued" })).toBe("broker")
    expect(unreachable({ is_admitted: true, out: "queued" })).toBe("broker")
    expect(unreachable({ needs_leader: true, ahead: 1 })).toBe("broker")
  })

  it("waits for a slot of all teams or of its webhook, which a chat message does not need", () => {
    const { message: ofAll } = waitsFor(run, next, true)!
    expect(ofAll).toContain("The limit (`WEBHOOK_MAX_CONCURRENT`) counts the agents at work of all teams.")
    expect(waitsFor(run, { ...next, webhook_is_full: true }, true)!.message).toContain("`max_concurrent`")
    expect(waitsFor(message, next, true)).toBeUndefined()
    expect(waitsFor(message, { ...next, out: "running" }, true)!.code).toBe("earlier_runs")
  })
})
