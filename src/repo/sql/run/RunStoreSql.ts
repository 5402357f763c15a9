import type { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import { RunStore } from "../../run/RunStore.ts"
import { makeNotifySoon } from "../database/NotifySoon.ts"
import { makeAccept } from "./Accept.ts"
import { makeCancelQueued } from "./CancelQueued.ts"
import { makeEnds } from "./Ends.ts"
import { makeExpire } from "./Expire.ts"
import { makeRelease } from "./Release.ts"
import { makeRetries } from "./Retries.ts"
import { makeMarks } from "./SentAndStarted.ts"

/**
 * Every statement locks the rows that it may change in the order of their IDs, so that two of them never wait for each
 * other.
 */
export const layer: Layer.Layer<RunStore, never, SqlClient.SqlClient> = Layer.scoped(
  RunStore,
  Effect.gen(function* () {
    const notifySoon = yield* makeNotifySoon
    return RunStore.of({
      accept: yield* makeAccept(notifySoon),
      ...(yield* makeMarks(notifySoon)),
      ...(yield* makeEnds(notifySoon)),
      ...(yield* makeRelease),
      ...(yield* makeRetries),
      ...(yield* makeCancelQueued),
      expire: yield* makeExpire
    })
  })
)
