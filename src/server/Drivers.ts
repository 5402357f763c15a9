/** What the server runs on: one driver of the repo and one of the bus, chosen here and nowhere else. */
import { resolve } from "node:path"
import { Layer, Option } from "effect"
import type { Server } from "../api/Overview.ts"
import * as BusAmqp from "../bus/amqp/BusAmqp.ts"
import type { Bus } from "../bus/Bus.ts"
import * as BusMemory from "../bus/BusMemory.ts"
import type { Unavailable } from "../domain/Errors.ts"
import type { Repo } from "../repo/Repo.ts"
import type { DataFolderInUse, DataFolderUnusable } from "../repo/sql/DataFolder.ts"
import * as PgliteClient from "../repo/sql/PgliteClient.ts"
import * as PostgresClient from "../repo/sql/PostgresClient.ts"
import * as RepoSql from "../repo/sql/RepoSql.ts"
import * as Demo from "./Demo.ts"
import type { Environment } from "./Environment.ts"

interface Driver<Name, Port, Error = never> {
  /** As the API and the web UI call it. */
  readonly name: Name
  readonly layer: Layer.Layer<Port, Error>
  /** Present when it lives in the server's process: for trying out, and for a single server. */
  readonly embedded?: {
    /** Where it is, in words. */
    readonly place: string
    /** The variable that takes production's in its place. */
    readonly replacedBy: string
  }
}

export type RepoDriver = Driver<Server["database"], Repo, DataFolderInUse | DataFolderUnusable | Unavailable>

export interface BusDriver extends Driver<Server["bus"], Bus> {
  /** Its layer leads the demo team too. */
  readonly hasDemoTeam?: boolean
}

/** What the server runs on. */
export interface Drivers {
  readonly repo: RepoDriver
  readonly bus: BusDriver
}

const postgres = ({ databaseUrl }: Environment) =>
  Option.map(
    databaseUrl,
    (url): RepoDriver => ({ name: "postgresql", layer: Layer.provide(RepoSql.layer, PostgresClient.layer({ url })) })
  )

const pglite = ({ dataDir }: Environment): RepoDriver => ({
  name: "embedded",
  layer: Layer.provide(RepoSql.layer, PgliteClient.layer({ folder: dataDir })),
  embedded: { place: `the database is embedded, in the folder ${resolve(dataDir)}`, replacedBy: "DATABASE_URL" }
})

const amqp = ({ amqpQueueType: queueType, amqpUrl }: Environment) =>
  Option.map(amqpUrl, (url): BusDriver => ({ name: "rabbitmq", layer: BusAmqp.layer({ url, queueType }) }))

const memory: BusDriver = {
  name: "embedded",
  layer: Layer.provideMerge(Demo.leader, BusMemory.layer),
  embedded: { place: "the message bus is in this process's memory", replacedBy: "AMQP_URL" },
  hasDemoTeam: true
}

/** Of each kind the first that the settings name, else the embedded one. */
export const choose = (environment: Environment): Drivers => ({
  repo: Option.firstSomeOf([postgres(environment)]).pipe(Option.getOrElse(() => pglite(environment))),
  bus: Option.firstSomeOf([amqp(environment)]).pipe(Option.getOrElse(() => memory))
})
