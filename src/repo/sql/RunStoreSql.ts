import type { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import { RunStore } from "../RunStore.ts"
import { makeAccept } from "./Accept.ts"
import { makeCancelQueued } from "./CancelQueued.ts"
import { makeEnds } from "./Ends.ts"
import { makeExpire } from "./Expire.ts"
import { makeMarks } from "./Marks.ts"
import { makeRelease } from "./Release.ts"
import { makeRetries } from "./Retries.ts"

/**
 * Every statement locks the rows that it may change in the order of their ids, so that two of them never wait for each
 * other.
 */
export const layer: Layer.Layer<RunStore, never, SqlClient.SqlClient> = Layer.effect(
  RunStore,
  Effect.gen(function* () {
    return RunStore.of({
      accept: yield* makeAccept,
      ...(yield* makeMarks),
      ...(yield* makeEnds),
      release: yield* makeRelease,
      ...(yield* makeRetries),
      cancelQueued: yield* makeCancelQueued,
      expire: yield* makeExpire
    })
  })
)
