/** Which replies count: those with the correlation id of a prompt. */

import { Effect, Layer } from "effect"
import { runIdAt } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { Correlation } from "../../../src/engine/outcome/Correlation.ts"
import { ReplyKeyStore } from "../../../src/repo/access/ReplyKeyStore.ts"
import { describe, expect, it } from "../../support/It.ts"

const key = new Uint8Array(32).fill(7)
const made = (its = key) =>
  Effect.provide(
    Correlation,
    Layer.provide(
      Layer.fresh(Correlation.layer),
      Layer.succeed(ReplyKeyStore, {
        replyKey: Effect.succeed({ key: its })
      })
    )
  )

const deploy = TeamName.make("deploy")
const runOf = (team = deploy) => ({ run_id: runIdAt(Date.now()), team })

describe("a correlation id", () => {
  it.effect("shows its run to every server with the key, and does not contain the run's id as text", function* () {
    const [one, other] = [yield* made(), yield* made()]
    for (const team of [deploy, TeamName.make("a"), TeamName.make("x".repeat(63))]) {
      const run = runOf(team)
      const id = one.idOf(run)
      expect(other.subjectOf(id)).toEqual({ ...run, rests: 0 })
      expect(other.idOf(run)).toBe(id)
      expect(id).not.toContain(run.run_id)
      expect(id).toMatch(/^[\w-]{40,255}$/)
    }
  })

  it.effect("is another one after each rest of the run, and says which", function* () {
    const [one, other] = [yield* made(), yield* made()]
    const run = runOf(TeamName.make("x".repeat(63)))
    const ids = [0, 1, 12].map((rests) => {
      const id = one.idOf({ ...run, rests })
      for (const server of [one, other]) expect(server.subjectOf(id)).toEqual({ ...run, rests })
      return id
    })
    expect(new Set([...ids, one.idOf(run)]).size).toBe(3)
  })

  it.effect("counts only as it was made: not with any bit changed, cut, extended, or by another key", function* () {
    const { idOf, subjectOf } = yield* made()
    const run = runOf()
    const bytes = Buffer.from(idOf(run), "base64url")
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(subjectOf(changed.toString("base64url"))).toBeUndefined()
    }
    for (let length = 0; length < bytes.length; length++) {
      expect(subjectOf(bytes.subarray(0, length).toString("base64url"))).toBeUndefined()
    }
    expect(subjectOf(Buffer.concat([bytes, Buffer.from("x")]).toString("base64url"))).toBeUndefined()
    const stranger = yield* made(new Uint8Array(32).fill(8))
    expect(subjectOf(stranger.idOf(run))).toBeUndefined()
    for (const text of [
      "",
      "x",
      run.run_id,
      run.run_id.toUpperCase(),
      "'; drop table runs; --",
      "\0",
      "é".repeat(100)
    ]) {
      expect(subjectOf(text), text).toBeUndefined()
    }
  })
})
