/** The database server and the broker that fault tests run on: the whole run's, or private ones that a test may break. */
import { chmodSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { type PostgresServer, startPostgres } from "../../support/Postgres.ts"
import { cleanUpAtExit } from "../../support/Process.ts"
import { type RabbitMqServer, startRabbitMq } from "../../support/RabbitMq.ts"
import type {} from "../../support/services.ts"

export interface Services {
  readonly databaseUrl: string
  readonly amqpUrl: string
  readonly managementUrl: string
}

export const sharedServices = (): Services => ({
  databaseUrl: inject("databaseUrl"),
  amqpUrl: inject("amqpUrl"),
  managementUrl: inject("amqpManagementUrl")
})

/** Servers of which those that are asked for are private; they start side by side. */
export const privateServices = async (which: { readonly postgres?: boolean; readonly rabbitmq?: boolean }) => {
  const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-faults-"))
  // PostgreSQL runs as another user and must reach its folder.
  chmodSync(dir, 0o755)
  const cleanUp = cleanUpAtExit(dir)
  const [postgres, rabbitmq] = await Promise.all([
    which.postgres ? startPostgres({ dir: join(dir, "postgres") }) : undefined,
    which.rabbitmq ? startRabbitMq({ dir: join(dir, "rabbitmq") }) : undefined
  ])
  const services: Services = {
    ...sharedServices(),
    ...(postgres && { databaseUrl: postgres.url }),
    ...(rabbitmq && { amqpUrl: rabbitmq.url, managementUrl: rabbitmq.managementUrl })
  }
  return {
    postgres: postgres as PostgresServer,
    rabbitmq: rabbitmq as RabbitMqServer,
    services,
    close: async () => {
      await Promise.all([postgres?.stop(), rabbitmq?.dispose()])
      await cleanUp()
    }
  }
}

export type PrivateServices = Awaited<ReturnType<typeof privateServices>>
