/** A private Restate server, whose defaults lose nothing that it has confirmed: it syncs its log to the disk. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Daemon, freePort, startDaemon, untilReady } from "../support/Process.ts"

export interface RestateServer extends Daemon {
  /** Where its services are called. */
  readonly ingressUrl: string
  /** Where services are registered, and invocations are listed. */
  readonly adminUrl: string
}

/** Not the launcher beside it, which would be killed without its child. */
const program = fileURLToPath(
  new URL(
    `rivals/node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
    import.meta.url
  )
)

const freeAddress = async () => `127.0.0.1:${await freePort()}`

const expectOk = async (url: string, request: RequestInit = {}) => {
  const { ok, status } = await fetch(url, request)
  if (!ok) throw new Error(`${url}: ${status}`)
}

export const startRestate = async (dir: string): Promise<RestateServer> => {
  const [ingress, admin, node] = [await freeAddress(), await freeAddress(), await freeAddress()]
  mkdirSync(dir, { recursive: true })
  const env = {
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_INGRESS__BIND_ADDRESS: ingress,
    RESTATE_ADMIN__BIND_ADDRESS: admin,
    RESTATE_BIND_ADDRESS: node,
    RESTATE_ADVERTISED_ADDRESS: `http://${node}`,
    RESTATE_LOG_FILTER: "warn",
    RESTATE_DISABLE_TELEMETRY: "true"
  }
  const args = ["--no-logo", "--node-name", "bench", "--base-dir", join(dir, "data")]
  const daemon = startDaemon(dir, program, args, { env, cwd: dir })
  const [ingressUrl, adminUrl] = [`http://${ingress}`, `http://${admin}`]
  await untilReady(dir, daemon, 60_000, async () => {
    await expectOk(`${adminUrl}/health`)
    await expectOk(`${ingressUrl}/restate/health`)
    // It is healthy before it has opened its store.
    await expectOk(`${adminUrl}/query`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: "select count(*) from sys_invocation" })
    })
  })
  return { ...daemon, ingressUrl, adminUrl }
}
