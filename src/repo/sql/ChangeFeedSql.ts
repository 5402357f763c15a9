import { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import { type Change, ChangeFeed, makeChangeListeners } from "../ChangeFeed.ts"
import { parseChanges, toPayload } from "./Changes.ts"
import { bounded } from "./Database.ts"
import { channel, Notifications } from "./Notifications.ts"

export const layer: Layer.Layer<ChangeFeed, never, SqlClient.SqlClient | Notifications> = Layer.scoped(
  ChangeFeed,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { listen, notify } = makeChangeListeners()
    yield* (yield* Notifications).listen((payload) => notify(parseChanges(payload)))
    const publish = Effect.fn("ChangeFeed.publish")(function* (changes: ReadonlyArray<Change>) {
      const payloads = JSON.stringify(changes.map(toPayload))
      yield* sql`
        select pg_notify(${channel}, payload) from json_array_elements_text(${payloads}::json) as payloads (payload)`
    }, bounded)
    return ChangeFeed.of({ listen, publish, ping: Effect.asVoid(bounded(sql`select 1`)) })
  })
)
