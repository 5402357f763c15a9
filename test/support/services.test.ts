import { describe, expect, it } from "@effect/vitest"
import { connect } from "amqplib"
import { Effect } from "effect"
import { freshDatabase, freshVhost } from "./fresh.ts"
import { queryPostgres } from "./Postgres.ts"

describe("test services", () => {
  it.scoped("a fresh database answers and is empty", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const tables = yield* Effect.promise(() =>
        queryPostgres(url, "select * from pg_tables where schemaname = 'public'")
      )
      expect(tables).toEqual([])
    })
  )

  it.scoped("two fresh virtual hosts do not see each other's queues", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* freshVhost, yield* freshVhost]
      yield* Effect.promise(async () => {
        const [a, b] = [await connect(one), await connect(other)]
        const [inOne, inOther] = [await a.createChannel(), await b.createChannel()]
        await inOne.assertQueue("q")
        inOne.sendToQueue("q", Buffer.from("hello"))
        const { messageCount } = await inOther.assertQueue("q")
        expect(messageCount).toBe(0)
        await Promise.all([a.close(), b.close()])
      })
    })
  )
})
