/** A private RabbitMQ server from the installed package, for the whole test run or for one test that breaks it. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Daemon, exec, freePort, startDaemon, untilReady } from "./Process.ts"
import { command, pathOf } from "./System.ts"

export interface RabbitMqServer {
  /** Of the virtual host `/`. */
  readonly url: string
  /** The management plugin's HTTP API, with the user's name and password in it. */
  readonly managementUrl: string
  readonly port: number
  readonly pid: () => number
  readonly stop: () => Promise<void>
  /** kill -9 of the server. Confirmed persistent messages must survive. */
  readonly kill: () => Promise<void>
  /** Starts it again on the same ports and data. */
  readonly start: () => Promise<void>
  /** SIGSTOP: connections stay open, but silent. */
  readonly pause: () => void
  readonly resume: () => void
  /** Runs `rabbitmqctl`; for example to raise an alarm. */
  readonly control: (...args: ReadonlyArray<string>) => Promise<void>
  /** kill -9, including its port mapper. */
  readonly dispose: () => Promise<void>
}

/** The server's own script: the wrapper in /usr/sbin changes the user. */
export const rabbitMqScript = (): string | undefined => {
  const base = "/usr/lib/rabbitmq/lib"
  const debian = existsSync(pathOf(base)) ? readdirSync(pathOf(base)).map((version) => `${base}/${version}/sbin`) : []
  const path = (process.env.PATH ?? "").split(":").filter((dir) => dir !== "/usr/sbin")
  return [...debian, ...path].map((dir) => join(dir, "rabbitmq-server")).find((script) => existsSync(pathOf(script)))
}

const epmdProgram = (): string =>
  ["/usr/bin/epmd", "/usr/lib/erlang/bin/epmd"].find((program) => existsSync(pathOf(program))) ?? "epmd"

export const startRabbitMq = async (options: {
  readonly dir: string
  readonly port?: number
  /** Lines for `rabbitmq.conf`. */
  readonly config?: ReadonlyArray<string>
}): Promise<RabbitMqServer> => {
  const script = rabbitMqScript()
  if (script === undefined) throw new Error("RabbitMQ is not installed")
  const { dir } = options
  const [port, management, distribution, mapper] = [
    options.port ?? (await freePort()),
    await freePort(),
    await freePort(),
    await freePort()
  ]
  mkdirSync(join(dir, "epmd"), { recursive: true })
  writeFileSync(join(dir, "enabled_plugins"), "[rabbitmq_management].")
  writeFileSync(
    join(dir, "rabbitmq.conf"),
    [
      `listeners.tcp.default = 127.0.0.1:${port}`,
      "management.tcp.ip = 127.0.0.1",
      `management.tcp.port = ${management}`,
      // Statistics would keep an idle broker busy.
      "management_agent.disable_metrics_collector = true",
      "disk_free_limit.absolute = 50MB",
      // Of RabbitMQ 3; since 4 it is 16 MiB.
      "max_message_size = 134217728",
      "log.console = false",
      "log.file.level = warning",
      ...(options.config ?? [])
    ].join("\n")
  )
  const env = {
    PATH: `${process.env.PATH}:/usr/sbin`,
    LC_ALL: "C.UTF-8",
    HOME: dir,
    ERL_EPMD_PORT: String(mapper),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_NODENAME: `test-${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(dir, "mnesia"),
    RABBITMQ_LOG_BASE: join(dir, "log"),
    RABBITMQ_CONF_ENV_FILE: join(dir, "rabbitmq-env.conf"),
    RABBITMQ_CONFIG_FILE: join(dir, "rabbitmq.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, "enabled_plugins"),
    // No busy waiting, two schedulers: other tests share the machine.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "+sbwt none +sbwtdcpu none +sbwtdio none +S 2:2",
    // The script becomes the server (exec) instead of supervising it, so its process ID is the server's.
    RUNNING_UNDER_SYSTEMD: "true"
  }
  const url = `amqp://guest:guest@127.0.0.1:${port}`
  const managementUrl = `http://guest:guest@127.0.0.1:${management}`
  // The server would start its own mapper, as a daemon that outlives it.
  const mapperCommand = command(epmdProgram(), ["-port", String(mapper), "-address", "127.0.0.1"])
  const epmd = startDaemon(join(dir, "epmd"), mapperCommand.program, mapperCommand.args, { env })
  let daemon: Daemon
  const start = async () => {
    const server = command(script, [])
    daemon = startDaemon(dir, server.program, server.args, { env, cwd: dir })
    await untilReady(dir, daemon, 120_000, async () => {
      const answer = await manage(managementUrl, "GET", `/api/health/checks/port-listener/${port}`)
      if (!answer.ok) throw new Error(`status ${answer.status}`)
    })
  }
  await start()
  return {
    url,
    managementUrl,
    port,
    pid: () => daemon.pid,
    start,
    stop: () => daemon.stop("SIGTERM"),
    kill: () => daemon.stop("SIGKILL"),
    pause: () => daemon.signal("SIGSTOP"),
    resume: () => daemon.signal("SIGCONT"),
    control: async (...args) => {
      const run = command(join(dirname(script), "rabbitmqctl"), args)
      await exec(run.program, [...run.args], { env, cwd: dir })
    },
    dispose: async () => {
      await Promise.all([daemon.stop("SIGKILL"), epmd.stop("SIGKILL")])
    }
  }
}

/** A request to the management API. `base` contains user name and password. */
export const manage = (base: string, method: string, path: string, body?: unknown): Promise<Response> => {
  const url = new URL(base)
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return fetch(url.origin + path, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(user).toString("base64")}`,
      "content-type": "application/json"
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000)
  })
}

/** Creates a virtual host with all rights for the URL's user. Returns its URL. */
export const createVhost = async (
  url: string,
  managementUrl: string,
  name: string,
  settings: Readonly<Record<string, string>> = {}
): Promise<string> => {
  const user = new URL(managementUrl).username
  const expect = async (answer: Promise<Response>) => {
    const { ok, status } = await answer
    if (!ok) throw new Error(`creating the virtual host ${name}: the management API answered ${status}`)
  }
  await expect(manage(managementUrl, "PUT", `/api/vhosts/${name}`, settings))
  const all = { configure: ".*", write: ".*", read: ".*" }
  await expect(manage(managementUrl, "PUT", `/api/permissions/${name}/${user}`, all))
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}

export const deleteVhost = async (managementUrl: string, name: string): Promise<void> => {
  await manage(managementUrl, "DELETE", `/api/vhosts/${name}`)
}
