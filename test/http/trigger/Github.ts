/** A webhook that GitHub calls, and its signed requests. */
import { createHmac } from "node:crypto"
import { Effect } from "effect"
import type { start } from "../Server.ts"

type Server = Effect.Success<ReturnType<typeof start>>

export const secret = "It's a Secret to Everybody"

export const other = "Another secret that is long"

export const sign = (body: string, key = secret, more: Record<string, string> = {}) => ({
  "content-type": "application/json",
  "x-hub-signature-256": `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
  ...more
})

export const github = { verification: { preset: "github" }, secret }

/** The server with a webhook that GitHub calls. */
export const withGithub = (server: Server) =>
  Effect.gen(function* () {
    const hook = yield* server.webhook(yield* server.team("ops"), "{{text}}", github)
    return { ...server, hook, deliver: deliverTo(server, hook.path), runs: server.history(hook.id) }
  })

export const deliverTo =
  ({ http }: Pick<Server, "http">, path: string) =>
  (body: object, key?: string, headers?: Record<string, string>) => {
    const raw = JSON.stringify(body)
    return http("POST", path, { raw, headers: sign(raw, key, headers) })
  }

/** The counts of refused requests, by cause. */
export const countsOf = ({ http }: Pick<Server, "http">) =>
  Effect.map(http("GET", "/metrics"), ({ text }) =>
    Object.fromEntries(
      [...text.matchAll(/^webhook_not_verified_total\{cause="(\w+)"\} (\d+)/gm)].map(([, name, n]) => [name, Number(n)])
    )
  )
