/**
 * The whole server in this process: a start takes a tenth of the CPU time of a process's. For tests whose subject is
 * neither a start nor signals nor pipes. What it logs is shown if the test fails.
 */
import { ConfigProvider, Deferred, Effect, type Scope } from "effect"
import * as Serve from "../../src/server/Serve.ts"
import { freshDatabase } from "./fresh.ts"

export interface Server {
  readonly url: string
  /** What the start says to the user. */
  readonly welcome: string
  /** Where its listeners are, as `host:port`: that of callers, then that of the management if it has its own. */
  readonly addresses: ReadonlyArray<string>
}

/** Starts it on a copied database and the embedded bus, or on those that the variables name. It runs until the scope closes. */
export const serve = (variables: Readonly<Record<string, string>>): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    const environment = {
      DATABASE_URL: variables.DATABASE_URL ?? (yield* freshDatabase),
      HOST: "127.0.0.1",
      PORT: "0",
      SECRETS_KEY: "0".repeat(64),
      // Nobody waits for an answer of a server that is about to end.
      SHUTDOWN_GRACE: "0 seconds",
      ...variables
    }
    const started = yield* Deferred.make<Serve.Started, unknown>()
    yield* Serve.run("1.2.3", (start) => Deferred.succeed(started, start)).pipe(
      Effect.onError((cause) => Deferred.failCause(started, cause)),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: environment })),
      Effect.forkScoped
    )
    const { address, welcome } = yield* Effect.orDie(Deferred.await(started))
    return { url: /Web UI and API +(\S+)\//.exec(welcome)![1]!, welcome, addresses: address.split(" and ") }
  })
