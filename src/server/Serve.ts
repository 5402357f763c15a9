import { HttpServer } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { exitCodes, Failure } from "../cli/Failure.ts"
import type { Overrides } from "../cli/LocalCommands.ts"
import { print } from "../cli/Output.ts"
import type { Unavailable } from "../domain/Errors.ts"
import { AdminKey } from "../engine/AdminKey.ts"
import type { DataFolderInUse, DataFolderUnusable } from "../repo/sql/DataFolder.ts"
import * as Demo from "./Demo.ts"
import * as Drivers from "./Drivers.ts"
import * as Environment from "./Environment.ts"
import type { CannotListen } from "./Listener.ts"
import { settingsInvalid, withOverrides } from "./Overrides.ts"
import * as Server from "./Server.ts"
import * as Telemetry from "./Telemetry.ts"
import * as Welcome from "./Welcome.ts"

const serveWith = (environment: Environment.Environment, version: string) => {
  const drivers = Drivers.choose(environment)
  return Effect.gen(function* () {
    const demo = drivers.bus.hasDemoTeam ? yield* Demo.prepare : Option.none()
    const { address } = yield* HttpServer.HttpServer
    const port = address._tag === "TcpAddress" ? address.port : environment.port
    const url = Option.getOrElse(environment.publicUrl, () => `http://localhost:${port}`)
    const { generated } = yield* AdminKey
    const adminKey = { isGiven: Option.isSome(environment.adminKey), generated }
    yield* print(Welcome.text({ version, url, drivers, adminKey, demo }))
    yield* Effect.logInfo(`Listening on ${environment.host}:${port}`)
    return yield* Effect.never
  }).pipe(Effect.provide(Server.layer(environment, drivers, version)))
}

/** The `serve` command: reads the settings and runs until a signal comes; a start that fails says why. */
export const serve = (overrides: Overrides, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const environment = yield* Environment.load
    const telemetry = Layer.merge(Telemetry.logs(environment), Telemetry.otlp(environment, version))
    return yield* Effect.provide(serveWith(environment, version), telemetry)
  }).pipe(
    Effect.catchTags({
      SettingsInvalid: (error) => Effect.fail(settingsInvalid("The server", error)),
      CannotListen: (error) => Effect.fail(cannotListen(error)),
      DataFolderInUse: (error) => Effect.fail(folderInUse(error)),
      DataFolderUnusable: (error) => Effect.fail(folderUnusable(error)),
      Unavailable: (error) => Effect.fail(unavailable(error)),
      TeamExists: Effect.die,
      TeamUnknown: Effect.die
    }),
    withOverrides(overrides)
  )

const cannotListen = ({ code, host, port }: CannotListen) =>
  new Failure({
    exit: exitCodes.refused,
    title: "The server did not start",
    detail:
      code === "EADDRINUSE"
        ? `port ${port} is in use; stop what uses it, or choose another port with PORT or --port`
        : `it cannot listen on ${host}:${port} (${code}); see HOST and PORT in docs/settings.md`
  })

const folderInUse = ({ folder, pid }: DataFolderInUse) =>
  new Failure({
    exit: exitCodes.refused,
    title: "The server did not start",
    detail: `the data folder ${folder} is in use by another server (process ${pid}); stop that one, or choose another folder with DATA_DIR or --data-dir`
  })

const folderUnusable = ({ code, folder }: DataFolderUnusable) =>
  new Failure({
    exit: exitCodes.usage,
    title: "The server did not start",
    detail: `DATA_DIR or --data-dir must be a folder that this user can write to, or one that can be created; ${folder} is not (${code})`
  })

const unavailable = ({ detail }: Unavailable) =>
  new Failure({ exit: exitCodes.outOfReach, title: "The server did not start", detail })
