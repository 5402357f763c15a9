/** An empty database of PostgreSQL and an empty virtual host of RabbitMQ, for one test. */
import { Effect, Layer, Redacted } from "effect"
import * as BusAmqp from "../../src/bus/amqp/BusAmqp.ts"
import * as LeaderAmqp from "../../src/bus/amqp/LeaderAmqp.ts"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"
import * as RepoSql from "../../src/repo/RepoSql.ts"
import { freshDatabase, freshVhost } from "./fresh.ts"

export const repoOnPostgres = Layer.unwrap(
  Effect.map(freshDatabase, (url) =>
    RepoSql.layer.pipe(Layer.provide(PostgresClient.layer({ url: Redacted.make(url) })))
  )
).pipe(Layer.orDie)

export const busOnRabbitMq = Layer.unwrap(
  Effect.map(freshVhost, (url) => {
    const amqp = { url: Redacted.make(url), queueType: "classic" } as const
    return Layer.merge(BusAmqp.layer(amqp), LeaderAmqp.layer(amqp))
  })
).pipe(Layer.orDie)
