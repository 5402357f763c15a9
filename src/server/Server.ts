import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Context, Data, Layer, Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { ownCommand } from "../cli/OwnCommand.ts"
import { AdminKey } from "../engine/access/AdminKey.ts"
import { Oidc } from "../engine/access/oidc/OidcSettings.ts"
import { SignInLink } from "../engine/access/SignInLink.ts"
import { ManagementUrl } from "../engine/delivery/ManagementUrl.ts"
import { Mailer } from "../engine/delivery/mail/Mailer.ts"
import * as Engine from "../engine/Engine.ts"
import { AddressPolicy } from "../engine/egress/AddressPolicy.ts"
import { Renderer } from "../engine/prompt/Renderer.ts"
import { Settings } from "../engine/Settings.ts"
import { Limiter } from "../engine/step/Limiter.ts"
import * as AuditOutput from "../engine/upkeep/AuditOutput.ts"
import * as DatabaseClock from "../engine/upkeep/DatabaseClock.ts"
import * as Upkeep from "../engine/upkeep/Upkeep.ts"
import { SecretKeys } from "../engine/verify/SecretKeys.ts"
import { ManagementAccess } from "../http/access/ManagementAccess.ts"
import { OperationsAccess } from "../http/access/OperationsAccess.ts"
import { ServerFacts } from "../http/manage/ServerFacts.ts"
import { AllowedOrigins } from "../http/mcp/AllowedOrigins.ts"
import { PublicUrl } from "../http/request/PublicUrl.ts"
import { TrustedProxies } from "../http/request/TrustedProxies.ts"
import { ConnectionLimits } from "../http/serve/ConnectionLimits.ts"
import * as Drain from "../http/serve/Drain.ts"
import * as Listener from "../http/serve/Listener.ts"
import * as NodeServer from "../http/serve/NodeServer.ts"
import { keys } from "../leader/Place.ts"
import * as S3 from "../repo/s3/S3.ts"
import type { Drivers } from "./drivers/Drivers.ts"
import { type Environment, settings } from "./environment/Environment.ts"
import * as FilesEnvironment from "./environment/FilesEnvironment.ts"
import { secretsOf } from "./environment/LoadSettings.ts"
import * as MailEnvironment from "./environment/MailEnvironment.ts"
import * as OidcEnvironment from "./environment/OidcEnvironment.ts"
import type { ListenAddress } from "./ListenAddress.ts"
import * as Demo from "./leaders/Demo.ts"
import { installedAgents } from "./leaders/LeaderList.ts"
import * as LocalLeaders from "./leaders/LocalLeaders.ts"
import * as SecretsKeyFile from "./SecretsKeyFile.ts"
import * as Telemetry from "./Telemetry.ts"

const adminKey = (environment: Environment) =>
  Option.match(environment.adminKey, { onNone: () => AdminKey.layerGenerated, onSome: AdminKey.layerGiven })

/** For an embedded database the key is generated and stored next to it. For a shared one it must be given to each server. */
const secretKeys = ({ dataDir, secretKeys: given }: Environment, { repo }: Drivers) =>
  Option.match(given, {
    onNone: () => (repo.embedded === undefined ? SecretKeys.layer([]) : SecretsKeyFile.layer(dataDir)),
    onSome: (keys) => SecretKeys.layer(Redacted.value(keys))
  })

const connectionLimits = ({ maxConnections, maxConnectionsPerAddress }: Environment) =>
  new ConnectionLimits({
    connections: Option.getOrUndefined(maxConnections),
    connectionsPerAddress: Option.getOrUndefined(maxConnectionsPerAddress)
  })

/** The separate address for management, if any. */
export class AdminAddress extends Context.Service<AdminAddress, Option.Option<ListenAddress>>()(
  "webhook-trigger/AdminAddress"
) {}

/** The server cannot listen on the management address. */
export class CannotListenForAdmin extends Data.TaggedError("CannotListenForAdmin")<Listener.ListenFault> {}

const adminListener = (address: ListenAddress) => {
  const { layer, server } = Listener.make(address)
  return {
    server,
    /** The port that it listens on, once it does. */
    address: () => ({ ...address, port: (server.address() as AddressInfo).port }),
    layer: Layer.catch(layer, ({ code, host, port }) =>
      Layer.effect(HttpServer.HttpServer, new CannotListenForAdmin({ code, host, port }))
    )
  }
}

/** In a folder that this server has anyway; none for commands without one. */
const programsDir = ({ agents, agentsDir, dataDir }: Environment, { embedded }: Drivers["repo"]) => {
  if (embedded !== undefined) return join(dataDir, "programs")
  return agents.length > 0 ? join(agentsDir, ".programs") : undefined
}

/**
 * The whole server. The last layer is built first and closed last: the server listens once all routes exist, and answers
 * requests in progress before it closes their dependencies.
 */
export const layer = (environment: Environment, { bus, repo }: Drivers, version: string) => {
  const listener = Listener.make(environment)
  const management = Option.map(environment.adminListen, adminListener)
  // Closed before the engine, which receives their last answers, and after the callers that wait for them have these.
  const leaders = Layer.merge(
    Demo.isWanted(environment, bus) ? Demo.leader : Layer.empty,
    LocalLeaders.layer({
      ...environment,
      programsDir: programsDir(environment, repo),
      secrets: [...keys, ...secretsOf(settings)]
    })
  ).pipe(Layer.provide(bus.leaderBus))
  const servers = [listener.server, ...Option.toArray(Option.map(management, ({ server }) => server))]
  return Drain.layer(servers, environment.shutdownGrace).pipe(
    Layer.merge(Layer.sync(AdminAddress, () => Option.map(management, ({ address }) => address()))),
    Layer.provideMerge(NodeServer.layer(listener, { limits: connectionLimits(environment), management })),
    Layer.provideMerge(Telemetry.teamGauges(environment, version)),
    Layer.provideMerge(leaders),
    Layer.provideMerge(
      Layer.mergeAll(
        Engine.layer,
        Upkeep.runRetention(environment.runRetention),
        Upkeep.stepsRetention(environment.stepsRetention),
        Upkeep.auditRetention(environment.auditRetention),
        environment.auditToStdout ? AuditOutput.layer : Layer.empty
      )
    ),
    Layer.provideMerge(Layer.mergeAll(Limiter.layer, Renderer.layer, adminKey(environment), SignInLink.layer)),
    Layer.provideMerge(DatabaseClock.layer),
    Layer.provideMerge(Layer.mergeAll(repo.layer, bus.layer)),
    Layer.provide(
      Layer.mergeAll(
        Settings.layer(environment.engine),
        PublicUrl.layer(environment.publicUrl),
        // With a listener of its own, the management's address is not known.
        ManagementUrl.layer(Option.isSome(management) ? Option.none() : environment.publicUrl),
        OperationsAccess.layer(environment),
        AddressPolicy.layer(environment.callbackAllow),
        Mailer.layer(MailEnvironment.mailSettings(environment)),
        Option.match(FilesEnvironment.s3Settings(environment), { onNone: () => Layer.empty, onSome: S3.layer }),
        ManagementAccess.layer(environment.adminAllowFrom),
        AllowedOrigins.layer(environment.mcpAllowedOrigins),
        Oidc.layer(OidcEnvironment.toSettings(environment)),
        TrustedProxies.layer(environment.trustedProxies),
        secretKeys(environment, { bus, repo }),
        ServerFacts.layer({ version, database: repo.name, bus: bus.name, command: ownCommand, agents: installedAgents })
      )
    )
  )
}
