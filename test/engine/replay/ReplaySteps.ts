/** Steps of tests that replay runs. */
import { DateTime, Effect } from "effect"
import { LeaderBus } from "../../../src/bus/Bus.ts"
import type { RunId, WebhookId } from "../../../src/domain/Id.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Replay } from "../../../src/engine/replay/Replay.ts"
import type { ReplayRequest } from "../../../src/engine/replay/ReplayCandidates.ts"
import { Repo } from "../../../src/repo/Repo.ts"

export const key = (text: string) => ({ idempotency: { key: text, request_hash: new Uint8Array(32) } })

export const fromTemplate: ReplayRequest = { prompt: "template" }

export const replay = (id: RunId, request: ReplayRequest = fromTemplate) =>
  Effect.flatMap(Replay, (replays) => replays.replay(id, request))

export const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))

export const replaysOf = (id: RunId) => Effect.flatMap(Replay, (replays) => replays.replaysOf(id))

export const edit = (id: WebhookId, fields: object) =>
  Effect.gen(function* () {
    yield* (yield* Repo).updateWebhook(id, { ...fields, updated_at: yield* DateTime.now })
  })

/** A leader that fails while `failing` holds, and has seen these prompts. */
export const flaky = (team: TeamName) =>
  Effect.gen(function* () {
    const state = { failing: true, seen: [] as Array<string> }
    yield* (yield* LeaderBus).lead(team, ({ prompt, reply }) => {
      state.seen.push(prompt.prompt)
      return reply(state.failing ? { _tag: "Failed", message: "no disk" } : { _tag: "Answered", response: "done" })
    })
    return state
  })
