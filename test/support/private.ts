/** Database servers and brokers for a single test, which may break them. */
import { chmodSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { type PostgresServer, startPostgres } from "./Postgres.ts"
import { cleanUpAtExit } from "./Process.ts"
import { type RabbitMqServer, startRabbitMq } from "./RabbitMq.ts"

/** A folder that is removed when the scope closes. Processes running in a folder inside it are killed. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-test-"))
      chmodSync(dir, 0o755)
      return { dir, cleanUp: cleanUpAtExit(dir) }
    }),
    ({ cleanUp }) => Effect.promise(cleanUp)
  ),
  ({ dir }) => dir
)

export const privatePostgres = (settings?: Readonly<Record<string, string>>) =>
  Effect.flatMap(temporaryFolder, (dir) =>
    Effect.promise(
      (): Promise<PostgresServer> => startPostgres({ dir: join(dir, "postgres"), ...(settings && { settings }) })
    )
  )

export const privateRabbitMq = (config?: ReadonlyArray<string>) =>
  Effect.flatMap(temporaryFolder, (dir) =>
    Effect.promise(
      (): Promise<RabbitMqServer> => startRabbitMq({ dir: join(dir, "rabbitmq"), ...(config && { config }) })
    )
  )
