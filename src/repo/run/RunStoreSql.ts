import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Notifications } from "../database/Notifications.ts"
import { makeNotifySoon } from "../database/NotifySoon.ts"
import { makeApprovals } from "./Approvals.ts"
import { makeCancelQueued } from "./CancelQueued.ts"
import { makeEnds } from "./Ends.ts"
import { makeExpire } from "./Expire.ts"
import { makeEndHold } from "./Holds.ts"
import { makeReleaseUnconfirmed } from "./Release.ts"
import { makeRest } from "./Rest.ts"
import { makeRetries } from "./Retries.ts"
import { RunStore } from "./RunStore.ts"
import { makeMarks } from "./SentAndStarted.ts"
import { makeCancelSingletons } from "./Singletons.ts"
import { makeStep } from "./Step.ts"

/**
 * Every statement locks the rows that it may change in the order of their IDs, so that two of them never wait for each
 * other.
 */
export const layer: Layer.Layer<RunStore, never, Notifications | SqlClient.SqlClient> = Layer.effect(
  RunStore,
  Effect.gen(function* () {
    const notifySoon = yield* makeNotifySoon
    const ends = yield* makeEnds(notifySoon)
    return RunStore.of({
      step: yield* makeStep(notifySoon, ends),
      ended: ends.ended,
      ...(yield* makeMarks(notifySoon)),
      releaseUnconfirmed: yield* makeReleaseUnconfirmed,
      rest: yield* makeRest,
      ...(yield* makeRetries),
      ...(yield* makeCancelQueued),
      ...(yield* makeApprovals),
      endHold: yield* makeEndHold,
      cancelSingletons: yield* makeCancelSingletons,
      expire: yield* makeExpire
    })
  })
)
