import { Context, Data, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../domain/Errors.ts"
import { boundedBy } from "./database/Database.ts"

/** In milliseconds: some hundred objects are stored one by one. */
const limit = 30_000

class Undone<A> extends Data.TaggedError("Undone")<{ readonly result: A }> {}

/** One commit for what several stores do. */
export class TransactionStore extends Context.Service<TransactionStore>()("webhook-trigger/TransactionStore", {
  make: Effect.map(SqlClient.SqlClient, (sql) => {
    /** A failure undoes all of it. */
    const inOneCommit = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
      boundedBy(limit)(sql.withTransaction(effect)) as Effect.Effect<A, E | Unavailable, R>

    /** Only the result stays. */
    const inNoCommit = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
      inOneCommit(Effect.flatMap(effect, (result) => Effect.fail(new Undone({ result })))).pipe(
        Effect.catchIf(
          (error): error is Undone<A> => error instanceof Undone,
          ({ result }) => Effect.succeed(result)
        )
      ) as Effect.Effect<A, E | Unavailable, R>

    return { inOneCommit, inNoCommit }
  })
}) {
  static readonly layer = Layer.effect(TransactionStore, TransactionStore.make)
}
