/**
 * Vitest's global set-up: one PostgreSQL and one RabbitMQ for the whole run.
 *
 * `TEST_DATABASE_URL` (a superuser's, or one who may create databases) and `TEST_AMQP_URL` name running servers; the
 * broker's management API is then expected on port 15672 or at `TEST_AMQP_MANAGEMENT_URL`. What is not named is started
 * from the installed packages, in a temporary folder, and removed at the end. `TEST_SERVICES=none` starts nothing, for
 * runs of tests that need no service.
 */
import { chmodSync, existsSync, mkdtempSync, statfsSync } from "node:fs"
import { freemem, tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { installServices } from "./install.ts"
import { queryPostgres, startPostgres } from "./Postgres.ts"
import { cleanUpAtExit } from "./Process.ts"
import { startRabbitMq } from "./RabbitMq.ts"
import { createTemplate } from "./Template.ts"

declare module "vitest" {
  export interface ProvidedContext {
    databaseUrl: string
    /** The name of the migrated database. */
    templateDatabase: string
    amqpUrl: string
    amqpManagementUrl: string
  }
}

/** No test stops this server, so nothing needs to survive. Tests that do have their own, with fsync on. */
const settings = { fsync: "off" }

const shared = "/dev/shm"
/** Bytes, in memory and available for files in it. */
const roomNeeded = 8 * 1024 ** 3

/**
 * Tests write to memory if there is enough: waiting for the disk takes a tenth of the time. `TMPDIR` selects another
 * place.
 */
const writeToMemory = (): void => {
  if (process.env.TMPDIR !== undefined || !existsSync(shared)) return
  const { bavail, bsize } = statfsSync(shared)
  if (Math.min(bavail * bsize, freemem()) > roomNeeded) process.env.TMPDIR = shared
}

export default async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  const given = { database: process.env.TEST_DATABASE_URL, amqp: process.env.TEST_AMQP_URL }
  if (process.env.TEST_SERVICES === "none") {
    project.provide("databaseUrl", "")
    project.provide("templateDatabase", "")
    project.provide("amqpUrl", "")
    project.provide("amqpManagementUrl", "")
    return
  }
  installServices({ postgres: !given.database, rabbitmq: !given.amqp })
  writeToMemory()
  const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-test-"))
  // PostgreSQL runs as another user and must reach its folder.
  chmodSync(dir, 0o755)
  const cleanUp = cleanUpAtExit(dir)
  try {
    const [database, broker] = await Promise.all([
      given.database
        ? { url: given.database, stop: async () => {} }
        : startPostgres({ dir: join(dir, "postgres"), settings }),
      given.amqp
        ? { url: given.amqp, managementUrl: managementOf(given.amqp), dispose: async () => {} }
        : startRabbitMq({ dir: join(dir, "rabbitmq") })
    ])
    const template = `template_${process.pid}`
    await createTemplate(database.url, template)
    project.provide("databaseUrl", database.url)
    project.provide("templateDatabase", template)
    project.provide("amqpUrl", broker.url)
    project.provide("amqpManagementUrl", broker.managementUrl)
    return async () => {
      await queryPostgres(database.url, `DROP DATABASE ${template} WITH (FORCE)`)
      await Promise.all([database.stop(), broker.dispose()])
      await cleanUp()
    }
  } catch (error) {
    await cleanUp()
    throw error
  }
}

const managementOf = (amqp: string): string => {
  if (process.env.TEST_AMQP_MANAGEMENT_URL) return process.env.TEST_AMQP_MANAGEMENT_URL
  const url = new URL(amqp)
  const user = url.username === "" ? "guest:guest" : `${url.username}:${url.password}`
  return `http://${user}@${url.hostname}:15672`
}
