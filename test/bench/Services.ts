/** The database server and the broker that all contenders use in turn. */
import { join } from "node:path"
import { type PostgresServer, queryPostgres, startPostgres } from "../support/Postgres.ts"
import { manage, type RabbitMqServer, startRabbitMq } from "../support/RabbitMq.ts"

export interface Services {
  readonly dir: string
  readonly postgres: PostgresServer
  readonly rabbitmq: RabbitMqServer
  readonly versions: { readonly postgres: string; readonly rabbitmq: string }
  readonly stop: () => Promise<void>
}

export const startServices = async (dir: string): Promise<Services> => {
  const [postgres, rabbitmq] = await Promise.all([
    startPostgres({ dir: join(dir, "postgres"), settings: { shared_preload_libraries: "pg_stat_statements" } }),
    startRabbitMq({ dir: join(dir, "rabbitmq") })
  ])
  await queryPostgres(postgres.url, "create extension pg_stat_statements")
  const [row] = await queryPostgres(postgres.url, "show server_version")
  const overview = await (await manage(rabbitmq.managementUrl, "GET", "/api/overview")).json()
  return {
    dir,
    postgres,
    rabbitmq,
    versions: {
      postgres: String(row?.server_version).split(" ")[0]!,
      rabbitmq: (overview as { rabbitmq_version: string }).rabbitmq_version
    },
    stop: async () => {
      await Promise.all([postgres.stop(), rabbitmq.dispose()])
    }
  }
}

/** How many statements the sessions of a database have run since it was created. */
export const countStatements = async ({ postgres }: Services, database: string): Promise<number> => {
  const [row] = await queryPostgres(
    postgres.url,
    `select coalesce(sum(calls), 0)::int as calls
     from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = '${database}'`
  )
  return Number(row?.calls)
}
