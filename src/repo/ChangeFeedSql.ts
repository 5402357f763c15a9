import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ChangeFeed, makeChangeListeners } from "./ChangeFeed.ts"
import { makePublish, parseChanges } from "./Changes.ts"
import { bounded, readOnly, unavailable } from "./database/Database.ts"
import { Notifications } from "./database/Notifications.ts"

export const layer: Layer.Layer<ChangeFeed, never, SqlClient.SqlClient | Notifications> = Layer.effect(
  ChangeFeed,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { listen, notify } = makeChangeListeners()
    const { deliver, send } = yield* makePublish
    yield* (yield* Notifications).listen((payload) => notify(parseChanges(payload)))
    return ChangeFeed.of({
      listen,
      publish: Effect.fn("ChangeFeed.publish")((changes) => Effect.suspend(() => send(deliver(changes)))),
      ping: Effect.flatMap(
        bounded(sql<{ readonly read_only: string }>`select ${sql.literal(readOnly)} as read_only`),
        ([row]) => (row?.read_only === "on" ? unavailable("The database is read-only.") : Effect.void)
      )
    })
  })
)
