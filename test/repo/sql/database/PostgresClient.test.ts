import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { Unavailable } from "../../../../src/domain/Errors.ts"
import { freshDatabase } from "../../../support/fresh.ts"
import { layerOf, replicaOf } from "../Replica.ts"

const password = "s3cr3t-of-the-database"

describe("PostgresClient", () => {
  it.scopedLive("compiles no statement of ours, also where it is told to", () =>
    Effect.gen(function* () {
      const url = new URL(yield* freshDatabase)
      url.searchParams.set("options", "-c jit=on -c jit_above_cost=0")
      const context = yield* Layer.build(layerOf(url.href))
      const sql = Context.get(context, SqlClient.SqlClient)
      const settings = yield* Effect.all([sql`show jit`, sql`show jit_above_cost`])
      expect(settings).toEqual([[{ jit: "off" }], [{ jit_above_cost: "0" }]])
    })
  )

  it.scopedLive("ends at once the statements that wait for a connection when it ends", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layerOf(yield* freshDatabase), scope)
      const sql = Context.get(context, SqlClient.SqlClient)
      const ends: Array<string> = []
      const start = (name: string, statement: Effect.Effect<unknown, unknown>) =>
        Effect.fork(
          Effect.ensuring(
            Effect.exit(statement),
            Effect.sync(() => ends.push(name))
          )
        )
      // All connections, until they are cut.
      const busy = yield* Effect.replicateEffect(start("busy", sql`select pg_sleep(60)`), 5)
      const waiting = yield* start("waiting", sql`select 1`)
      yield* Effect.yieldNow()
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.joinAll([...busy, waiting])
      expect(ends[0]).toBe("waiting")
    })
  )

  it.scopedLive("names a database at the start that can never be reached, without its password", () =>
    Effect.gen(function* () {
      const url = new URL(yield* freshDatabase)
      url.password = password
      url.pathname = "/nowhere"
      const lines: Array<string> = []
      const error = yield* Effect.flip(replicaOf(url.href)).pipe(
        Effect.provide(
          Logger.replace(
            Logger.defaultLogger,
            Logger.make((line) => lines.push(Logger.logfmtLogger.log(line)))
          )
        )
      )
      expect(error).toBeInstanceOf(Unavailable)
      expect(error.detail).toContain("nowhere")
      expect(lines.length).toBeGreaterThan(0)
      expect(JSON.stringify([error, ...lines])).not.toContain(password)
    })
  )
})
