import { SqlClient } from "@effect/sql"
import { Effect, Layer, PubSub } from "effect"
import { type Change, ChangeFeed } from "../ChangeFeed.ts"
import { parseChanges } from "./Changes.ts"
import { bounded } from "./Database.ts"
import { Notifications } from "./Notifications.ts"

/** Changes that a slow reader may be behind; older ones are dropped, and it finds them by polling. */
const backlog = 16_384

export const layer: Layer.Layer<ChangeFeed, never, SqlClient.SqlClient | Notifications> = Layer.scoped(
  ChangeFeed,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const changes = yield* Effect.acquireRelease(PubSub.sliding<Change>(backlog), PubSub.shutdown)
    const notifications = yield* Notifications
    yield* notifications.listen((payload) => {
      for (const change of parseChanges(payload)) changes.unsafeOffer(change)
    })
    return ChangeFeed.of({
      changes: PubSub.subscribe(changes),
      ping: Effect.asVoid(bounded(sql`select 1`))
    })
  })
)
