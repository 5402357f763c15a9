/** A real server on ports in memory, which a test can put out of reach. */
import { createServer, type Server as NodeServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import { Bus, type Delivery, LeaderBus } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { Unavailable } from "../../src/domain/Errors.ts"
import { TeamName } from "../../src/domain/Team.ts"
import { AdminKey } from "../../src/engine/access/AdminKey.ts"
import { Oidc, type OidcSettings } from "../../src/engine/access/oidc/OidcSettings.ts"
import { Pace } from "../../src/engine/alert/AlertEvaluation.ts"
import { ManagementUrl } from "../../src/engine/delivery/ManagementUrl.ts"
import { Mailer, type MailSettings } from "../../src/engine/delivery/mail/Mailer.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { AddressPolicy, type Allowed } from "../../src/engine/egress/AddressPolicy.ts"
import { Poster } from "../../src/engine/egress/Poster.ts"
import type { Resolve } from "../../src/engine/egress/Resolver.ts"
import { Renderer } from "../../src/engine/prompt/Renderer.ts"
import { Settings, type SettingsValues } from "../../src/engine/Settings.ts"
import { Shutdown } from "../../src/engine/Shutdown.ts"
import { Limiter } from "../../src/engine/step/Limiter.ts"
import * as DatabaseClock from "../../src/engine/upkeep/DatabaseClock.ts"
import { type SecretKey, SecretKeys } from "../../src/engine/verify/SecretKeys.ts"
import { SnsRequests } from "../../src/engine/verify/SnsRequests.ts"
import { TokenKeys } from "../../src/engine/verify/TokenKeys.ts"
import { ManagementAccess } from "../../src/http/access/ManagementAccess.ts"
import { OperationsAccess } from "../../src/http/access/OperationsAccess.ts"
import { StreamLimits } from "../../src/http/events/RunEvents.ts"
import { AllowedOrigins } from "../../src/http/mcp/AllowedOrigins.ts"
import { PublicUrl } from "../../src/http/request/PublicUrl.ts"
import { TrustedProxies } from "../../src/http/request/TrustedProxies.ts"
import { ConnectionLimits, type Limits } from "../../src/http/serve/ConnectionLimits.ts"
import { keepAliveTimeout, port as listeningPort } from "../../src/http/serve/Listener.ts"
import * as HttpOnNode from "../../src/http/serve/NodeServer.ts"
import { type Repo, ports as repoPorts } from "../../src/repo/Repo.ts"
import * as S3 from "../../src/repo/s3/S3.ts"
import { TimeStore } from "../../src/repo/TimeStore.ts"
import { layerRepo } from "../../src/testing.ts"
import { repeatUntil } from "../support/Until.ts"
import { type Call, call } from "./Client.ts"
import { asSns } from "./SnsSender.ts"

export const adminKey = "an-admin-key-for-tests"

/** For tests that wait for alerts. */
export const quickPace: Context.Service.Shape<typeof Pace> = {
  interval: Duration.millis(300)
}

const testSecretKey: SecretKey = Redacted.make(new Uint8Array(32).fill(7))

type Fault = "database" | "broker" | "bug"

/** What is out of reach at the moment; `bug`: the database's driver throws. */
class FaultSet extends Set<Fault> {
  /** The keys of the effects that have failed so far. */
  readonly failed: Array<string> = []
}

export class Faults extends Context.Service<Faults, FaultSet>()("test/Faults") {
  static readonly layer = Layer.sync(Faults, () => new FaultSet())
}

/** The service, all of whose effects fail while its part is among the faults. */
const breakable = <I, S extends object>(tag: Context.Service<I, S>, what: "database" | "broker") =>
  Layer.effect(
    tag,
    Effect.map(Effect.all([tag, Faults]), ([service, faults]) => {
      const guarded = (key: string, effect: Effect.Effect<unknown, unknown>) =>
        Effect.suspend(() => {
          if (faults.has("bug") && what === "database") return Effect.die(new Error("a bug"))
          if (!faults.has(what)) return effect
          faults.failed.push(key)
          return new Unavailable({ what, detail: `The ${what} is out of reach.` })
        })
      return new Proxy(service, {
        get: (target, key) => {
          const value: any = Reflect.get(target, key)
          if (typeof value === "function") {
            return (...args: Array<unknown>) => {
              const result = value(...args)
              return Effect.isEffect(result) ? guarded(String(key), result as Effect.Effect<unknown>) : result
            }
          }
          return Effect.isEffect(value) ? guarded(String(key), value as Effect.Effect<unknown>) : value
        }
      })
    })
  )

const breakablePorts = Layer.mergeAll(
  breakable(Bus, "broker"),
  ...repoPorts.map((port) => breakable(port as Context.Service<any, object>, "database"))
) as Layer.Layer<Bus | Repo, never, Bus | Repo | Faults>

export interface Options {
  readonly settings?: Partial<SettingsValues>
  readonly publicUrl?: string
  readonly trustedProxies?: ReadonlyArray<string>
  readonly adminKey?: string
  /** With which secrets are encrypted; by default one of the tests' own. */
  readonly secretKeys?: ReadonlyArray<SecretKey>
  /** In place of the service's own. */
  readonly renderer?: Layer.Layer<Renderer, never, Settings>
  /** Given Node's server, before it listens. */
  readonly onServer?: (server: NodeServer) => void
  readonly limits?: Limits
  readonly access?: Context.Service.Shape<typeof OperationsAccess>
  /** The addresses that may call the management; by default all. */
  readonly allowFrom?: ReadonlyArray<string>
  /** Whose pages may call `/mcp`; by default none. */
  readonly mcpOrigins?: ReadonlyArray<string>
  /** Where destinations may be, besides public addresses. Default: on this machine. */
  readonly allowed?: Allowed
  /** By which e-mails are sent. */
  readonly mail?: MailSettings
  /** Finds the addresses of their names. */
  readonly resolve?: Resolve
  /** Where people may sign in. */
  readonly oidc?: OidcSettings
  /** How often alert rules are measured. Default: the service's own 15 s, as measuring takes half of an idle server's work. */
  readonly pace?: Context.Service.Shape<typeof Pace>
  /** Streams of events of runs. */
  readonly streamLimits?: Context.Service.Shape<typeof StreamLimits>
  /** Of another server, whose replica this one is; else it has one of its own. */
  readonly repo?: Layer.Layer<Repo>
  /** Where the contents of files are. Default: in the database. */
  readonly bucket?: S3.S3Settings
  /** Default: in memory. */
  readonly bus?: Layer.Layer<Bus | LeaderBus>
  /** Requests for what a check needs: to Amazon SNS, by default with the tests' own certificate, or for an issuer's keys. */
  readonly sns?: Poster["Service"]["post"]
}

/** Everything that the routes need. */
export const services = ({
  settings = {},
  publicUrl,
  trustedProxies = [],
  repo,
  bucket,
  bus = BusMemory.layer,
  renderer = Renderer.layer,
  adminKey: key = adminKey,
  secretKeys = [testSecretKey],
  access = { metricsToken: Option.none(), apiDocs: true },
  allowFrom,
  mcpOrigins = [],
  oidc,
  pace = Pace.defaultValue(),
  streamLimits = { inAll: 1_000, ofOne: 1_000 },
  allowed = { hosts: [], networks: ["127.0.0.1"] },
  mail,
  resolve,
  sns = asSns
}: Options = {}) =>
  Layer.merge(
    Engine.layer,
    Layer.mergeAll(SnsRequests.layer, TokenKeys.layer).pipe(Layer.provide(Layer.succeed(Poster, { post: sns })))
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Limiter.layer,
        renderer,
        AdminKey.layerGiven(Redacted.make(key)),
        PublicUrl.layer(Option.fromNullishOr(publicUrl)),
        ManagementUrl.layer(Option.fromNullishOr(publicUrl)),
        TrustedProxies.layer(trustedProxies),
        OperationsAccess.layer(access),
        ManagementAccess.layer(Option.fromNullishOr(allowFrom)),
        AllowedOrigins.layer(mcpOrigins),
        Oidc.layer(Option.fromNullishOr(oidc)),
        SecretKeys.layer(secretKeys),
        Layer.succeed(StreamLimits, streamLimits),
        Layer.succeed(Pace, pace),
        AddressPolicy.layer(Option.some(allowed), resolve),
        Mailer.layer(Option.fromNullishOr(mail))
      )
    ),
    Layer.provideMerge(Settings.layer(settings)),
    Layer.provideMerge(DatabaseClock.layer),
    Layer.provideMerge(breakablePorts),
    Layer.provideMerge(Layer.mergeAll(repo ?? layerRepo, bus, Faults.layer)),
    Layer.provide(bucket === undefined ? Layer.empty : S3.layer(bucket))
  )

/**
 * At the end, it closes connections: those of requests that go on, for which Effect would wait 20 seconds, and those without a
 * request, which `fetch` may have opened, and for which Node waits a minute.
 */
const listeningOn = (server: NodeServer) =>
  Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))).pipe(
    Layer.provideMerge(
      NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "100 millis" })
    )
  )

/** As the product's server: Node's own five seconds end a connection that `fetch` is about to use on a busy machine. */
const newServer = () => createServer({ keepAliveTimeout })

export const listening = Layer.suspend(() => listeningOn(newServer()))

export { listeningPort }

const server = (options: Options) =>
  Layer.suspend(() => {
    const server = newServer()
    options.onServer?.(server)
    return HttpOnNode.layer(
      { server, layer: listeningOn(server) },
      { limits: new ConnectionLimits(options.limits) }
    ).pipe(Layer.provideMerge(services(options)))
  })

export type Leader = (delivery: Delivery) => Effect.Effect<void, Unavailable>

/** Answers every prompt with its text. */
export const echo: Leader = ({ prompt, reply }) => reply({ _tag: "Answered", response: `echo: ${prompt.prompt}` })

/** Reports an error for every prompt. */
export const failing: Leader = ({ reply }) => reply({ _tag: "Failed", message: "no disk" })

/** Never answers. */
export const silent: Leader = () => Effect.never

export const lead = (team: string, leader: Leader) =>
  Effect.flatMap(LeaderBus, (bus) => bus.lead(TeamName.make(team), leader))

/** The layer with other services. */
export const changed = <A, B, E, R>(
  layer: Layer.Layer<A, E, R>,
  change: (services: Context.Context<A>) => Context.Context<B>
) => Layer.effectContext(Effect.map(Layer.build(layer), change))

/** Rows in memory, whose clock is ahead by so many milliseconds. */
const repoAhead = (ahead: () => number): Layer.Layer<Repo> =>
  changed(layerRepo, Context.add(TimeStore, { databaseTime: Effect.sync(() => Date.now() + ahead()) }))

/** Rows whose clock a test puts ahead, together with the server's, as if the machine had slept. It notices that within five seconds. */
export const repoWithClock = () => {
  let ahead = 0
  const awake = Clock.Clock.defaultValue()
  const asleep: Clock.Clock = Object.assign(Object.create(awake), {
    currentTimeMillisUnsafe: () => awake.currentTimeMillisUnsafe() + ahead
  })
  return {
    repo: Layer.merge(
      repoAhead(() => ahead),
      Layer.succeed(Clock.Clock, asleep)
    ),
    putAhead: (millis: number) => {
      ahead += millis
    }
  }
}

/** Rows whose clock begins at half past noon (UTC), so that neither a day nor an hour ends during a test. */
export const repoAtNoon: Layer.Layer<Repo> = Layer.suspend(() => {
  const ahead = 12.5 * hour - (Date.now() % (24 * hour))
  return repoAhead(() => ahead)
})

/** Starts a server that runs until the scope closes. */
export const start = (options: Options = {}) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(server(options))
    const port = yield* Effect.provide(listeningPort, context)
    const origin = `http://127.0.0.1:${port}`
    const http = call(origin)
    const admin = (method: string, path: string, request: Call = {}) =>
      http(method, path, { ...request, headers: { authorization: `Bearer ${adminKey}`, ...request.headers } })

    /** Creates a team, and connects its leader. */
    const team = (name: string, leader: Leader | "no leader" = echo) =>
      Effect.gen(function* () {
        yield* admin("POST", "/api/teams", { body: { team: name } })
        if (leader !== "no leader") yield* Effect.provide(lead(name, leader), context)
        return name
      })

    const webhook = (team: string, prompt_template = "{{text}}", more: object = {}) =>
      Effect.map(
        admin("POST", "/api/webhooks", { body: { name: "a webhook", team, prompt_template, ...more } }),
        ({ json, status, text }) => {
          if (status !== 201) throw new Error(`the webhook was not created: ${text}`)
          return {
            id: json.webhook.id as string,
            token: json.token as string,
            path: `/webhook/trigger/${json.token}`
          }
        }
      )

    /** The webhook's runs, newest first. */
    const history = (id: string): Effect.Effect<Array<any>> =>
      Effect.map(admin("GET", `/api/webhooks/${id}/runs`), ({ json }) => json.data)

    /** The webhook's runs, once there are any. */
    const firstRuns = (id: string) => repeatUntil(history(id), (runs) => runs.length > 0)

    return {
      ...{ port, origin, http, admin, team, webhook, history, firstRuns },
      context,
      repo: Layer.succeedContext(context as Context.Context<Repo>),
      /** The same data in an hour's time, for another server. */
      repoInAnHour: Layer.succeedContext(
        Context.add(context as Context.Context<Repo>, TimeStore, { databaseTime: Effect.sync(() => Date.now() + hour) })
      ),
      faults: Context.get(context, Faults),
      shutdown: Context.get(context, Shutdown)
    }
  })

/** The server with a team whose leader echoes, and a webhook for it. */
export const withWebhook = (server: Effect.Success<ReturnType<typeof start>>) =>
  Effect.gen(function* () {
    const webhook = yield* server.webhook(yield* server.team("ops"))
    const post = (body: object, query = "", headers = {}) =>
      server.http("POST", webhook.path + query, { body, headers })
    return { ...server, hook: webhook, post, runs: server.history(webhook.id) }
  })

export const startWithWebhook = Effect.flatMap(start(), withWebhook)

/** In milliseconds. */
const hour = 3_600_000

/** A body that the webhook's template accepts. */
export const hello = { variables: { text: "hello" } }

/** A well-formed id that nothing has. */
export const unusedId = "01890a5d-ac96-774b-bcce-b302099a8057"
