/** A private Redis that loses no confirmed write: every write is synced to the disk before its response. */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { connect } from "node:net"
import { type Daemon, freePort, startDaemon, untilReady } from "../support/Process.ts"

export interface RedisServer extends Daemon {
  readonly port: number
}

export const startRedis = async (dir: string): Promise<RedisServer> => {
  const port = await freePort()
  mkdirSync(dir, { recursive: true })
  const settings = {
    bind: "127.0.0.1",
    port: String(port),
    dir,
    appendonly: "yes",
    appendfsync: "always",
    save: "",
    "maxmemory-policy": "noeviction"
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const daemon = startDaemon(dir, "redis-server", args)
  await untilReady(dir, daemon, 10_000, async () => {
    const socket = connect(port, "127.0.0.1")
    try {
      await once(socket, "connect")
    } finally {
      socket.destroy()
    }
  })
  return { ...daemon, port }
}

export const redisVersion = (): string =>
  /v=(\S+)/.exec(execFileSync("redis-server", ["--version"], { encoding: "utf8" }))?.[1] ?? "unknown"
