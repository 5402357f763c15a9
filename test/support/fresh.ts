/** A database and a virtual host for a single test or file: files run side by side, and queue names are fixed. */
import { randomBytes } from "node:crypto"
import { Effect, type Scope } from "effect"
import { inject } from "vitest"
import { queryPostgres } from "./Postgres.ts"
import { createVhost, deleteVhost } from "./RabbitMq.ts"
import type {} from "./services.ts"

const given = (name: "databaseUrl" | "templateDatabase" | "amqpUrl" | "amqpManagementUrl"): string => {
  const url = inject(name)
  if (url === "") throw new Error("this test needs the services that TEST_SERVICES=none turned off")
  return url
}

const freshName = () => `test_${randomBytes(6).toString("hex")}`

/** Creates a database, which is dropped when the scope closes. Returns its URL. */
const database = (options = ""): Effect.Effect<string, never, Scope.Scope> => {
  const server = given("databaseUrl")
  const name = freshName()
  return Effect.acquireRelease(
    Effect.promise(async () => {
      await queryPostgres(server, `CREATE DATABASE ${name} ${options}`)
      const url = new URL(server)
      url.pathname = `/${name}`
      return url.href
    }),
    () => Effect.promise(() => queryPostgres(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  )
}

/** The URL of a migrated database without rows, dropped when the scope closes. */
export const freshDatabase: Effect.Effect<string, never, Scope.Scope> = Effect.suspend(() =>
  database(`TEMPLATE ${given("templateDatabase")}`)
)

/** The URL of a database without any tables, for tests of migrations; dropped when the scope closes. */
export const emptyDatabase: Effect.Effect<string, never, Scope.Scope> = Effect.suspend(() => database())

/** The AMQP URL of an empty virtual host, deleted when the scope closes. `settings`: of the management API. */
export const freshVhostWith = (settings: Readonly<Record<string, string>>): Effect.Effect<string, never, Scope.Scope> =>
  Effect.suspend(() => {
    const [server, management] = [given("amqpUrl"), given("amqpManagementUrl")]
    const name = freshName()
    return Effect.acquireRelease(
      Effect.promise(() => createVhost(server, management, name, settings)),
      () => Effect.promise(() => deleteVhost(management, name))
    )
  })

export const freshVhost = freshVhostWith({})

/** The broker's management API, for `manage`. */
export const managementUrl = (): string => given("amqpManagementUrl")
