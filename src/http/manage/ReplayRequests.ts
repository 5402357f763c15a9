/** Converts requests for replays to the engine's input, and its results to responses. */
import { createHash, randomBytes } from "node:crypto"
import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { ProblemCode } from "../../api/ProblemTitles.ts"
import type { ReplayBody, Replayed as ReplayedBody, ReplayManyBody } from "../../api/run/Replays.ts"
import { type Fault, Invalid } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { threadKeyOf } from "../../domain/Thread.ts"
import * as Input from "../../engine/prompt/Input.ts"
import type { Replayed, ReplayFilter } from "../../engine/replay/Replay.ts"
import { onceKey, type ReplayRequest } from "../../engine/replay/ReplayCandidates.ts"
import * as Problems from "../request/Problems.ts"
import { periodFault } from "../request/QueryCheck.ts"
import * as Idempotency from "../trigger/Idempotency.ts"

const invalid = (pointer: string, detail: string) => {
  const faults: ReadonlyArray<Fault> = [{ pointer, detail }]
  return new Invalid({ faults })
}

type How = Omit<ReplayRequest, "by">

/** The options of a replay. The key's hash covers only these: a key replays a run in one way. */
const requestOf = (
  request: HttpServerRequest.HttpServerRequest,
  prompt: ReplayRequest["prompt"] = "template",
  { message, thread, variables }: Pick<ReplayRequest, "message" | "thread" | "variables"> = {}
) =>
  Result.map(
    Idempotency.readWith(request, () =>
      Result.map(Input.contentOf({}, variables ?? { prompt, ...(message && { message }) }), (content) =>
        thread === undefined ? content : { content, thread }
      )
    ),
    ({ idempotency }): How => ({
      prompt,
      ...(thread !== undefined && { thread }),
      ...(variables !== undefined && { variables }),
      ...(message !== undefined && { message }),
      ...(idempotency && { idempotency })
    })
  )

export const one = (
  request: HttpServerRequest.HttpServerRequest,
  { prompt, thread, ...given }: typeof ReplayBody.Type
) => {
  const edited = { ...given, ...(thread !== undefined && { thread: thread && threadKeyOf(thread)! }) }
  const name = edited.variables !== undefined ? "variables" : edited.message !== undefined ? "message" : undefined
  return prompt === "same" && name !== undefined
    ? invalid(`/${name}`, "must not be given with `prompt: same`")
    : Effect.fromResult(requestOf(request, prompt, edited))
}

/** The runs to replay. */
type Which =
  | { readonly _tag: "These"; readonly ids: ReadonlyArray<RunId> }
  | { readonly _tag: "Matching"; readonly filter: ReplayFilter }

const whichOf = (body: typeof ReplayManyBody.Type): Effect.Effect<Which, Invalid> => {
  const { from, run_ids, status, team, to, webhook_id } = body
  if ([run_ids, webhook_id, team].filter((given) => given !== undefined).length !== 1) {
    return invalid("", "must have exactly one of `run_ids`, `webhook_id` and `team`")
  }
  if (run_ids !== undefined) {
    return from === undefined && to === undefined && status === undefined
      ? Effect.succeed({ _tag: "These", ids: run_ids.map((id) => id.toLowerCase() as RunId) })
      : invalid("/run_ids", "must not be given with `status`, `from` or `to`")
  }
  const fault = periodFault({ from, to }, "/to")
  if (fault !== undefined) return new Invalid({ faults: [fault] })
  return Effect.succeed({
    _tag: "Matching",
    filter: {
      of: team === undefined ? { webhook_id: webhook_id! } : { team },
      statuses: status ?? ["error", "timeout"],
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to })
    }
  })
}

/** A request with a caller's key is the same as an earlier one with that key; one without is like no other. */
const onceForEachRun = ({ idempotency, ...how }: How): How => ({
  ...how,
  idempotency: {
    key: onceKey,
    request_hash:
      idempotency === undefined
        ? randomBytes(32)
        : createHash("sha256").update(idempotency.request_hash).update(idempotency.key).digest()
  }
})

export const many = (request: HttpServerRequest.HttpServerRequest, body: typeof ReplayManyBody.Type) =>
  Effect.flatMap(whichOf(body), (which) =>
    Effect.map(Effect.fromResult(requestOf(request, body.prompt)), (how) => ({
      which,
      how: which._tag === "Matching" ? onceForEachRun(how) : how,
      isDry: body.dry_run === true
    }))
  )

const alreadyReplayed: { readonly code: ProblemCode; readonly detail: string } = {
  code: "already_replayed",
  detail: "Another request replayed this run at the same time."
}

export const answer = (
  which: Which,
  ids: ReadonlyArray<RunId>,
  more: boolean,
  results: ReadonlyArray<Replayed>
): typeof ReplayedBody.Type => ({
  matched: ids.length,
  more,
  replayed: results.flatMap(({ run_id, result }) =>
    Result.isSuccess(result) ? [{ run_id: result.success, replay_of: run_id }] : []
  ),
  refused: results.flatMap(({ run_id, result }) => {
    if (Result.isSuccess(result)) return []
    const { code, detail } =
      which._tag === "Matching" && result.failure._tag === "IdempotencyKeyReused"
        ? alreadyReplayed
        : Problems.bodyOf(result.failure)
    return [{ replay_of: run_id, code, detail }]
  })
})
