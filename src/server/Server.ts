import { HttpLayerRouter, HttpMiddleware } from "@effect/platform"
import { Layer, Option } from "effect"
import * as BusAmqp from "../bus/amqp/BusAmqp.ts"
import type { Bus } from "../bus/Bus.ts"
import * as BusMemory from "../bus/BusMemory.ts"
import { AdminKey } from "../engine/AdminKey.ts"
import * as Engine from "../engine/Engine.ts"
import { Limiter } from "../engine/Limiter.ts"
import { Renderer } from "../engine/Renderer.ts"
import * as Retention from "../engine/Retention.ts"
import { Settings } from "../engine/Settings.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import * as Routes from "../http/Routes.ts"
import { ServerFacts } from "../http/ServerFacts.ts"
import * as PgliteClient from "../repo/sql/PgliteClient.ts"
import * as PostgresClient from "../repo/sql/PostgresClient.ts"
import * as RepoSql from "../repo/sql/RepoSql.ts"
import * as Demo from "./Demo.ts"
import type { Environment } from "./Environment.ts"
import * as Listener from "./Listener.ts"

/** PostgreSQL where one is named, else PGlite in the data folder: the same SQL on both. */
const repo = (environment: Environment) =>
  Option.match(environment.databaseUrl, {
    onNone: () => Layer.provide(RepoSql.layer, PgliteClient.layer({ folder: environment.dataDir })),
    onSome: (url) => Layer.provide(RepoSql.layer, PostgresClient.layer({ url }))
  })

/** RabbitMQ where one is named, else a bus in memory and the demo team on it. */
const bus = (environment: Environment): Layer.Layer<Bus> =>
  Option.match(environment.amqpUrl, {
    onNone: () => Layer.provideMerge(Demo.leader, BusMemory.layer),
    onSome: (url) => BusAmqp.layer({ url, queueType: environment.amqpQueueType })
  })

const adminKey = (environment: Environment) =>
  Option.match(environment.adminKey, { onNone: () => AdminKey.layerGenerated, onSome: AdminKey.layerGiven })

const facts = (environment: Environment, version: string) =>
  ServerFacts.layer({
    version,
    database: Option.isSome(environment.databaseUrl) ? "postgresql" : "embedded",
    bus: Option.isSome(environment.amqpUrl) ? "rabbitmq" : "embedded"
  })

/**
 * The whole server. What is provided last is built first and closed last: requests in flight are answered before any of
 * what they need goes away.
 */
export const layer = (environment: Environment, version: string) => {
  const listener = Listener.make(environment)
  const routes = Layer.merge(Routes.layer, Routes.notFound)
  // Effect's logger is off for all: said here, no request has to say it for itself.
  const http = HttpLayerRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.locally(HttpMiddleware.loggerDisabled, true)
  )

  return listener
    .drain(environment.shutdownGrace)
    .pipe(
      Layer.provideMerge(http),
      Layer.provideMerge(listener.layer),
      Layer.provideMerge(Layer.merge(Engine.layer, Retention.layer(environment.runRetention))),
      Layer.provideMerge(Layer.mergeAll(Limiter.layer, Renderer.layer, adminKey(environment))),
      Layer.provideMerge(Layer.mergeAll(repo(environment), bus(environment))),
      Layer.provide(
        Layer.mergeAll(
          Settings.layer(environment.engine),
          PublicUrl.layer(environment.publicUrl),
          facts(environment, version)
        )
      )
    )
}
