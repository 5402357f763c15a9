import { Effect, Layer, Option } from "effect"
import { exitCodes, Failure } from "../cli/Failure.ts"
import type { Overrides } from "../cli/LocalCommands.ts"
import { type NotShown, print, printOnce } from "../cli/Output.ts"
import type { Unavailable } from "../domain/Errors.ts"
import { AdminKey } from "../engine/access/AdminKey.ts"
import { SignInLink } from "../engine/access/SignInLink.ts"
import * as Listener from "../http/serve/Listener.ts"
import type { DataFolderInUse, DataFolderUnusable } from "../repo/database/DataFolder.ts"
import * as Drivers from "./drivers/Drivers.ts"
import * as Environment from "./environment/Environment.ts"
import { settingsInvalid, withOverrides } from "./environment/Overrides.ts"
import * as ListenAddress from "./ListenAddress.ts"
import * as Logs from "./Logs.ts"
import * as Demo from "./leaders/Demo.ts"
import * as LocalLeaders from "./leaders/LocalLeaders.ts"
import * as Server from "./Server.ts"
import * as Telemetry from "./Telemetry.ts"
import * as Welcome from "./Welcome.ts"

/** The announcement of a start. */
export interface Started {
  /** For the user; may hold a generated admin key. */
  readonly welcome: string
  /** The addresses of its listeners, as `host:port`. */
  readonly address: string
  /** The welcome has an admin key, which nobody sees again. */
  readonly isOnlyChance: boolean
}

type Announce = (started: Started) => Effect.Effect<void, NotShown>

const serveWith = (
  environment: Environment.Environment,
  drivers: Drivers.Drivers,
  version: string,
  announce: Announce
) =>
  Effect.gen(function* () {
    const demo = Demo.isWanted(environment, drivers.bus) ? yield* Demo.prepare : Option.none()
    const isSingle = drivers.repo.embedded !== undefined
    const localTeams = yield* LocalLeaders.prepare([...environment.leaders, ...environment.agents], {
      withWebhooks: isSingle
    })
    const address = { host: environment.host, port: yield* Listener.port }
    const url = Option.getOrElse(environment.publicUrl, () => ListenAddress.urlOf(address))
    const admin = yield* Server.AdminAddress
    const adminUrl = Option.map(admin, ListenAddress.urlOf)
    const { claim } = yield* AdminKey
    // With several servers, the one that answers may not be the one that knows it.
    const signInKey = isSingle ? Option.some(yield* (yield* SignInLink).make) : Option.none()
    yield* claim((generated) => {
      const welcome = Welcome.text({
        version,
        url,
        adminUrl,
        apiDocs: environment.apiDocs,
        drivers,
        adminKey: { isGiven: Option.isSome(environment.adminKey), generated },
        signInKey,
        demo,
        localTeams
      })
      return announce({
        welcome: environment.logFormat === "json" ? Welcome.json(welcome) : welcome,
        address: [address, ...Option.toArray(admin)].map(ListenAddress.toText).join(" and "),
        isOnlyChance: Option.isSome(generated)
      })
    })
    return yield* Effect.never
  }).pipe(Effect.provide(Server.layer(environment, drivers, version)))

/** Reads the settings and serves until it is interrupted; a start that fails says why. */
export const run = (version: string, announce: Announce): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const environment = yield* Environment.load
    yield* LocalLeaders.check(environment)
    const drivers = Drivers.choose(environment)
    const telemetry = Layer.provideMerge(Telemetry.otlp(environment, version), Logs.layer(environment))
    return yield* Environment.warnOfMisspelled.pipe(
      Effect.andThen(serveWith(environment, drivers, version, announce)),
      Effect.provide(telemetry)
    )
  }).pipe(
    Effect.catchTags({
      SettingsInvalid: (error) => Effect.fail(settingsInvalid("The server", error)),
      CannotListen: (error) => cannotListen(error, ({ port }) => `--port ${port} or PORT=${port}`, "HOST and PORT"),
      CannotListenForAdmin: (error) =>
        cannotListen(error, (address) => `ADMIN_LISTEN=${ListenAddress.toText(address)}`, "ADMIN_LISTEN"),
      DataFolderInUse: (error) => Effect.fail(folderInUse(error)),
      DataFolderUnusable: (error) => Effect.fail(folderUnusable(error)),
      Unavailable: (error) => Effect.fail(unavailable(error)),
      NotShown: (error) => Effect.fail(notShown(error)),
      ProgramMissing: ({ message }) => Effect.fail(leaderUnusable(message)),
      OptionsUnusable: ({ message }) => Effect.fail(leaderUnusable(message)),
      FolderUnusable: ({ message }) => Effect.fail(leaderUnusable(message)),
      UserUnusable: ({ message }) => Effect.fail(leaderUnusable(message)),
      TeamUnknown: Effect.die
    })
  )

/** The `serve` command. Runs until a signal arrives. */
export const serve = (overrides: Overrides, version: string): Effect.Effect<void, Failure> =>
  run(version, ({ address, isOnlyChance, welcome }) =>
    Effect.andThen(isOnlyChance ? printOnce(welcome) : print(welcome), Effect.logInfo(`Listening on ${address}`))
  ).pipe(withOverrides(overrides))

const cannotListen = Effect.fnUntraced(function* (
  { code, host, port }: Listener.ListenFault,
  set: (address: ListenAddress.ListenAddress) => string,
  ofAddress: string
) {
  const detail =
    code === "EADDRINUSE"
      ? `port ${port} is in use; stop what uses it, or use a free one with ${set({ host, port: yield* Listener.freePort({ host, port }) })}`
      : `it cannot listen on ${host}:${port} (${code}); see ${ofAddress} in docs/reference/settings.md`
  return yield* new Failure({ exit: exitCodes.refused, title: "The server did not start", detail })
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

const leaderUnusable = (detail: string) =>
  new Failure({ exit: exitCodes.usage, title: "The server did not start", detail })

const notShown = ({ because }: NotShown) =>
  new Failure({
    exit: exitCodes.refused,
    title: "The server did not start",
    detail: `its first start prints a new admin key once, but standard output ${because}; set ADMIN_API_KEY to a key of your own, or start it where its output is seen`
  })

const unavailable = ({ detail }: Unavailable) =>
  new Failure({ exit: exitCodes.outOfReach, title: "The server did not start", detail })
