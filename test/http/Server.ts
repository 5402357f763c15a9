/** A real server on memory layers, and ways to speak to it: `fetch`, and bytes on a socket. */
import { createServer } from "node:http"
import { connect, type Socket } from "node:net"
import { HttpLayerRouter, HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Bus } from "../../src/bus/Bus.ts"
import { Unavailable } from "../../src/domain/Errors.ts"
import { TeamName } from "../../src/domain/Team.ts"
import { AdminKey } from "../../src/engine/AdminKey.ts"
import type { SettingsValues } from "../../src/engine/Settings.ts"
import { Teams } from "../../src/engine/Teams.ts"
import { Webhooks } from "../../src/engine/Webhooks.ts"
import { PublicUrl } from "../../src/http/PublicUrl.ts"
import * as Routes from "../../src/http/Routes.ts"
import { Repo } from "../../src/repo/Repo.ts"
import { echo, engine, rooms } from "../engine/World.ts"

export const adminKey = "an-admin-key-for-tests"

type Fault = "database" | "broker" | "bug"

/** What is out of reach at the moment; `bug`: the database's driver throws. */
export class Faults extends Context.Tag("test/Faults")<Faults, Set<Fault>>() {
  static readonly layer = Layer.sync(Faults, () => new Set<Fault>())
}

/** The service, whose every effect fails while its part is among the faults. */
const breakable = <I, S extends object>(tag: Context.Tag<I, S>, what: "database" | "broker") =>
  Layer.effect(
    tag,
    Effect.map(Effect.all([tag, Faults]), ([service, faults]) => {
      const guarded = (effect: Effect.Effect<unknown, unknown>) =>
        Effect.suspend(() => {
          if (faults.has("bug") && what === "database") return Effect.die(new Error("a bug"))
          return faults.has(what) ? new Unavailable({ what, detail: `The ${what} is out of reach.` }) : effect
        })
      return new Proxy(service, {
        get: (target, key) => {
          const value: any = Reflect.get(target, key)
          if (typeof value === "function") {
            return (...args: Array<unknown>) => {
              const result = value(...args)
              return Effect.isEffect(result) ? guarded(result as Effect.Effect<unknown>) : result
            }
          }
          return Effect.isEffect(value) ? guarded(value as Effect.Effect<unknown>) : value
        }
      })
    })
  )

export interface Options {
  readonly settings?: Partial<SettingsValues>
  readonly publicUrl?: string
}

/** All services that the routes speak to, on memory. */
export const services = ({ settings = {}, publicUrl }: Options = {}) =>
  Layer.mergeAll(Teams.layer, Webhooks.layer).pipe(
    Layer.provideMerge(engine(settings)),
    Layer.provideMerge(Layer.merge(breakable(Repo, "database"), breakable(Bus, "broker"))),
    Layer.provideMerge(
      Layer.mergeAll(
        rooms,
        Faults.layer,
        AdminKey.layerGiven(Redacted.make(adminKey)),
        PublicUrl.layer(Option.fromNullable(publicUrl))
      )
    )
  )

export const listening = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })

export const address = HttpServer.addressWith((address) =>
  address._tag === "TcpAddress" ? Effect.succeed(address.port) : Effect.die("not TCP")
)

const server = (options: Options) =>
  HttpLayerRouter.serve(Layer.merge(Routes.layer, Routes.notFound), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(Layer.provideMerge(listening), Layer.provideMerge(services(options)))

/** The refusal's status and code, after checking that it is a whole problem. */
export const refusal = ({ status, headers, json }: Answer) => {
  assert.strictEqual(headers.get("content-type"), "application/problem+json")
  assert.containsAllKeys(json, ["type", "title", "status", "detail", "code"])
  assert.strictEqual(json.status, status)
  assert.strictEqual(json.type, `/docs#${json.code}`)
  return [status, json.code] as const
}

/** The places of a refusal's faults. */
export const pointers = ({ json }: Answer) => json.errors.map(({ pointer }: { pointer: string }) => pointer)

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: any
}

export interface Call {
  readonly body?: unknown
  readonly raw?: string | Uint8Array
  readonly headers?: Record<string, string>
}

const bytes = (raw: string | Uint8Array) => (typeof raw === "string" ? new TextEncoder().encode(raw) : raw)

/** Sends a request; a `body` goes as JSON, `raw` as it is, with no Content-Type of its own. */
export const call =
  (origin: string) =>
  (method: string, path: string, { body, raw, headers = {} }: Call = {}) =>
    Effect.promise(async (signal): Promise<Answer> => {
      const response = await fetch(`${origin}${path}`, {
        method,
        signal,
        redirect: "manual",
        headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
        ...(body !== undefined ? { body: JSON.stringify(body) } : raw !== undefined ? { body: bytes(raw) } : {})
      })
      const text = await response.text()
      const isJson = /json/.test(response.headers.get("content-type") ?? "") && text !== ""
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
    })

type Closed = "ended" | "reset" | "by us"

const conversation = (port: number, talk: (socket: Socket, done: (closed: Closed) => void) => () => string) =>
  Effect.async<{ readonly text: string; readonly closed: Closed }>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const done = (closed: Closed) => {
      resume(Effect.sync(() => ({ text: text(), closed })))
      socket.destroy()
    }
    const text = talk(socket, done)
    socket.on("end", () => done("ended")).on("error", () => done("reset"))
    return Effect.sync(() => socket.destroy())
  })

const heard = (socket: Socket, onText: (text: string) => void = () => {}) => {
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1")
    onText(text)
  })
  return () => text
}

/** Writes bytes to a fresh connection and reads until the server closes it, or `until` holds of what came. */
export const wire = (port: number, bytes: string | Uint8Array, until: (text: string) => boolean = () => false) =>
  conversation(port, (socket, done) => {
    socket.write(bytes)
    return heard(socket, (text) => until(text) && done("by us"))
  })

/** As most simple clients do: writes everything, and reads only then. */
export const writeThenRead = (port: number, bytes: string | Uint8Array) =>
  conversation(port, (socket) => {
    let text = () => ""
    socket.pause().write(bytes, () => {
      text = heard(socket)
      socket.resume()
    })
    return () => text()
  })

/** Starts a server, for as long as the scope is open. */
export const start = (options: Options = {}) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(server(options))
    const port = yield* Effect.provide(address, context)
    const origin = `http://127.0.0.1:${port}`
    const http = call(origin)
    const admin = (method: string, path: string, request: Call = {}) =>
      http(method, path, { ...request, headers: { authorization: `Bearer ${adminKey}`, ...request.headers } })

    /** A team, and a leader for it that echoes unless it is not to run. */
    const team = (name: string, { running = true } = {}) =>
      Effect.gen(function* () {
        yield* admin("POST", "/api/teams", { body: { team: name } })
        if (running) yield* Effect.provide(echo(TeamName.make(name)), context)
        return TeamName.make(name)
      })

    const webhook = (team: string, prompt_template = "{{text}}", more: object = {}) =>
      Effect.map(
        admin("POST", "/api/webhooks", { body: { name: "a webhook", team, prompt_template, ...more } }),
        ({ json }) => ({
          id: json.webhook.id as string,
          token: json.token as string,
          path: `/webhook/trigger/${json.token}`
        })
      )

    return { port, origin, http, admin, team, webhook, context, faults: Context.get(context, Faults) }
  })
