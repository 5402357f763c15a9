/** Installs the programs that the tests need from Debian, if they are missing and this process may. */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { chromium } from "./Chromium.ts"
import { postgresBin } from "./Postgres.ts"
import { rabbitMqScript } from "./RabbitMq.ts"

const succeeds = (command: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(command, args, { stdio: "ignore" }).status === 0

/** The Debian packages that are missing. */
const missing = (need: { readonly postgres: boolean; readonly rabbitmq: boolean }): ReadonlyArray<string> => [
  ...(need.postgres && postgresBin() === undefined ? ["postgresql"] : []),
  ...(need.rabbitmq && rabbitMqScript() === undefined ? ["rabbitmq-server"] : []),
  ...(succeeds("/usr/bin/python3", "-c", "import pika") ? [] : ["python3-pika"]),
  ...(succeeds("jq", "--version") ? [] : ["jq"]),
  ...(succeeds("systemd-analyze", "--version") ? [] : ["systemd"]),
  ...(succeeds("nginx", "-v") ? [] : ["nginx-light"]),
  ...(succeeds("openssl", "version") ? [] : ["openssl"]),
  ...(succeeds("pgbouncer", "--version") ? [] : ["pgbouncer"]),
  ...(succeeds("promtool", "--version") ? [] : ["prometheus"]),
  ...(chromium() === undefined ? ["chromium-headless-shell"] : [])
]

export const installServices = (need: { readonly postgres: boolean; readonly rabbitmq: boolean }): void =>
  install(missing(need), (wanted) => {
    const message = "Install them, or give TEST_DATABASE_URL and TEST_AMQP_URL."
    throw new Error(`The tests need ${wanted} (Debian package names). ${message}`)
  })

/** The programs for `npm run bench`. Without `wrk`, it has its own load generator. */
export const installForBench = (): void => {
  const servers = [
    ...(postgresBin() === undefined ? ["postgresql"] : []),
    ...(rabbitMqScript() === undefined ? ["rabbitmq-server"] : []),
    ...(succeeds("redis-server", "--version") ? [] : ["redis-server"])
  ]
  install(servers, (wanted) => {
    throw new Error(`The benchmark needs ${wanted} (Debian package names). Install them first.`)
  })
  // `wrk -v` exits with 1.
  const wrk = spawnSync("wrk", ["-v"], { stdio: "ignore" }).error === undefined
  install(wrk ? [] : ["wrk"], (wanted) => console.log(`${wanted} is not installed: the load comes from this process`))
}

/** Installs Debian packages. Calls `refuse` if this process may not. */
const install = (packages: ReadonlyArray<string>, refuse: (wanted: string) => void): void => {
  if (packages.length === 0) return
  const wanted = packages.join(" ")
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    refuse(wanted)
    return
  }
  console.log(`installing ${wanted}`)
  // Packages start their own servers, but the tests use private ones.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" }
  const apt = (...args: ReadonlyArray<string>) => execFileSync("apt-get", args, { env, stdio: ["ignore", 2, 2] })
  apt("update", "-q")
  apt("install", "-y", "-q", "--no-install-recommends", ...packages)
}
