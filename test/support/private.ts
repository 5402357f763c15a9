/** Database servers and brokers for a single test, which may break them. */
import { chmodSync, chownSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { type PostgresServer, queryPostgres, startPostgres } from "./Postgres.ts"
import { cleanUpAtExit } from "./Process.ts"
import { type RabbitMqServer, startRabbitMq } from "./RabbitMq.ts"
import { postgresUser } from "./System.ts"

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

/** The URL of a database that accepts only encrypted connections, on a server with this key and certificate. */
export const encryptedDatabase = (pair: { readonly key: string; readonly cert: string }) =>
  Effect.flatMap(temporaryFolder, (dir) =>
    Effect.promise(async () => {
      const user = await postgresUser()
      const file = (name: string, text: string) => {
        const path = join(dir, name)
        writeFileSync(path, text, { mode: 0o600 })
        if (user) chownSync(path, user.uid, user.gid)
        return path
      }
      const { url } = await startPostgres({
        dir: join(dir, "postgres"),
        settings: {
          ssl: "on",
          ssl_cert_file: file("cert.pem", pair.cert),
          ssl_key_file: file("key.pem", pair.key),
          hba_file: file("hba.conf", "host postgres all all trust\nhostssl all all all trust\n")
        }
      })
      await queryPostgres(url, "create database encrypted")
      return url.replace(/postgres$/, "encrypted")
    })
  )

export const privateRabbitMq = (config?: ReadonlyArray<string>) =>
  Effect.flatMap(temporaryFolder, (dir) =>
    Effect.promise(
      (): Promise<RabbitMqServer> => startRabbitMq({ dir: join(dir, "rabbitmq"), ...(config && { config }) })
    )
  )
